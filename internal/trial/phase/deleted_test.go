package phase

import (
	"testing"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// deleteNode deletes the Node object of kube-node4, s seconds after zero.
func deleteNode(w *world, s float64) {
	w.c.Nodes = w.c.Nodes[:3]
	w.look(s)
}

// Somebody deletes the Node object of a node that is off: the control plane then deletes its pods,
// which counts as their eviction, and no row keeps a forecast that cannot come true.
func TestANodeThatIsDeletedDuringItsOutage(t *testing.T) {
	const deleted = "the Node object of kube-node4 was deleted"
	w := newWorld(t, 1000)
	w.off(power.ActionOff, n4)
	w.lose(n4, 40)
	w.taint(n4, 41)
	deleteNode(w, 60)
	w.want(view.PhaseEvicted, n4, "– | – | "+deleted)
	w.want(view.PhaseReplaced, llm.String(), "– | – | "+deleted)
	w.want(view.PhaseRestored, llm.String(), "– | – | "+deleted)
	w.want(view.PhaseReady, n4, "– | – | "+deleted)
	if why := w.Never(view.PhaseEvicted, n4) + w.Never(view.PhaseReplaced, llm.String()); why != "" || w.AllEvicted(n4) || !PodsStay(w.Tracker, n4) {
		t.Errorf("while its pods are there: %q", why)
	}
	w.now = at(90)
	w.podsOn(n4, func(p *cluster.Pod) { p.Phase, p.Evicted = "Failed", true })
	w.look(90)
	w.podsOn(n4, func(p *cluster.Pod) { p.Gone = at(90) })
	w.look(91)
	w.want(view.PhaseEvicted, n4, "– | 90 | ")
	w.want(view.PhaseReplaced, llm.String(), "90..102 | – | ")
	w.c.Pods = w.c.Pods[:12]
	w.look(400)
	if !w.AllEvicted(n4) || PodsStay(w.Tracker, n4) {
		t.Error("its pods are not evicted")
	}
	w.c.Nodes = append(w.c.Nodes, &cluster.Node{Name: n4, UID: "another", BootID: "second boot", Ready: cluster.TriTrue, Changed: at(450)})
	w.look(450)
	w.want(view.PhaseReady, n4, "450..480 | 450 | ")
}

// A wait for the eviction of pods that vanished with their Node object can end at once.
func TestTheEvictionOfADeletedNodeCannotCome(t *testing.T) {
	w := newWorld(t, 1000)
	w.off(power.ActionOff, n4)
	w.c.Pods = w.c.Pods[:12]
	deleteNode(w, 20)
	for _, name := range []string{view.PhaseDetected, view.PhaseEndpointsOut, view.PhaseTainted, view.PhaseEvicted} {
		if w.Never(name, n4) == "" {
			t.Errorf("%s: %+v", name, w.phase(name, n4))
		}
	}
	for _, name := range []string{view.PhaseBooted, view.PhaseReady} {
		if w.Why(name, n4) == "" || w.Never(name, n4) != "" {
			t.Errorf("%s: its kubelet may register it again: %+v", name, w.phase(name, n4))
		}
	}
}

// The pods of a deployment that somebody deletes are not replaced: its two rows name the same
// reason.
func TestADeletedDeploymentIsNotReplaced(t *testing.T) {
	w := newWorld(t, 1000)
	w.off(power.ActionOff, n4)
	w.lose(n4, 40)
	w.taint(n4, 41)
	pods, deployments := w.c.Pods, w.c.Deployments
	w.c.Pods, w.c.Deployments = nil, nil
	w.look(60)
	for _, name := range []string{view.PhaseReplaced, view.PhaseRestored} {
		w.want(name, llm.String(), "– | – | the deployment is deleted")
		if w.Never(name, llm.String()) == "" {
			t.Errorf("%s may come", name)
		}
	}
	w.c.Pods, w.c.Deployments = pods, deployments
	w.look(70)
	w.want(view.PhaseReplaced, llm.String(), "341..355 | – | ")
}
