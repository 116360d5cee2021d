package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/power"
)

// othersWait bounds how long the notes on the nodes of a cluster are waited for.
const othersWait = 5 * time.Second

// sayOthers names the machines that others have switched off, by their notes on
// the nodes and on this host, and takes off the notes that are over, unless
// nothing is to be done. The error says that there are such.
func sayOthers(ctx context.Context, all []*restoration, nothing bool) error {
	var names []string
	for _, r := range all {
		for _, o := range r.others(ctx, nothing) {
			fmt.Printf("not this journal's: %s was switched off by %s\n", o.Node, o.Mark)
			if !slices.Contains(names, o.Node) {
				names = append(names, o.Node)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("others have switched off %s: bring them back as they say; where a note is wrong: kubectl annotate node %s %s-",
		strings.Join(names, ", "), strings.Join(names, " "), power.AnnotationSwitchedOff)
}

// others gives the notes of others on nodes of the cluster; without the API
// server those on this host.
func (r *restoration) others(ctx context.Context, nothing bool) []power.Noted {
	s := &power.Switcher{Fleet: r.fleet(), Journal: r.journal, DryRun: nothing}
	if s.Fleet == nil { // no machine can be switched, which is no matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(power.LockDir)}, r.journal)
	}
	ctx, cancel := context.WithTimeout(ctx, othersWait)
	defer cancel()
	var seen []*cluster.Node
	api, err := r.proven(ctx)
	if err == nil {
		s.Marks = noteOn(r.config, api, nil)
		seen, err = api.Nodes(ctx)
	}
	var nodes []power.Node
	for _, n := range seen {
		nodes = append(nodes, power.Node{NodeRef: session.NodeRef(n), Ready: n.Ready == cluster.TriTrue, Marks: power.MarksOn(n.Annotations)})
	}
	if err != nil {
		fmt.Printf("the notes on the nodes of cluster %s can't be seen: %v\n", power.Clean(cmp.Or(r.of.Name, "not named")), err)
	}
	return s.Sweep(nodes)
}
