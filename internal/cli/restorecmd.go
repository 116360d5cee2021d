package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/session"
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

// restore undoes what the journal lists as off or cordoned in one cluster, or only the named nodes: it
// looks, plans, prints the plan, asks, carries it out, looks and plans again, and prints what is left.
// The error has all of that. It asks about each machine that somebody else switched off.
func restore(ctx context.Context, o options, named []string, yes bool) error {
	o.powersOn = true
	began := time.Now()
	r, err := openRestoration(ctx, o, named)
	if r == nil {
		return err
	}
	endInOrder()
	defer r.close()
	if r.noAPI != nil && !r.noKubeconfig() {
		err = errors.Join(err, fmt.Errorf("lightsout reads no annotations on nodes, because %w", r.noAPI))
	}
	asks := !yes || len(named) > 0 // otherwise powering on waits for no machine of others
	wait := nodesWait
	if !asks && !o.dryRun {
		wait = hurriedWait - time.Since(began)
	}
	l := r.firstLook(ctx, wait)
	if len(l.damaged) > 0 {
		fmt.Println(power.DamageText(r.journal, l.damaged) + ": lightsout polls every machine")
		if asks {
			r.findUnnamed(ctx, &l)
		}
	}
	items := planRestore(l.facts)
	l.print(items)
	unknown := l.unknown(named, items)
	err = errors.Join(err, unknown)
	wanted := among(items, named, yes)
	if o.dryRun {
		if len(items)+len(l.damaged) > 0 {
			err = errors.Join(err, errors.New("dry run: nothing was changed"))
		}
		return r.end(l, items, err)
	}
	if len(wanted) > 0 || len(l.damaged) > 0 && unknown == nil {
		err = errors.Join(err, r.carryOut(ctx, l, wanted, len(named) > 0, yes))
	}
	last := r.lastLook(ctx)
	left := planRestore(last.facts)
	last.notices = slices.DeleteFunc(last.notices, func(n string) bool { return slices.Contains(l.notices, n) })
	last.print(slices.DeleteFunc(slices.Clone(left), func(i item) bool { return !i.ask || slices.Contains(items, i) }))
	return r.end(last, left, err)
}

// carryOut asks the operator about the wanted items, and carries out those that are agreed to and that no
// other operator has taken over meanwhile.
func (r *restoration) carryOut(ctx context.Context, l look, wanted []item, named, yes bool) error {
	chosen, leaveOff, agreed, err := confirm(ctx, wanted, named, yes)
	if !agreed {
		return err
	}
	if !yes && l.unseen == nil { // the operator's answer took time
		if nodes, gone := r.nodes(ctx, hurriedWait); gone == nil {
			l.notes = r.readNotes(justListed(nodes, r.api))
		}
		chosen = still(chosen, planRestore(l.facts))
	}
	return errors.Join(err, r.apply(ctx, chosen, leaveOff, l))
}

// confirm asks one question for all machines and nodes of this journal, and one for each machine that
// somebody else switched off. It returns what the operator has agreed to, and the machines that are to
// stay off. With yes it asks nothing. agreed: the first answer was yes, or there was no question.
func confirm(ctx context.Context, items []item, named, yes bool) (chosen []item, leaveOff []string, agreed bool, err error) {
	c := newConsole(false, "")
	var texts []string
	if on := nodesOf(items, doPowerOn, false); len(on) > 0 {
		texts = append(texts, "power on "+strings.Join(on, ", "))
	}
	if back := nodesOf(items, doUncordon, false); len(back) > 0 {
		texts = append(texts, "uncordon "+strings.Join(back, ", "))
	}
	if len(texts) > 0 {
		if ok, err := c.agrees(ctx, yes, strings.Join(texts, "; ")); !ok || err != nil {
			return nil, nil, false, errors.Join(err, errNotDone)
		}
	}
	for _, i := range items {
		if !i.ask {
			chosen = append(chosen, i)
		}
	}
	for _, i := range items {
		if !i.ask || !named && c.in == nil { // the end lists it
			continue
		}
		ok, err := c.agrees(ctx, yes, fmt.Sprintf("power on %s, although %s", i.node, i.why))
		switch {
		case err != nil:
			return chosen, leaveOff, true, err
		case ok:
			chosen = append(chosen, i)
		default:
			leaveOff = append(leaveOff, i.node)
		}
	}
	return chosen, leaveOff, true, nil
}

// agrees asks a yes-or-no question, unless yes is set.
func (c *console) agrees(ctx context.Context, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	if c.in == nil {
		return false, errors.New("lightsout switched nothing, because there is no terminal to confirm on; repeat with --yes")
	}
	text, err := c.ask(ctx, os.Stdout, question+"? [y/N] ")
	return text == "y" || text == "yes", err
}

// apply powers the chosen machines on, and then uncordons the chosen nodes except those that it could
// not power on.
func (r *restoration) apply(ctx context.Context, chosen []item, leaveOff []string, l look) (failed error) {
	foreign := nodesOf(chosen, doPowerOn, true)
	on := append(nodesOf(chosen, doPowerOn, false), foreign...)
	if len(on)+len(l.damaged) > 0 {
		s, err := r.switcher(ctx, len(foreign) > 0)
		if failed = err; err == nil {
			failed = s.Restore(ctx, power.Request{
				Nodes:  append([]string{}, on...),
				Report: func(p power.Progress) { fmt.Printf("%s  %s\n", p.Node, p.Text) },
			}, power.Automatic{})
		}
		if err == nil && len(l.damaged) > 0 {
			failed = errors.Join(failed, r.settleDamage(ctx, leaveOff))
		}
		if failed != nil && ctx.Err() != nil {
			return failed
		}
	}
	reasons := power.FailedNodes(failed)
	for _, node := range nodesOf(chosen, doUncordon, false) {
		untried := failed != nil && len(reasons) == 0 && slices.Contains(on, node)
		if untried || reasons[node] != "" {
			continue
		}
		text, api, err := "", (*cluster.Client)(nil), error(nil)
		if api, err = r.proven(ctx); err == nil {
			text, err = session.Uncordon(ctx, api, r.journal, node)
		}
		if err != nil {
			text = fmt.Sprintf("%v; by hand: kubectl uncordon %s", err, node)
		}
		fmt.Printf("%s  %s\n", node, text)
	}
	return failed
}

// settleDamage settles damaged lines of the journal, once the machines that it lists are on.
func (r *restoration) settleDamage(ctx context.Context, leaveOff []string) error {
	s, err := r.switcher(ctx, true)
	if err != nil {
		return err
	}
	return s.SettleDamage(ctx, leaveOff)
}

// switcher returns the Switcher that powers machines on, with a view of the cluster if some of them are
// foreign to the journal and the cluster can be reached.
func (r *restoration) switcher(ctx context.Context, foreign bool) (*power.Switcher, error) {
	if r.machines.fleet == nil {
		return nil, fmt.Errorf("lightsout can power on no machine of cluster %s: %s", power.Clean(r.journal.Cluster().Name), cmp.Or(r.machines.missing, "the settings of its drivers can't be used"))
	}
	if foreign && r.reader == nil {
		api, err := r.proven(ctx)
		if err == nil {
			watcher := cluster.NewWatcher(api, cluster.WatchOptions{})
			r.stop, err = watch(ctx, watcher, viewWait, synced)
			r.reader = session.NewClusterReader(watcher, nil, time.Now)
		}
		if err != nil {
			r.reader = nil
			fmt.Println(err)
		}
	}
	return &power.Switcher{Fleet: r.machines.fleet, Journal: r.journal, Cluster: r.reader, Annotations: lateAnnotations{r}}, nil
}

// lateAnnotations are the annotations in a cluster whose API server lightsout contacts only
// when it has to write one: powering on does not wait for it. Annotations that it
// cannot change stay until the next start.
type lateAnnotations struct{ r *restoration }

// Change changes the annotation on a node.
func (l lateAnnotations) Change(ctx context.Context, node string, change func(had string) (string, bool)) error {
	api, err := l.r.proven(ctx)
	if err != nil {
		return err
	}
	if m := annotationsOf(l.r.config, api, nil); m != nil {
		return m.Change(ctx, node, change)
	}
	return nil
}

// end prints that nothing is left, if that is so and there was no error before. It returns the earlier
// error joined with what is left, and with what lightsout could not read.
func (r *restoration) end(l look, left []item, before error) error {
	unread := errors.Join(append(leftErrors(left, r.dryRun), l.unread)...)
	switch {
	case before != nil || unread != nil:
	case l.unseen != nil:
		fmt.Println("nothing is off in the journal; lightsout has not read the annotations on nodes, so it cannot tell what other operators switched off")
	default:
		fmt.Println("nothing is off: neither the journal nor an annotation of another operator lists a machine")
	}
	if l.unseen == nil || r.noAPI != nil && !r.noKubeconfig() { // the latter is reported
		return errors.Join(before, unread)
	}
	unseen := fmt.Errorf("cannot read the annotations on the nodes of cluster %s: %w", power.Clean(r.journal.Cluster().Name), l.unseen)
	if r.noAPI != nil {
		fmt.Println(unseen)
		return errors.Join(before, unread)
	}
	return errors.Join(before, unread, unseen)
}
