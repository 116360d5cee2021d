package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// restoreLook is between two looks at machines that may still go off.
const restoreLook = 2 * time.Second

func newRestoreCommand(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Power on and uncordon what lightsout switched off or cordoned and has not undone",
		Long: `restore powers on the machines that lightsout switched off and has not seen on
again. It looks at each first: one that was asked to shut down not long ago and
is still on is waited for, as it may yet go off. That works from the journal
alone. It also uncordons the nodes that lightsout cordoned itself, which needs
the API server.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return restore(cmd.Context(), *o, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

// restore undoes what the journal says is not undone. Powering on needs neither
// the API server nor a name service.
func restore(ctx context.Context, o options, yes bool) error {
	s, err := newApp(o)
	if err != nil {
		return err
	}
	defer s.close()
	left, err := s.journal.LeftOff()
	if err != nil {
		return err
	}
	cordoned, err := s.journal.LeftCordoned()
	if err != nil {
		return err
	}
	if len(left) > 0 && s.machines.missing != "" {
		return errors.New(s.machines.missing)
	}
	if left, err = s.stillOff(ctx, left); err != nil {
		return err
	}
	if len(left)+len(cordoned) == 0 {
		fmt.Println("nothing is off that lightsout switched off")
		return nil
	}
	for _, e := range cordoned {
		fmt.Println("cordoned by lightsout: " + e.Node)
	}
	what := "power on and uncordon"
	switch {
	case len(cordoned) == 0:
		what = "power on"
	case len(left) == 0:
		what = "uncordon"
	}
	if o.dryRun || o.readOnly {
		fmt.Println("nothing is done: --dry-run or --read-only is given")
		return nil
	}
	if !yes {
		c := newConsole(false, "")
		if c.in == nil {
			return fmt.Errorf("nobody can be asked here; repeat with --yes")
		}
		fmt.Print(what + "? [y/N] ")
		if text, err := c.line(ctx); err != nil || (text != "y" && text != "yes") {
			return errNotDone
		}
	}
	var bindings []power.Binding
	for _, l := range left {
		bindings = append(bindings, l.Binding)
	}
	if len(bindings) > 0 {
		err = s.machines.fleet.Do(ctx, power.ActionOn, bindings, func(p power.Progress) {
			fmt.Printf("%s  %s\n", p.Node, p.Text)
		})
	}
	return errors.Join(err, s.uncordon(ctx, cordoned, err))
}

// stillOff looks at the machines, says how each is, and returns those to be
// powered on. One that was asked to switch off and is still on is waited for
// until it is off, or until it would have been; the journal is told of those
// that are on.
func (s *app) stillOff(ctx context.Context, left []power.LeftOff) ([]power.LeftOff, error) {
	said := map[string]bool{}
	for len(left) > 0 {
		bindings := make([]power.Binding, len(left))
		for i, l := range left {
			bindings[i] = l.Binding
		}
		readings := s.machines.fleet.Read(ctx, bindings)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var wait bool
		var off, words []string
		var still []power.LeftOff
		for i, l := range left {
			node, r := l.Binding.Node.Name, readings[i].Reading
			ago := time.Since(l.Asked)
			settling := l.Certainty == power.LeftOffUncertain && time.Now().Before(l.Until)
			switch {
			case r.State == power.On && r.Proof == power.Proven && !settling:
				fmt.Printf("%s is on already (%s)\n", node, r.Detail)
				if s.opt.dryRun || s.opt.readOnly {
					continue
				}
				m := l.Binding.On
				if m == nil {
					m = l.Binding.Off
				}
				if _, err := s.journal.SeenOn(power.Seen{Node: power.NodeRef{Name: node}, Machine: m, ProvesOff: true, At: time.Now(), Text: "seen on by restore: " + r.Detail}); err != nil {
					return nil, err
				}
				continue
			case (r.State == power.On || r.State == power.Transitioning) && settling:
				wait = true
				if !said[node] {
					fmt.Printf("%s was asked to %s %d s ago and is still %s (%s): looking until it is off, for %d s at most\n",
						node, power.Verb(l.Action), int(ago.Seconds()), r.State, r.Detail, int((time.Until(l.Until)).Seconds())+1)
				}
				said[node] = true
			}
			still = append(still, l)
			off = append(off, node)
			words = append(words, offWord(r))
		}
		if left = still; !wait {
			if len(left) > 0 {
				fmt.Println("switched off by lightsout and not seen on again:")
			}
			for i, l := range left {
				fmt.Printf("  %s  %s  %s\n", off[i], words[i], view.MachineText(l.Binding))
			}
			return left, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(restoreLook):
		}
	}
	return nil, nil
}

// offWord says how well it is known that a machine is off.
func offWord(r power.Reading) string {
	text := r.State.String()
	switch {
	case r.State == power.Off && r.Proof != power.Proven:
		text = "presumed off"
	case r.State == power.Unknown:
		text = "state not known"
	}
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	return text
}

// uncordon uncordons the nodes, but for those that could not be powered on.
func (s *app) uncordon(ctx context.Context, cordoned []power.Entry, failed error) error {
	var action *power.ActionError
	errors.As(failed, &action)
	var left []string
	for _, e := range cordoned {
		if action != nil && action.Failed[e.Node] != "" {
			left = append(left, e.Node)
			continue
		}
		text, err := session.Uncordon(ctx, s.api, s.journal, e.Node)
		if err != nil {
			fmt.Printf("%s  %v; by hand: kubectl uncordon %s\n", e.Node, err, e.Node)
			left = append(left, e.Node)
			continue
		}
		fmt.Printf("%s  %s\n", e.Node, text)
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("still cordoned: %s; repeat this command, or: kubectl uncordon %s", strings.Join(left, ", "), strings.Join(left, " "))
}
