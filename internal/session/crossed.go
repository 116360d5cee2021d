package session

import (
	"fmt"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/power"
)

// underWay is how long a heartbeat that a node sent before its machine went off may take to arrive.
const underWay = 3 * time.Second

// longestBeat bounds the wait for a heartbeat; a kubelet sends one every 10 s unless told otherwise.
const longestBeat = 12 * time.Second

// StillHeard reports whether a node has sent a heartbeat since its machine was proven off at off, which
// a machine that is off cannot. settled is false while its next heartbeat may still come.
func StillHeard(n *cluster.Node, off, now time.Time) (heard, settled bool) {
	if n == nil {
		return false, true
	}
	_, seen := n.Heartbeat()
	heard = seen.After(off.Add(underWay))
	return heard, heard || seen.IsZero() || now.Sub(off) > underWay+min(n.RenewEvery(), longestBeat)
}

// findCrossed names a node whose heartbeats go on between two readings that prove its machine off: the
// machine is another node's.
func (m *machines) findCrossed(node string, r power.Reading) {
	o := m.outages[node]
	if o == nil || o.Step() != outage.StepOff || !r.Proves(power.Off) || m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return
	}
	n, off := m.snapshot.Node(node), o.At[outage.StepOff]
	heard, _ := StillHeard(n, off, m.now())
	if !heard || silent(m.snapshot, node, m.now()) {
		return
	}
	why := node + " runs on: it sends heartbeats although its machine is proven off"
	if _, seen := n.Heartbeat(); seen.After(r.CountsFrom()) || strings.HasPrefix(m.views[node].Text, why) {
		return // it may have gone off since; or that was said
	}
	why += fmt.Sprintf(" (%s), so that machine is another node's. Power it on again: %s %s. Then give each node its own machine under power.nodes", r.Detail, m.opt.Restore, node)
	m.update(node, func(v *view.MachineView) { v.Stage, v.Text = power.StageFailed, why })
	m.warn(view.LanePower, node, why)
}
