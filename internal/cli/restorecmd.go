package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"lightsout/internal/text"
	"lightsout/power"
)

func newRestoreCommand(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:               "restore [NODE...]",
		Short:             "Power on the machines that lightsout left off, and uncordon its nodes",
		ValidArgsFunction: o.nodes,
		RunE:              func(cmd *cobra.Command, nodes []string) error { return restore(cmd.Context(), *o, nodes, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask about machines of this journal and nodes that you name")
	o.clusterFlags(cmd)
	o.dryRunFlag(cmd)
	return cmd
}

// restore undoes everything that the journal lists as not undone, or only the named
// nodes. It first prints what it found, and then powers on nothing else. It asks about
// each machine that somebody else switched off.
func restore(ctx context.Context, o options, named []string, yes bool) error {
	o.powersOn = true
	out := queueOutput()
	defer func() { out.end(context.WithoutCancel(ctx), outputWait) }()
	all, err := restorations(o)
	endInOrder()
	defer func() {
		for _, r := range all {
			r.close()
		}
	}()
	own := 0
	for _, r := range all {
		if len(all) > 1 {
			r.in = power.Clean(r.of.Name) + "  "
		}
		r.withhold(ctx, named)
		err = errors.Join(err, r.why)
		r.poll(ctx, o.dryRun)
		r.findLate(o.dryRun)
		r.takenOver(ctx)
		own += r.show(ctx, len(all) > 1, o.dryRun)
	}
	if here := o.today(all); here != nil {
		all = append(all, here)
	}
	var foreign int
	if !yes || len(named) > 0 { // otherwise powering on does not wait for them
		foreign = findForeign(ctx, all)
		known, unknown := knownNames(all, named)
		if err = errors.Join(err, unknown); unknown != nil && len(known) == 0 {
			return err
		}
		named = known // the others do not wait for a name that is wrong
	}
	switch {
	case o.dryRun && own+foreign > 0:
		err = errors.Join(err, errors.New("dry run: nothing was changed"))
	case own+foreign > 0:
		err = errors.Join(err, choose(ctx, out, all, named, yes))
		if !yes { // the operator's answer takes time
			for _, r := range all {
				r.takenOver(ctx)
			}
		}
		err = errors.Join(err, undoAll(ctx, all))
	}
	if !o.dryRun {
		lateAgain(ctx, all)
	}
	return sayEnd(ctx, all, o.dryRun, err)
}

// knownNames returns the named nodes on which restore can act, and an error about each
// other one.
func knownNames(all []*restoration, named []string) (known []string, unknown error) {
	for _, n := range named {
		own, others := 0, 0
		for _, r := range all {
			refused := slices.ContainsFunc(r.late, func(l power.LeftOff) bool { return l.Node == n && l.Refused != "" })
			if refused || slices.Contains(r.ownNames(nil), n) || slices.Contains(r.back, n) || slices.Contains(r.cordonedNames(nil), n) {
				own++
			}
			if r.foreignOn(n) != nil {
				others++
			}
		}
		switch {
		case own+others == 0:
			unknown = errors.Join(unknown, fmt.Errorf("neither the journal nor an annotation lists %s as off or cordoned; power it on with: lightsout power on %s", power.Clean(n), text.ShellWord(power.Clean(n))))
		case others > 1:
			unknown = errors.Join(unknown, fmt.Errorf("several clusters have a node %s that somebody else has switched off; choose one with --context", power.Clean(n)))
		default:
			known = append(known, n)
		}
	}
	return known, unknown
}

// choose asks what to power on and uncordon, for each cluster: one question for all
// machines of this journal, and one for each machine that somebody else switched off.
// With yes it asks about neither the former nor the named ones of the latter.
func choose(ctx context.Context, out *queuedOutput, all []*restoration, named []string, yes bool) error {
	c := newConsole(false, "")
	c.directly = out.directly
	var texts []string
	for _, r := range all {
		if on := r.ownNames(named); len(on) > 0 {
			texts = append(texts, "power on "+strings.Join(on, ", "))
		}
		if back := r.cordonedNames(named); len(back) > 0 {
			texts = append(texts, "uncordon "+strings.Join(back, ", "))
		}
	}
	if len(texts) > 0 {
		if ok, err := c.agrees(ctx, yes, strings.Join(texts, "; ")); !ok || err != nil {
			return errors.Join(err, errNotDone)
		}
	}
	for _, r := range all { // whatever becomes of the questions below
		r.on, r.uncordoned, r.chosen = r.ownNames(named), r.cordonedNames(named), true
	}
	for _, r := range all {
		for _, f := range r.foreign {
			switch wanted := slices.Contains(named, f.node); {
			case len(named) > 0 && !wanted, len(named) == 0 && (yes || c.in == nil):
				continue // the end lists it
			default:
				ok, err := c.agrees(ctx, yes, fmt.Sprintf("power on %s, although %s", f.node, f.why()))
				if err != nil {
					return err
				}
				if ok {
					r.on = append(r.on, f.node)
				} else {
					r.leaveOff = append(r.leaveOff, f.node)
				}
			}
		}
	}
	return nil
}

// agrees asks a yes-or-no question, unless yes is set.
func (c *console) agrees(ctx context.Context, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	if c.in == nil {
		return false, errors.New("lightsout switched nothing, because there is no terminal to confirm on; repeat with --yes")
	}
	defer c.directly(ctx)()
	text, err := c.ask(ctx, os.Stdout, question+"? [y/N] ")
	return text == "y" || text == "yes", err
}

// undoAll undoes the chosen work in all clusters in parallel: one cluster may have to
// wait.
func undoAll(ctx context.Context, all []*restoration) error {
	undone := make([]error, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		if r.chosen {
			wg.Go(func() { undone[i] = r.undo(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(undone...)
}

// repeatWith tells the operator to repeat this restore, with its flags, for some nodes.
func repeatWith(nodes []string, dryRun bool) string {
	if dryRun {
		return "repeat this command without --dry-run, and with: " + strings.Join(nodes, " ")
	}
	return "repeat this command with: " + strings.Join(nodes, " ")
}

// sayEnd prints the machines that are still off, according to the journal and to annotations
// of others, the nodes that lightsout has cordoned and was not
// asked to uncordon, and the machines that a refused request may still switch off. If there
// are none and there was no error before, it prints that. It prints the annotations of this
// journal that are out of date and still there. It returns the earlier error joined with these
// machines and nodes.
func sayEnd(ctx context.Context, all []*restoration, dryRun bool, before error) error {
	var left, cordoned []string
	others, seen, err := sayOthers(ctx, all, dryRun)
	for i, r := range all {
		again := slices.ContainsFunc(all[:i], func(s *restoration) bool { return s.journal.Cluster().Same(r.journal.Cluster()) })
		still := r.stillOff(dryRun, others)
		left = append(left, slices.DeleteFunc(still, func(n string) bool { return again && slices.Contains(left, n) })...)
		cordoned = append(cordoned, r.stillCordoned()...)
	}
	own := sayOwn(all)
	var refused error
	for _, r := range all {
		refused = errors.Join(refused, r.refused())
	}
	err = errors.Join(err, refused)
	if len(cordoned) > 0 {
		err = errors.Join(err, fmt.Errorf("lightsout has cordoned %s; to uncordon, %s", strings.Join(cordoned, ", "), repeatWith(cordoned, dryRun)))
	}
	switch {
	case len(left) > 0:
		err = errors.Join(err, fmt.Errorf("the journal still lists as off: %s; repeat this command", strings.Join(left, ", ")))
	case before != nil, refused != nil, len(others)+len(cordoned) > 0:
	case seen && own:
		fmt.Println("nothing is off: the journal and all other annotations on nodes list no machine")
	case seen:
		fmt.Println("nothing is off: the journal and the annotations on all nodes list no machine")
	default:
		fmt.Println("nothing is off in the journal; lightsout has not read the annotations on nodes, so it cannot tell what others switched off")
	}
	return errors.Join(before, err)
}
