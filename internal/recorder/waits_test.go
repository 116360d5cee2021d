package recorder

import (
	"maps"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
)

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
	r.sayUnseen(unread)
	r.sayUnseen(unread)
	if len(printed) != 1 || !strings.Contains(printed[0], "has not seen the cluster yet") || !strings.Contains(printed[0], "keeps no connection open") {
		t.Errorf("printed %q", printed)
	}
	if got := inView(with(cluster.KindPod)); !strings.Contains(got, "has not read these kinds") || !strings.Contains(got, string(cluster.KindPod)) {
		t.Error(got)
	}
}
