package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/power"
)

// nodesWait bounds how long the nodes of a cluster are waited for.
const nodesWait = 5 * time.Second

// sayOthers names the machines that others have switched off, by their notes on
// the nodes and on this host, and takes off the notes that are over, unless
// nothing is to be done. seen says that all notes were seen. The error says that
// there are such, or that those of a cluster could not be seen although there is
// a way to it.
func sayOthers(ctx context.Context, all []*restoration, nothing bool) (seen bool, err error) {
	var names []string
	seen = true
	for _, r := range all {
		noted, unseen := r.others(ctx, nothing)
		for _, o := range noted {
			fmt.Printf("not this journal's: %s was switched off by %s\n", o.Node, o.Mark)
			if !slices.Contains(names, o.Node) {
				names = append(names, o.Node)
			}
		}
		if unseen == nil {
			continue
		}
		seen = false
		unseen = fmt.Errorf("the notes on the nodes of cluster %s can't be seen: %w", power.Clean(cmp.Or(r.of.Name, "not named")), unseen)
		if errors.As(unseen, &noWayError{}) {
			fmt.Println(unseen)
		} else {
			err = errors.Join(err, unseen)
		}
	}
	if len(names) == 0 {
		return seen, err
	}
	return seen, errors.Join(err, fmt.Errorf("others have switched off %s: bring them back as they say, or where that journal is lost with lightsout power on; where a note is wrong: kubectl annotate node %s %s-",
		strings.Join(names, ", "), strings.Join(names, " "), power.AnnotationSwitchedOff))
}

// others gives the notes of others on nodes of the cluster; without the API
// server those on this host, and an error.
func (r *restoration) others(ctx context.Context, nothing bool) ([]power.Noted, error) {
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, DryRun: nothing}
	if s.Fleet == nil { // no machine can be switched, which is no matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(power.LockDir)}, r.journal)
	}
	seen, err := r.nodes(ctx)
	if err == nil {
		s.Marks = noteOn(r.config, r.server, nil)
	}
	var nodes []power.Node
	for _, n := range seen {
		nodes = append(nodes, power.Node{NodeRef: session.NodeRef(n), Ready: n.Ready == cluster.TriTrue, Marks: power.MarksOn(n.Annotations)})
	}
	return s.Sweep(nodes), err
}
