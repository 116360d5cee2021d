package cluster

import (
	"testing"
	"time"
)

func TestASnapshotIsCompleteUpToTheLastQuestion(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	_, w := watchThrough(t, f)
	began := time.Now()
	w.until("everything since", func(s *Snapshot) bool { return s.Blind() == nil && s.complete().After(began) })

	contact, broke := time.Unix(200, 0), time.Unix(100, 0)
	for name, tc := range map[string]struct {
		access map[Kind]Access
		want   time.Time
	}{
		"all are watched":       {map[Kind]Access{KindPod: {Synced: true}}, contact},
		"the pods' watch broke": {map[Kind]Access{KindNode: {Synced: true}, KindPod: {Synced: true, Until: broke}}, broke},
		"another watch broke":   {map[Kind]Access{KindLease: {Synced: true, Until: broke}}, contact},
	} {
		if got := NewSnapshot(Contents{Link: Link{State: LinkLive, LastContact: contact}, Access: tc.access}).complete(); !got.Equal(tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestASourceNarrowsAMoment(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for name, tc := range map[string]struct {
		when         When
		source       int64
		after, until int64
	}{
		"within":             {When{at(10), at(50)}, 20, 20, 21},
		"at its beginning":   {When{at(10), at(50)}, 9, 10, 10},
		"before":             {When{at(10), at(50)}, 8, 10, 50},
		"after":              {When{at(10), at(50)}, 51, 10, 50},
		"one moment already": {At(at(50)), 50, 50, 50},
	} {
		if got := tc.when.Dated(at(tc.source)); !got.After.Equal(at(tc.after)) || !got.By.Equal(at(tc.until)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
