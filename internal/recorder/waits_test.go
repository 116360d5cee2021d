package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
)

// An API server, or a service, that has not answered since the recorder began has not stopped
// answering: the recorder notices no outage, and prints what it waits for.
func TestWhatNeverAnsweredHasNotStopped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	var printed []string
	var s quietSession
	r := New(&s, Options{Now: func() time.Time { return now }, Every: time.Second, Past: time.Minute, Print: func(line string) { printed = append(printed, line) }})
	r.probing = now
	away := cluster.NewSnapshot(cluster.Contents{At: now, Link: cluster.Link{State: cluster.LinkDisconnected, LastContact: now, Err: "10.0.0.10:6443 does not answer"}})
	for range 30 {
		now = now.Add(time.Second)
		r.probes.note(loadgen.Record{Class: loadgen.ClassRefused, End: now}, now)
		r.sayWaits(away, now)
		if seen(away) {
			t.Fatal("the cluster is in view")
		}
	}
	want := []string{"the API server does not answer (10.0.0.10:6443 does not answer): lightsout notices no outage before it does",
		"no request has succeeded yet: lightsout notices failures only once one has"}
	if got := strings.Join(printed, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("printed:\n%s", got)
	}
	if r.outage != nil {
		t.Error("an outage began")
	}
}

// The recorder prints what it may not read.
func TestTheRecorderPrintsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	access := map[cluster.Kind]cluster.Access{cluster.KindNode: {Forbidden: true}, cluster.KindPod: {Synced: true}, cluster.KindLease: {Forbidden: true}}
	got := inView(cluster.NewSnapshot(cluster.Contents{Link: cluster.Link{State: cluster.LinkLive}, Access: access}))
	if !strings.Contains(got, "may not read") || !strings.Contains(got, string(cluster.KindNode)) || !strings.Contains(got, string(cluster.KindLease)) || strings.Contains(got, string(cluster.KindPod)) {
		t.Error(got)
	}
}
