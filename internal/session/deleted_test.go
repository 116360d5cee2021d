package session_test

import (
	"slices"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// A machine that lightsout switched off stays on the screen, with
// a way to power it on, after the cluster has deleted its node.
func TestAMachineLeftOffOutlivesItsNode(t *testing.T) {
	t.Parallel()
	b, w := newBoard(workers...), &still{s: mdxSnapshot(), changed: make(chan struct{})}
	x := run(t, t.TempDir(), b, b, w, session.Options{}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.press(power.ActionOff, "yes", "kube-node3")
	x.off("kube-node3")

	c := w.Snapshot().Contents()
	c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n *cluster.Node) bool { return n.Name == "kube-node3" })
	w.show(cluster.NewSnapshot(c))
	f := x.frame("the cluster without its node", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node3") == nil })
	if m := f.Power["kube-node3"]; !m.LeftOff || m.Reading.State != power.Off {
		t.Errorf("the machine is %+v", m)
	}

	x.press(power.ActionOn, "yes", "kube-node3")
	x.frame("the machine on", func(f *view.Frame) bool { return !f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	if !b.is("kube-node3", power.On) {
		t.Errorf("requests: %v", b.calls())
	}
	x.Send(view.AskQuit{})
	x.waitEnd()
}
