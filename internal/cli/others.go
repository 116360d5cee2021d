package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/power"
)

// nodesWait bounds the wait for a cluster's nodes: a credential plugin may be slow.
const nodesWait = 10 * time.Second

// noticeAfter is how long lightsout waits for a cluster's nodes without a word.
const noticeAfter = 2 * time.Second

// findForeign searches all clusters, in parallel, for machines that are off and that
// this journal did not switch off, and prints each with the name of who did.
func findForeign(ctx context.Context, all []*restoration) (found int) {
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() { r.findForeign(ctx) })
	}
	wg.Wait()
	for i, r := range all {
		r.foreign = slices.DeleteFunc(r.foreign, func(f foreign) bool { // two config files may lead to one cluster
			return slices.ContainsFunc(all[:i], func(s *restoration) bool {
				return s.foreignOn(f.node) != nil && s.journal.Cluster().Same(r.journal.Cluster())
			})
		})
		for _, f := range r.foreign {
			fmt.Printf("not in this journal: %s\n", f)
		}
		found += len(r.foreign)
	}
	return found
}

// takenOverWait bounds the wait for the annotations before lightsout powers on machines
// of this journal; it reads this host's register at once.
const takenOverWait = 3 * time.Second

// takenOver finds machines of this journal that another journal has switched off since:
// they were on in between. This journal must not power them on.
func (r *restoration) takenOver(ctx context.Context) {
	if len(r.left) == 0 {
		return
	}
	wait := takenOverWait
	if r.unanswered {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	noted, _ := r.others(ctx, true) // sayEnd reports unread annotations
	for _, o := range noted {
		if !slices.ContainsFunc(r.left, o.Since) || r.foreignOn(o.Node) != nil {
			continue
		}
		r.left = slices.DeleteFunc(r.left, o.Since)
		r.on = slices.DeleteFunc(r.on, func(n string) bool { return n == o.Node })
		r.foreign = append(r.foreign, foreign{node: o.Node, by: o.Note})
		fmt.Printf("another journal has switched off %s since: %s\n", o.Node, o.Note)
	}
}

func (r *restoration) findForeign(ctx context.Context) {
	noted, _ := r.others(ctx, true) // sayEnd reports unread annotations
	for _, o := range noted {
		if r.foreignOn(o.Node) == nil && !slices.Contains(r.ownNames(nil), o.Node) {
			r.foreign = append(r.foreign, foreign{node: o.Node, by: o.Note})
		}
	}
	if len(r.damaged) == 0 {
		return
	}
	s, err := r.switcher(ctx)
	if err != nil {
		return // Restore reports the error
	}
	ctx, end := within(ctx, showReadsWithin, "polling every machine of cluster "+power.Clean(cmp.Or(r.of.Name, "(unnamed)")))
	defer end()
	off, _ := s.Unaccounted(ctx) // Restore polls them all, and returns the error
	for _, o := range off {
		if r.foreignOn(o.Node) == nil {
			r.foreign = append(r.foreign, foreign{node: o.Node, by: o.By, off: true})
		}
	}
}

// sayOthers prints the machines that others have switched off, according to their
// annotations on the nodes and this host's register. It removes annotations that are
// out of date, unless dryRun is true. seen reports whether lightsout read the
// annotations. The error reports such machines, or a cluster that has an API server but
// whose annotations lightsout could not read.
func sayOthers(ctx context.Context, all []*restoration, dryRun bool) (names []string, seen bool, err error) {
	seen = true
	var ours, others []string
	for _, r := range all {
		noted, unseen := r.others(ctx, dryRun)
		for _, o := range noted {
			if r.foreignOn(o.Node) == nil { // otherwise an earlier line named it
				fmt.Println(noteText(o))
			}
			list := &others
			if o.Older {
				list = &ours
			}
			if !slices.Contains(*list, o.Node) {
				*list = append(*list, o.Node)
			}
			if !slices.Contains(names, o.Node) {
				names = append(names, o.Node)
			}
		}
		if unseen == nil {
			continue
		}
		seen = false
		unseen = fmt.Errorf("cannot read the annotations on the nodes of cluster %s: %w", power.Clean(cmp.Or(r.of.Name, "(unnamed)")), unseen)
		if errors.As(unseen, &noWayError{}) {
			fmt.Println(unseen)
		} else {
			err = errors.Join(err, unseen)
		}
	}
	if len(names) == 0 {
		return nil, seen, err
	}
	if len(others) > 0 {
		err = errors.Join(err, fmt.Errorf("others have switched off %s: bring them back with the commands shown above; if these fail, %s; if a machine is on, lightsout drops its note %s after it was written once the node has booted again, otherwise after %s; an annotation alone ends with: kubectl annotate node NODE %s-",
			strings.Join(others, ", "), repeatWith(others, dryRun), text.Span(power.BootCounts), text.Span(power.CarriedOutWithin), power.AnnotationSwitchedOff))
	}
	if len(ours) > 0 {
		err = errors.Join(err, fmt.Errorf("lightsout annotated %s, but the journal has no later request to switch them off: if they are off, %s",
			strings.Join(ours, ", "), repeatWith(ours, dryRun)))
	}
	return names, seen, err
}

// registeredElsewhere returns an error about the machines in this host's register that
// belong to none of the clusters: this command has no settings to power them on with. The
// machines of other labs do not count: they may have vanished with their labs.
func registeredElsewhere(all []*restoration) (err error) {
	if len(all) == 0 || !slices.ContainsFunc(all, func(r *restoration) bool { return !isLab(r.config) }) {
		return nil
	}
	locks := power.OpenLocks(hostDir)
	noted, _ := locks.Registered() // restorations reports the error
	for _, n := range noted {
		if !slices.ContainsFunc(all, func(r *restoration) bool { return r.journal.Cluster().Same(n.Cluster) }) {
			err = errors.Join(err, fmt.Errorf("this host's register lists a machine of another cluster, %s, as off: %s was switched off by %s",
				power.Clean(cmp.Or(n.Cluster.Name, "(unnamed)")), power.Clean(n.Node), n.Note))
		}
	}
	if err != nil {
		path, _ := locks.RegisterDamage()
		err = errors.Join(err, fmt.Errorf("if a cluster does not exist any more, delete its lines from %s", path))
	}
	return err
}

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
func noteText(o power.NodeNote) string {
	if o.Older {
		return fmt.Sprintf("lightsout annotated %s, but this journal has no request to switch it off: lightsout ended before it sent one, or the journal is an older copy. The annotation: %s", o.Node, o.Note)
	}
	return fmt.Sprintf("not in this journal: %s was switched off by %s", o.Node, o.Note)
}

// others gives the notes of others on nodes of the cluster; without the API
// server those on this host, and an error. It sets r.kept.
func (r *restoration) others(ctx context.Context, dryRun bool) ([]power.NodeNote, error) {
	s := &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, DryRun: dryRun}
	if s.Fleet == nil { // no driver can switch a machine, which does not matter here
		s.Fleet, _ = power.NewFleet(power.Config{Locks: power.OpenLocks(lockDir(r.config))}, r.journal)
	}
	seen, err := r.nodes(ctx)
	results := map[string]error{}
	if err == nil {
		if store := annotationsOf(r.config, r.server, nil); store != nil {
			s.Annotations = attempts{store, results}
		}
	}
	nodes := markedNodes(justListed(seen, r.server), time.Now())
	own := s.OutOfDate(nodes)
	noted := s.Sweep(nodes)
	r.kept = keptNotes(own, noted, results, dryRun, s.Annotations != nil)
	return noted, err
}
