package cli

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/power"
)

// justListed is the snapshot of nodes that an API server has just listed.
func justListed(nodes []*cluster.Node, api *cluster.Client) *cluster.Snapshot {
	c := cluster.Contents{Nodes: nodes}
	if api != nil {
		c.Link.Ahead = api.Ahead()
	}
	return cluster.NewSnapshot(c)
}

// markedNodes returns the facts of the nodes just listed that decide whether an annotation
// on one is out of date. The Ready condition alone proves nothing: while kube-controller-manager is
// down, nobody changes it for a machine that is off.
func markedNodes(s *cluster.Snapshot, now time.Time) (marked []power.Node) {
	for _, n := range s.Nodes() {
		out := power.Node{NodeRef: session.NodeRef(s, n), Ready: n.Ready == cluster.TriTrue, Notes: power.NotesOn(n.Annotations), Ahead: s.Ahead()}
		if out.Ready && !n.Renewed.IsZero() {
			out.Heard = n.Renewed.Add(-s.Ahead()) // nodes and API server are taken to have the same time
			if out.Heard.After(now) {
				out.Heard = now
			}
		}
		marked = append(marked, out)
	}
	return marked
}

// noteText describes the annotation of a machine that is not in this journal.
func noteText(o power.NodeNote) string { return "not in this journal: " + o.Node + ": " + noteWhy(o) }

// readNotes returns the annotations of other journals on the listed nodes. It removes those that are
// out of date.
func (r *restoration) readNotes(listed *cluster.Snapshot) []power.NodeNote {
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, DryRun: r.dryRun}
	if s.Fleet == nil { // no driver can switch a machine, which does not matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(hostDir)}, r.journal)
	}
	if notes := annotationsOf(r.config, r.api, nil); notes != nil {
		s.Annotations = notes
	}
	return s.Sweep(markedNodes(listed, time.Now()))
}
