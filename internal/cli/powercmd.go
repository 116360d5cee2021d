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
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

func newPowerCommand(o *options) *cobra.Command {
	wait := viewWait
	status := &cobra.Command{
		Use:               "status [NODE...]",
		Short:             "Show each node and the power state of its machine",
		ValidArgsFunction: o.nodes,
		RunE:              func(cmd *cobra.Command, args []string) error { return powerStatus(cmd.Context(), *o, args, wait) },
	}
	o.clusterFlags(status)
	waitFlag(status, &wait, viewWait)
	cmd := commands("power", "Show and switch the machines of nodes", status)
	for _, a := range []struct {
		action power.Action
		short  string
		wait   time.Duration
	}{
		{power.ActionShutdown, "Ask the machines of nodes to shut down, side by side, and wait until they are off", viewWait},
		{power.ActionOff, "Pull the plug on the machines of nodes, side by side", viewWait},
		{power.ActionOn, "Power on the machines of nodes, side by side, and wait until they are on", shortWait},
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
				if drain {
					c.prefer = view.ChoiceDrain
				}
				return powerSwitch(cmd.Context(), *o, a.action, args, c, wait)
			},
		}
		o.clusterFlags(c)
		o.Bound(c.Flags())
		o.dryRunFlag(c)
		waitFlag(c, &wait, a.wait)
		c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
		c.Flags().StringVar(&confirm, "confirm", "", "the `text` to type where one is asked for")
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
	cmd.Flags().DurationVar(wait, "wait-for-api", otherwise, "how long the API server may take to answer, as after a start of the cluster")
}

// powerSwitch does one action by the same session, guards and questions as the
// screen.
func powerSwitch(ctx context.Context, o options, action power.Action, nodes []string, c *console, wait time.Duration) error {
	o.noLoad = true
	s, err := newApp(o)
	if err != nil {
		return err
	}
	if s.machines.missing != "" {
		return errors.New(s.machines.missing)
	}
	c.lanes = []view.Lane{view.LanePower}
	return s.run(ctx, func(ctx context.Context) error {
		snapshot, err := s.view(ctx, c, wait)
		if err == nil && action == power.ActionOn {
			err = s.looked(ctx, c, nodes)
		}
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted: nothing was sent to any machine")
		case err != nil && action != power.ActionOn: // which needs no view
			return err
		}
		if synced(snapshot) {
			if err := known(snapshot, nodes); err != nil {
				return err
			}
		}
		fmt.Printf("looking at the cluster and at %s: half a minute at most where something does not answer\n", text.List(nodes))
		s.session.Send(view.AskPower{Action: action, Nodes: nodes})
		before := c.asked
		var failed []string
		err = c.show(ctx, s.session, func(f *view.Frame) bool {
			if c.asked == before && slices.ContainsFunc(nodes, func(n string) bool { return f.Power[n].Phase == "" }) {
				return false // not begun; what needs no question has an end as well
			}
			done, bad := settled(f, nodes)
			failed = bad
			return done
		})
		switch {
		case err == nil && len(failed) > 0:
			err = fmt.Errorf("not done: %s", strings.Join(failed, ", "))
		case errors.Is(err, context.Canceled) && c.asked == before:
			err = errors.New("interrupted: nothing was sent to any machine")
		case errors.Is(err, context.Canceled):
			err = fmt.Errorf("interrupted before it was seen that it is done; look with lightsout power status %s", strings.Join(nodes, " "))
		}
		return err
	})
}

// known is the error that a snapshot does not have one of the nodes.
func known(s *cluster.Snapshot, nodes []string) error {
	var there []string
	for _, n := range s.Nodes() {
		there = append(there, n.Name)
	}
	for _, n := range nodes {
		if s.Node(n) == nil {
			return fmt.Errorf("there is no node %q; there are %s", text.Clean(n, 300), strings.Join(there, ", "))
		}
	}
	return nil
}
