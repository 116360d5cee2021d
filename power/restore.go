package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Restore powers on what this journal's cluster has left off: what the journal
// says, and, where lines of it are damaged, what reads off and nothing tells of.
// Those that can't be powered on hold up no others. It needs the drivers; a view
// of the cluster only for nodes whose machine the journal does not tell. r says
// how it is told; its action and nodes are not looked at.
func (s *Switcher) Restore(ctx context.Context, r Request, ask Asker) error {
	if s.Journal == nil {
		return errNoJournal
	}
	left, err := s.Journal.LeftOff()
	errs := []error{err}
	damaged, _ := s.Journal.Damaged() // its error is the same
	var nodes []string
	for _, l := range left {
		nodes = append(nodes, l.Node)
	}
	if len(damaged) > 0 {
		off, err := s.unaccounted(ctx)
		nodes = append(nodes, off...)
		if err == nil {
			err = s.mayBeLate(damaged)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: it can't be told from it alone which machines are off: %w", DamageText(s.Journal, damaged), err))
			damaged = nil
		}
	}
	r.Action = ActionOn
	view, _ := s.look(ctx) // without it the journal must do
	r.Nodes = nodes
	all, _ := s.bind(ctx, r, view)
	r.Nodes = nil
	for _, b := range all {
		switch _, err := s.Fleet.Can(b, ActionOn); {
		case !slices.Contains(nodes, b.Node.Name):
		case err != nil:
			errs = append(errs, fmt.Errorf("%s was left off and can't be powered on: %w", b.Node.Name, err))
		default:
			r.Nodes = append(r.Nodes, b.Node.Name)
		}
	}
	if len(r.Nodes) > 0 {
		if err := s.Switch(ctx, r, ask); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	errs = append(errs, s.Journal.Acknowledge(damaged, "every machine was looked at"))
	return errors.Join(errs...)
}

// noJournal says why the journal can't be relied on; empty when it can.
func (s *Switcher) noJournal() string {
	if s.Journal == nil {
		return "there is no journal"
	}
	if err := s.Journal.Unwritable(); err != nil {
		return err.Error()
	}
	switch damaged, err := s.Journal.Damaged(); {
	case err != nil:
		return err.Error()
	case len(damaged) > 0:
		return DamageText(s.Journal, damaged) + ", so a machine may be off or go off that counts as left; run `" + cmp.Or(s.WayBack, "lightsout restore") + "`, which looks at every machine and settles it"
	}
	return ""
}

// DamageText says what is the matter with a journal's damaged lines.
func DamageText(j *Journal, damaged []Entry) string {
	text := fmt.Sprintf("%d lines of the journal %s are damaged", len(damaged), j.Path())
	if len(damaged) == 1 {
		text = fmt.Sprintf("a line of the journal %s is damaged", j.Path())
	}
	var nodes []string
	for _, d := range damaged {
		if d.Node != "" && !slices.Contains(nodes, d.Node) {
			nodes = append(nodes, d.Node)
		}
	}
	if len(nodes) > 0 {
		text += ", perhaps about " + strings.Join(nodes, ", ")
	}
	return text
}

// mayBeLate says that what damaged lines told may still be carried out.
func (s *Switcher) mayBeLate(damaged []Entry) error {
	for _, d := range damaged {
		at := d.At
		if at.IsZero() { // nothing was written since: from now on something is
			at = time.Now()
			if err := s.Journal.Acknowledge([]Entry{{Op: "noticed-" + d.Op}}, "a damaged line was noticed"); err != nil {
				return err
			}
		}
		if until := at.Add(s.Journal.carriedOut); time.Now().Before(until) {
			return fmt.Errorf("a machine may still go off by what it told until %s; restore again then", until.Local().Format("15:04:05"))
		}
	}
	return nil
}

// unaccounted asks every machine of the cluster for its state, and names the
// nodes of those that are off. An error says that not all could be asked.
func (s *Switcher) unaccounted(ctx context.Context) (off []string, err error) {
	view, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	var unread []string
	for _, r := range s.Fleet.Read(ctx, s.Fleet.Resolve(ctx, view.refs())) {
		switch r.State {
		case Off, Transitioning:
			off = append(off, r.Node)
		case Unknown:
			unread = append(unread, r.Node)
		}
	}
	if len(unread) > 0 {
		err = fmt.Errorf("the machines of these nodes don't tell their state: %s", strings.Join(unread, ", "))
	}
	return off, err
}

// Evidence is what a reading of a binding's machine says of the operations on
// it; ok is false unless it proves the machine to be on.
func (f *Fleet) Evidence(b Binding, r Reading) (seen Seen, ok bool) {
	m, ok := f.stateMachine(b)
	if !ok || r.State != On || r.Proof != Proven {
		return Seen{}, false
	}
	return Seen{
		Node: NodeRef{Name: b.Node.Name}, Machine: &m, ProvesOff: f.drivers[m.Driver].Abilities().ProvesOff,
		At: r.At, Text: fmt.Sprintf("%s is on (%s)", m.Title(), r.Detail),
	}, true
}
