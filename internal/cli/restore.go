package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/restore"
	"lightsout/internal/session"
	"lightsout/power"
)

func newRestoreCommand(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:               "restore [NODE...]",
		Short:             "Power on the machines that lightsout left off, and uncordon its nodes",
		ValidArgsFunction: o.nodes,
		RunE:              func(cmd *cobra.Command, nodes []string) error { return runRestore(cmd.Context(), *o, nodes, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask about machines of this journal and nodes that you name")
	o.clusterFlags(cmd)
	o.dryRunFlag(cmd)
	return cmd
}

// runRestore undoes what the journal lists as off or cordoned in one cluster, or only the named nodes: it
// looks, plans (restore.Caller decides about each node), prints the plan, asks, carries it out, looks and plans again, and
// prints what is left.
// The error has all of that. It asks about each machine that somebody else switched off.
func runRestore(ctx context.Context, o options, named []string, yes bool) error {
	o.powersOn = true
	r, err := openRestoration(ctx, o, named)
	if r == nil {
		return err
	}
	endInOrder()
	defer r.close()
	asks := !yes || len(named) > 0 || o.dryRun // otherwise powering on waits for no machine of others
	f := r.look(ctx, asks)
	console := newConsole(yes, "")
	this := restore.Caller{Named: named, Answers: !yes && console.in != nil}
	items := planRestore(f, this)
	showItems(f.notices, items)
	unknown := unknownNodes(named, f.back, items)
	err = errors.Join(err, unknown)
	wanted := slices.DeleteFunc(slices.Clone(items), restoreItem.leaves)
	switch {
	case o.dryRun && (len(items) > 0 || f.damaged):
		err = errors.Join(err, errors.New("dry run: nothing was changed"))
	case o.dryRun:
	case len(wanted) > 0 || f.damaged && unknown == nil:
		chosen, leaveOff, no := console.askFor(ctx, wanted)
		if err = errors.Join(err, no); errors.Is(no, errNotDone) {
			break
		}
		brought, failed := r.apply(ctx, chosen, leaveOff, f.damaged)
		err = errors.Join(err, failed)
		f = r.look(ctx, true)
		f.broughtOn(brought)
		items = planRestore(f, this)
		showItems(f.notices, items)
	}
	return r.end(f, items, err)
}

// askFor asks what the items say. It returns what the operator has agreed to, and the machines that are to
// stay off. After errNotDone nothing is to be done.
func (c *console) askFor(ctx context.Context, items []restoreItem) (chosen []restoreItem, leaveOff []string, err error) {
	together := slices.DeleteFunc(slices.Clone(items), func(i restoreItem) bool { return i.Do != restore.Together })
	var texts []string
	if on := nodesOf(together, restore.Machine, power.Ours); len(on) > 0 {
		texts = append(texts, "power on "+strings.Join(on, ", "))
	}
	if back := nodesOf(together, restore.Cordon, power.Ours); len(back) > 0 {
		texts = append(texts, "uncordon "+strings.Join(back, ", "))
	}
	if len(texts) > 0 {
		if ok, err := c.agrees(ctx, strings.Join(texts, "; ")); !ok || err != nil {
			return nil, nil, notDone(err)
		}
	}
	for _, i := range items {
		ok := i.Do != restore.Alone
		if !ok && err == nil {
			ok, err = c.agrees(ctx, fmt.Sprintf("power on %s, although %s", i.Node, i.why))
		}
		if ok {
			chosen = append(chosen, i)
		} else {
			leaveOff = append(leaveOff, i.Node)
		}
	}
	return chosen, leaveOff, err
}

// agrees asks a yes-or-no question, unless --yes has answered it.
func (c *console) agrees(ctx context.Context, question string) (bool, error) {
	if c.yes {
		return true, nil
	}
	if c.in == nil {
		return false, errors.New("there is no terminal to confirm on")
	}
	return c.askYes(ctx, os.Stdout, question+"? [y/N] ")
}

// apply powers the chosen machines on, and then uncordons the chosen nodes except those that it could
// not power on. It returns the nodes whose machines it has brought on.
func (r *restoration) apply(ctx context.Context, chosen []restoreItem, leaveOff []string, damaged bool) (brought []string, failed error) {
	foreign := nodesOf(chosen, restore.Machine, power.TakenOver, power.Others, power.Nobody)
	on := append(nodesOf(chosen, restore.Machine, power.Ours), foreign...)
	if len(on) > 0 || damaged {
		var view power.ClusterReader
		if len(foreign) > 0 {
			view = r.cluster
		}
		s, err := r.switcher(view)
		if failed = err; err == nil && len(on) > 0 {
			failed = s.Switch(ctx, power.Request{
				Action: power.ActionOn,
				Nodes:  on,
				Report: func(p power.Progress) { fmt.Printf("%s  %s\n", p.Node, p.Text) },
			}, power.Automatic{})
		}
		if err == nil && damaged {
			s.Cluster = r.cluster
			failed = errors.Join(failed, s.SettleDamage(ctx, leaveOff))
		}
		if failed != nil && ctx.Err() != nil {
			return nil, failed
		}
	}
	reasons := power.FailedNodes(failed)
	off := func(node string) bool {
		return reasons[node] != "" || failed != nil && len(reasons) == 0 && slices.Contains(on, node)
	}
	for _, node := range nodesOf(chosen, restore.Cordon, power.Ours) {
		if off(node) {
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
	return slices.DeleteFunc(on, off), failed
}

// switcher returns the Switcher that powers machines on. It needs a view of the cluster only for machines
// that the journal does not list.
func (r *restoration) switcher(view power.ClusterReader) (*power.Switcher, error) {
	if r.machines.fleet == nil {
		return nil, fmt.Errorf("lightsout can power on no machine of cluster %s: %s", power.Clean(r.journal.Cluster().Name), cmp.Or(r.machines.missing, "the settings of its drivers can't be used"))
	}
	// An annotation that it cannot change stays until the next start.
	return &power.Switcher{Fleet: r.machines.fleet, Cluster: view, Annotations: annotationsOf(r.config, r.proven, nil)}, nil
}

// end prints that nothing is left, if that is so and there was no error before. It returns the earlier
// error joined with what is left, and with what lightsout could not read.
func (r *restoration) end(f restoreFacts, left []restoreItem, before error) error {
	command := r.CommandLine("restore", r.config)
	err := errors.Join(append(leftErrors(left, command), before, f.unread)...)
	switch {
	case err != nil:
	case f.unseen != nil:
		fmt.Println("nothing is off in the journal; lightsout has not read the annotations on nodes, so it cannot tell what other operators switched off")
	default:
		fmt.Println("nothing is off: neither the journal nor an annotation of another operator lists a machine")
	}
	if f.unseen != nil && errors.As(r.noAPI, new(*cluster.NoKubeconfigError)) && os.Getenv("KUBECONFIG") == "" { // nobody has chosen one
		fmt.Println(f.unseen)
		return err
	}
	return errors.Join(err, f.unseen)
}
