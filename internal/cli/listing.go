package cli

import (
	"context"
	"errors"
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

// othersNotes returns the annotations of other journals on the nodes just listed. It removes those that are
// out of date, unless it is a dry run. The Ready condition alone proves nothing: while
// kube-controller-manager is down, nobody changes it for a machine that is off.
func othersNotes(store power.NoteStore, j *power.Journal, dryRun bool, listed *cluster.Snapshot) []power.NodeNote {
	fleet, err := power.NewFleet(power.Config{Locks: power.OpenLocks(hostDir), DryRun: dryRun}, j, nil)
	if err != nil {
		return nil // without drivers there is none
	}
	return (&power.Switcher{Fleet: fleet, Annotations: store}).Sweep(powerNodes(listed))
}

// powerNodes are the nodes just listed, as power sees them.
func powerNodes(listed *cluster.Snapshot) (nodes []power.Node) {
	for _, n := range listed.Nodes() {
		node := power.Node{NodeRef: session.NodeRef(listed, n), Ready: n.Ready == cluster.TriTrue, Notes: power.NotesOn(n.Annotations), Ahead: listed.Ahead()}
		if node.Ready && !n.Renewed.IsZero() {
			node.Heard = n.Renewed.Add(-listed.Ahead()) // nodes and API server are taken to have the same time
			if now := time.Now(); node.Heard.After(now) {
				node.Heard = now
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// listing is the cluster as its API server has just listed it, which is enough to find machines.
type listing []power.Node

// State returns the nodes.
func (l listing) State(context.Context) (power.ClusterState, error) {
	return power.ClusterState{At: time.Now(), Nodes: l}, nil
}

// FreshState fails: only switching off needs it.
func (l listing) FreshState(context.Context) (power.ClusterState, error) {
	return power.ClusterState{}, errors.ErrUnsupported
}
