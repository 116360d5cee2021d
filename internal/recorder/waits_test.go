package recorder

import (
	"maps"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
)

// A recorder whose API server, or service, has not answered yet records no outage, and prints what
// it waits for.
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
		r.requests.note(&loadgen.Record{Class: loadgen.ClassRefused, End: now}, now)
		r.sayWaits(away, now)
		if seen(away) {
			t.Fatal("the cluster is in view")
		}
	}
	want := []string{"lightsout has not seen the cluster yet, and notices no outage before it has: 10.0.0.10:6443 does not answer",
		"no request has succeeded yet: lightsout notices failures only once one has"}
	if got := strings.Join(printed, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("printed:\n%s", got)
	}
	if r.incident != nil {
		t.Error("an outage began")
	}
}

// The recorder prints what it may not read.
func TestTheRecorderPrintsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	access := map[cluster.Kind]cluster.Access{cluster.KindNode: {Forbidden: true}, cluster.KindPod: {Synced: true}, cluster.KindLease: {Forbidden: true}}
	got := inView(cluster.NewSnapshot(cluster.Contents{Link: cluster.Link{State: cluster.LinkLive}, Access: access}))
	if !strings.Contains(got, "has not read") || !strings.Contains(got, string(cluster.KindNode)) || !strings.Contains(got, string(cluster.KindLease)) || strings.Contains(got, string(cluster.KindPod)) {
		t.Error(got)
	}
}

// A recorder that has not read the nodes does not claim to notice outages, and prints why; a
// kind that it could not read yet is named.
func TestAClusterWhoseNodesAreUnreadIsNotInView(t *testing.T) {
	t.Parallel()
	access := map[cluster.Kind]cluster.Access{}
	for _, k := range judgedBy {
		access[k] = cluster.Access{Synced: true}
	}
	with := func(k cluster.Kind) *cluster.Snapshot {
		a := maps.Clone(access)
		a[k] = cluster.Access{Err: "10.0.0.10:6443 keeps no connection open"}
		return cluster.NewSnapshot(cluster.Contents{Link: cluster.Link{State: cluster.LinkLive}, Access: a})
	}
	unread := with(cluster.KindNode)
	if seen(unread) {
		t.Error("the cluster is in view without its nodes")
	}
	var printed []string
	r := New(&quietSession{}, Options{Now: time.Now, Every: time.Second, Past: time.Minute, Print: func(line string) { printed = append(printed, line) }})
	r.sayWaits(unread, time.Now())
	r.sayWaits(unread, time.Now())
	if len(printed) != 1 || !strings.Contains(printed[0], "has not seen the cluster yet") || !strings.Contains(printed[0], "keeps no connection open") {
		t.Errorf("printed %q", printed)
	}
	if got := inView(with(cluster.KindPod)); !strings.Contains(got, "has not read these kinds") || !strings.Contains(got, string(cluster.KindPod)) {
		t.Error(got)
	}
}

// A recorder that begins while the API server does not answer gives the kubelets time to renew
// their Leases, as one that saw it stop does.
func TestNodesThatRenewAfterTheFirstContactAreNoOutage(t *testing.T) {
	s := newScreen(t)
	s.began, s.looked, s.alerts.open = time.Time{}, time.Time{}, map[key]*alert{}
	for range 30 {
		s.setTime(s.now.Add(time.Second))
		s.observe(cluster.NewSnapshot(cluster.Contents{At: s.now, Link: cluster.Link{State: cluster.LinkDisconnected}}))
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		s.fails(n)
	}
	s.look(6)
	clear(s.down)
	s.look(30)
	if all := s.summaries(); len(all) > 0 {
		t.Errorf("%d outages: %+v", len(all), all[0].Unplanned)
	}
}
