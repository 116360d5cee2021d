package recorder

import (
	"strconv"
	"testing"
	"time"

	"lightsout/cluster"
)

// The operator cordons a node that is down, its pods find no place, and the outage ends: these
// pods begin no second outage.
func TestPodsOfAnOutageBeginNoOtherOne(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	now, g, p := start, newSigns(15*time.Minute), &probes{}
	look := func(seconds, pending int, ready cluster.Tri) (signs int) {
		for range seconds {
			now = now.Add(time.Second)
			n := &cluster.Node{Name: "n1", Ready: ready, ReadySince: start.Add(-time.Hour), Created: start.Add(-48 * time.Hour), LeaseDuration: 40 * time.Second,
				Unschedulable: pending > 0, Renewed: now, RenewSeen: now}
			if ready != cluster.TriTrue {
				n.ReadySince = start.Add(5 * time.Second)
			}
			c := cluster.Contents{At: now, Link: cluster.Link{State: cluster.LinkLive, LastContact: now}, Access: map[cluster.Kind]cluster.Access{}, Nodes: []*cluster.Node{n}}
			for _, k := range judgedBy {
				c.Access[k] = cluster.Access{Synced: true}
			}
			for i := range pending {
				c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "p" + strconv.Itoa(i)}, Phase: "Pending"})
			}
			signs += len(g.observe(cluster.NewSnapshot(c), p, false, now))
		}
		return signs
	}
	look(5, 0, cluster.TriTrue)
	if n := look(60, 0, cluster.TriFalse); n == 0 {
		t.Fatal("the outage begins with no sign")
	}
	g.transition(cluster.Transition{Change: cluster.ChangeCordon, Seen: now})
	look(120, 5, cluster.TriFalse)
	look(305, 5, cluster.TriTrue)
	g.settle(p, now)
	if n := look(1500, 5, cluster.TriTrue); n > 0 {
		t.Errorf("%d signs of another outage", n)
	}
}
