package cluster

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// Each renewal arrives at once while somebody sets a clock: no node is silent. The last one of a
// node that died while this machine was suspended is old when it arrives.
func TestOnlyTimeMakesANodeSilent(t *testing.T) {
	t.Parallel()
	type step struct{ renewed, arrived, wall time.Duration } // wall: how far our wall clock is ahead of the monotonic one
	for name, c := range map[string]struct {
		steps  []step
		silent bool
	}{
		"our clock is set ahead":        {[]step{{0, 0, 0}, {10, 10, 0}, {20, 20, 40}, {30, 30, 40}}, false},
		"our clock is set back":         {[]step{{0, 0, 0}, {10, 10, 0}, {20, 20, -40}, {30, 30, -40}}, false},
		"the node's clock is set back":  {[]step{{0, 0, 0}, {10, 10, 0}, {11, 20, 0}, {21, 30, 0}}, false},
		"the node's clock is set ahead": {[]step{{0, 0, 0}, {10, 10, 0}, {60, 20, 0}, {70, 30, 0}}, false},
		"suspended, and the node runs":  {[]step{{0, 0, 0}, {10, 10, 0}, {20, 13, 40}, {30, 13, 40}, {40, 13, 40}, {50, 13, 40}}, false},
		"suspended, and the node died":  {[]step{{0, 0, 0}, {10, 10, 0}, {20, 13, 40}}, true},
	} {
		s := newState(&Watcher{client: &Client{cfg: &Config{}, traffic: newTraffic()}, changed: make(chan struct{}, 1), kubelets: newKubelets()})
		now := time.Now()
		s.link.State, s.heartbeatsFrom, s.nextCheck = LinkLive, now.Add(-time.Minute), now.Add(time.Hour)
		(&Node{Name: "a", UID: "a", Ready: TriTrue}).put(s, now, true)
		var silent bool
		for i, x := range c.steps {
			at := testenv.Shifted(now.Add(x.arrived*time.Second), x.wall*time.Second)
			s.setLease(&lease{node: "a", renewed: now.Round(0).Add(x.renewed * time.Second), duration: 40 * time.Second}, at, false)
			s.w.client.traffic.note(&s.w.client.traffic.complete, at)
			s.nextCheck = at
			s.checkHeartbeats(at)
			s.publish(at)
			_, silent = s.w.Snapshot().Silent(s.w.Snapshot().Node("a"), at)
			if silent && strings.HasSuffix(name, "ahead") || silent && strings.HasSuffix(name, "back") {
				t.Errorf("%s, renewal %d: silent", name, i)
			}
		}
		if silent != c.silent {
			t.Errorf("%s: silent %v", name, silent)
		}
	}
}
