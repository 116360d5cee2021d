package phase

import (
	"slices"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// Pods are replaced without an eviction too: a rollout or an autoscaler makes new pods before it
// deletes those on the node, and a pod that is deleted with --force vanishes, which lightsout may
// see late.
func TestPodsAreReplacedWithoutAnEviction(t *testing.T) {
	for name, tc := range map[string]struct {
		created, ends float64
		gone          bool
	}{
		"a rollout deletes them later":              {60, 66, false},
		"deleted by force":                          {99, 100, true},
		"deleted by force, and lightsout was blind": {100, 130, true},
	} {
		w := newWorld(t, 20000)
		w.off(power.ActionOff, n4)
		w.lose(n4, 40)
		w.taint(n4, 41)
		for i := range 4 {
			w.now = at(tc.created + 5)
			p := w.pod("new-"+string(rune('a'+i)), "kube-node1", 1000)
			p.Created, p.ReadySince, p.Changed = at(tc.created), w.now, w.now
		}
		if !tc.gone {
			w.look(tc.created + 5)
			if p := w.phase(view.PhaseReplaced, llm.String()); p.Observed != nil {
				t.Errorf("%s: replaced while those on the node stay: %+v", name, p)
			}
		}
		w.podsOn(n4, func(p *cluster.Pod) {
			if tc.gone {
				p.Gone = at(tc.ends)
			} else {
				p.Deleting = at(tc.ends)
			}
		})
		w.look(tc.ends + 5)
		if p := w.phase(view.PhaseReplaced, llm.String()); p.Observed == nil || *p.Observed < tc.ends {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A record that begins in mid-outage sees the pods replaced of which it found that they were there at zero. Where
// those on the node have gone already, nobody knows of how many.
func TestARecordThatBeginsInMidOutageSeesPodsReplaced(t *testing.T) {
	for name, gone := range map[string]bool{"before they are deleted": false, "after they have gone": true} {
		w := newWorld(t, 20000)
		w.Tracker, w.last = NewTracker(llm), nil
		w.Zero(zero, cluster.NewSnapshot(cluster.Contents{}))
		w.Switched(n4, power.ActionOff, zero)
		w.podsOn(n4, func(p *cluster.Pod) { p.Ready = false })
		if gone {
			w.c.Pods = slices.DeleteFunc(w.c.Pods, func(p *cluster.Pod) bool { return p.Node == n4 })
		}
		w.node(n4, func(n *cluster.Node) { n.Ready, n.ReadyEndpoints = cluster.TriUnknown, 0 })
		w.look(20)
		w.podsOn(n4, func(p *cluster.Pod) { p.Deleting, p.Evicted = at(25), true })
		for i := range 4 {
			p := w.pod("new-"+string(rune('a'+i)), "kube-node1", 1000)
			p.Created, p.ReadySince, p.Changed = at(25), at(29), at(29)
		}
		w.look(30)
		switch p := w.phase(view.PhaseReplaced, llm.String()); {
		case gone && (p.Observed != nil || p.Before || p.Note != "nobody saw which of its pods served on the nodes"),
			!gone && (p.Observed == nil || *p.Observed != 30 || p.HiddenFrom != nil):
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Where no pod on the nodes served when they went off, as when they all load a model or are being
// deleted, there is nothing to replace, in a later outage too.
func TestPodsThatDidNotServeNeedNoReplacement(t *testing.T) {
	for name, change := range map[string]func(*cluster.Pod){
		"not ready":     func(p *cluster.Pod) { p.Ready = false },
		"being deleted": func(p *cluster.Pod) { p.Deleting = at(98) },
	} {
		for _, later := range []bool{false, true} {
			w := newWorld(t, 1000)
			if later {
				w.off(power.ActionOff, n3)
				w.lose(n3, 40)
				w.Switched(n3, power.ActionOn, at(60))
				w.boot(n3, 65)
				w.ready(n3, 70)
				w.podsOn(n3, func(p *cluster.Pod) { p.Ready = true })
			}
			w.podsOn(n4, change)
			w.available(12)
			w.look(99)
			w.Zero(at(100), w.snapshot())
			w.Switched(n4, power.ActionOff, at(100))
			w.look(101)
			if p := w.phase(view.PhaseReplaced, llm.String()); !p.Before || p.Predicted != nil || w.never(view.PhaseReplaced, llm.String()) != "" {
				t.Errorf("%s, later: %t: %+v", name, later, p)
			}
		}
	}
}
