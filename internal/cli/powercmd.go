package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/power"
)

func newPowerCommand(o *options) *cobra.Command {
	wait := viewWait
	var as *string
	status := &cobra.Command{
		Use:               "status [NODE...]",
		Short:             "Show each node and the power state of its machine",
		ValidArgsFunction: o.nodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return powerStatus(cmd.Context(), *o, args, *as, wait)
		},
	}
	as = formatFlag(status, formatTable, formatJSON)
	o.clusterFlags(status)
	waitFlag(status, &wait, viewWait)
	cmd := commands("power", "Show and switch the machines of nodes", status)
	for _, a := range []struct {
		action power.Action
		short  string
		wait   time.Duration
	}{
		{power.ActionShutdown, "Shut down machines, and wait until they are off", viewWait},
		{power.ActionOff, "Pull the plug on machines, and wait until they are off", viewWait},
		{power.ActionOn, "Power on machines, and wait until they are on", shortWait},
	} {
		var yes, drain bool
		var confirm string
		var wait time.Duration
		c := &cobra.Command{
			Use:               string(a.action) + " NODE...",
			Short:             a.short,
			Args:              takes(1, -1, "node"),
			ValidArgsFunction: o.nodes,
			RunE: func(cmd *cobra.Command, args []string) error {
				c := newConsole(yes, confirm)
				c.dryRun = o.dryRun
				return powerSwitch(cmd.Context(), *o, view.AskPower{Action: a.action, Nodes: args, Drain: drain}, c, wait)
			},
		}
		o.clusterFlags(c)
		o.Bound(c.Flags())
		o.dryRunFlag(c)
		waitFlag(c, &wait, a.wait)
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
		c.Flags().StringVar(&confirm, "confirm", "", "the `text` of a typed confirmation")
		if a.action == power.ActionShutdown {
			c.Flags().BoolVar(&drain, "drain", false, "cordon the nodes and drain them first")
		}
		cmd.AddCommand(c)
	}
	return cmd
}

// shortWait is viewWait where not much is lost without a view.
const shortWait = 5 * time.Second

// waitFlag adds the flag that bounds the wait for the API server.
func waitFlag(cmd *cobra.Command, wait *time.Duration, otherwise time.Duration) {
	cmd.Flags().DurationVar(wait, "wait-for-api", otherwise, "wait this `duration` for the API server, as after a start of the cluster")
}

// powerSwitch does one action by the same session, guards and questions as the
// screen.
func powerSwitch(ctx context.Context, o options, ask view.AskPower, c *console, wait time.Duration) (err error) {
	action, nodes := ask.Action, ask.Nodes
	o.noLoad, o.powersOn = true, action == power.ActionOn
	s, err := newApp(o)
	if err != nil {
		return err
	}
	if s.machines.missing != "" {
		return errors.New(s.machines.missing)
	}
	c.lanes = []view.Lane{view.LanePower}
	endInOrder()
	defer func() {
		switch {
		case err != nil || ctx.Err() != nil:
			s.sayLeftOff()
		case action == power.ActionOn: // a node is uncordoned once it is Ready, after the end of this command
			other := func(n string) bool { return !slices.Contains(nodes, n) }
			s.left = leftover{cordoned: slices.DeleteFunc(s.left.cordoned, other), wanted: slices.DeleteFunc(s.left.wanted, other)}
			s.sayLeftOff()
		}
	}()
	return s.run(ctx, func(ctx context.Context) error {
		snapshot, err := s.view(ctx, c, wait)
		if err == nil && action == power.ActionOn {
			err = s.polled(ctx, c, nodes)
		}
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted: nothing was sent to any machine")
		case err != nil && action != power.ActionOn: // which needs no view
			return err
		}
		if synced(snapshot) {
			if err := known(snapshot, s.strangers(action, nodes)); err != nil {
				return err
			}
		}
		fmt.Printf("polling the cluster and %s: up to 30 s if something does not answer\n", text.List(nodes))
		s.session.Send(ask)
		before := c.asked
		var failed []string
		err = c.show(ctx, s.session, func(f *view.Frame) bool {
			if c.asked == before && slices.ContainsFunc(nodes, func(n string) bool { return f.Power[n].Stage == "" }) {
				return false // not begun; what needs no question has an end as well
			}
			done, bad := settled(f, nodes)
			failed = bad
			return done
		})
		if err == nil && len(failed) == 0 && action != power.ActionOn && !o.dryRun {
			failed, err = c.silenced(ctx, s.session, nodes)
		}
		if err == nil && len(failed) > 0 {
			s.undone(ctx, c, failed)
		}
		switch {
		case err == nil && len(failed) > 0:
			err = fmt.Errorf("lightsout could not %s %s: the reason is above; check with: %s power status %s", power.Verb(action), strings.Join(failed, ", "), text.Self, strings.Join(failed, " "))
		case errors.Is(err, context.Canceled) && c.asked == before:
			err = errors.New("interrupted: nothing was sent to any machine")
		case errors.Is(err, context.Canceled):
			err = fmt.Errorf("interrupted before the result was seen; check with: %s power status %s", text.Self, strings.Join(nodes, " "))
		}
		return err
	})
}

// uncordonWithin is how long the end of a command waits for what it undoes.
const uncordonWithin = 10 * time.Second

// undone waits until lightsout has uncordoned the nodes that it leaves on. It does not say what is
// still cordoned then.
func (a *app) undone(ctx context.Context, c *console, nodes []string) {
	until := time.Now().Add(uncordonWithin)
	_ = c.show(ctx, a.session, func(*view.Frame) bool {
		cordoned, err := a.journal.LeftCordonedAll()
		return err != nil || time.Now().After(until) || !slices.ContainsFunc(cordoned, func(e power.Entry) bool { return e.Action != power.ForItself && slices.Contains(nodes, e.Node) })
	})
}

// silenced waits until the nodes whose machines are proven off have missed a heartbeat, and returns
// those that send heartbeats all the same: the session names the reason.
func (c *console) silenced(ctx context.Context, e *session.Session, nodes []string) (crossed []string, err error) {
	said := false
	err = c.show(ctx, e, func(f *view.Frame) bool {
		crossed = nil
		settled := true
		for _, name := range nodes {
			if v := f.Power[name]; v.Stage == power.StageFailed {
				crossed = append(crossed, name)
			} else if v.HeartbeatOpen {
				settled = false
			}
		}
		if !settled && !said {
			said = true
			printLines(c.out, "waiting until a heartbeat of "+text.List(nodes)+" is missing, so that no other machine was switched off instead")
		}
		return settled
	})
	return crossed, err
}

// strangers returns the nodes that only the cluster can identify. The journal names the
// machine of a node to power on, even if the cluster has removed the node.
func (s *app) strangers(action power.Action, nodes []string) []string {
	if action != power.ActionOn {
		return nodes
	}
	left, _ := s.journal.LeftOff() // the session reports its error
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool {
		return slices.ContainsFunc(left, func(l power.LeftOff) bool { return l.Node == n })
	})
}

func namesOf(nodes []*cluster.Node) []string {
	return text.Each(nodes, func(n *cluster.Node) string { return n.Name })
}

// known is the error that a snapshot does not have one of the nodes.
func known(s *cluster.Snapshot, nodes []string) error {
	there := namesOf(s.Nodes())
	for _, n := range nodes {
		if s.Node(n) == nil {
			return fmt.Errorf("%s (if the cluster deleted it while its machine was off, lightsout restore --dry-run lists the machine)", plan.Missing("node", n, there))
		}
	}
	return nil
}
