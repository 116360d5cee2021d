package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/text"
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

// watchOff begins or ends to compare a machine's state with its node's heartbeats, by a step of an
// operation on it.
func (m *machines) watchOff(p power.Progress) {
	delete(m.wentOff, p.Node)
	if p.Stage != power.StageDone || p.Action == power.ActionOn || p.Reading.State != power.Off || p.Reading.Proof != power.Proven || m.snapshot == nil {
		return
	}
	if n := m.snapshot.Node(p.Node); n != nil {
		m.wentOff[p.Node] = outage.Before{ID: m.snapshot.Boot(n).ID, Asked: p.Reading.CountsFrom(), Off: p.Reading.CountsFrom()}
	}
}

// findCrossed names a node whose heartbeats go on between two readings that prove its machine off: the
// machine is another node's, most likely that of the node that fell silent instead. It waits for that
// one until it would be silent.
func (m *machines) findCrossed(node string, r power.Reading) {
	off, follows := m.wentOff[node]
	if !follows || m.snapshot == nil || m.snapshot.Link.State != cluster.LinkLive {
		return
	}
	n := m.snapshot.Node(node)
	if n == nil || off.Seen(m.snapshot.Boot(n)) == outage.Booted || r.State == power.On || silent(m.snapshot, node, m.now()) {
		delete(m.wentOff, node)
		return
	}
	heard, _ := StillHeard(n, off.Off, m.now())
	if _, seen := n.Heartbeat(); !heard || seen.After(r.CountsFrom()) || r.State != power.Off || r.Proof != power.Proven {
		return
	}
	instead := m.silentInstead(off.Off)
	if len(instead) == 0 && m.now().Sub(off.Off) < n.LeaseDuration/2 {
		return
	}
	delete(m.wentOff, node)
	why := fmt.Sprintf("%s runs on: it sends heartbeats although its machine is proven off (%s), so that machine is another node's", node, r.Detail)
	if len(instead) > 0 {
		why += fmt.Sprintf("; %s fell silent instead", text.List(instead))
	}
	why += fmt.Sprintf(". Power it on again: %s %s. Then give each node its own machine under power.nodes", m.opt.Restore, node)
	m.update(node, func(v *view.MachineView) { v.Stage, v.Text = power.StageFailed, why })
	m.warn(view.LanePower, node, strings.TrimSuffix(why, "."))
}

// silentInstead returns the nodes that fell silent about at, and whose machines nobody is known to have
// switched off.
func (m *machines) silentInstead(at time.Time) []string {
	down := m.down()
	var out []string
	for _, n := range m.snapshot.Nodes() {
		_, seen := n.Heartbeat()
		late := n.HeartbeatLate(m.now()) || silent(m.snapshot, n.Name, m.now())
		if late && !slices.Contains(down, n.Name) && seen.After(at.Add(-2*n.RenewEvery())) && !seen.After(at.Add(underWay)) {
			out = append(out, n.Name)
		}
	}
	return out
}
