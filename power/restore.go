package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Restore powers on the machines that this journal lists as off for its cluster: those
// of the nodes in r, or all if r names none. A machine that it cannot power on does not
// delay the others. It needs the drivers, and a view of the cluster only for nodes
// whose machine the journal does not name. It ignores r's action.
//
// Where lines of the journal are damaged, machines that are off may be missing from it.
// Restore powers such a machine on only if r names it or, when r names none, if an
// annotation proves that this journal switched it off; see Unaccounted. It settles the damage once each such machine is powered on, is in
// r.LeaveOff, or carries another operator's annotation. The machines of r and of the journal
// do not wait for those polls: Restore may call ask from two goroutines, but not r.Report.
func (s *Switcher) Restore(ctx context.Context, r Request, ask Asker) error {
	if s.Journal == nil {
		return errNoJournal
	}
	left, err := s.Journal.LeftOff()
	damaged, _ := s.Journal.Damaged() // its error is the same
	r.Action = ActionOn
	all := r.Nodes == nil
	for _, l := range left {
		if all {
			r.Nodes = append(r.Nodes, l.Node)
		}
	}
	if len(damaged) == 0 {
		return errors.Join(err, s.switchAny(ctx, r, ask))
	}
	if report := r.Report; report != nil {
		var mu sync.Mutex
		r.Report = func(p Progress) { mu.Lock(); defer mu.Unlock(); report(p) }
	}
	known := make(chan error, 1)
	go func() { known <- s.switchAny(ctx, r, ask) }() // polls may take long
	missing := s.restoreMissing(ctx, r, damaged, all, ask)
	if failed := errors.Join(<-known, missing); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, s.Journal.Acknowledge(damaged, "lightsout polled every machine"))
}

// switchAny is Switch, which it does not call for no nodes.
func (s *Switcher) switchAny(ctx context.Context, r Request, ask Asker) error {
	if len(r.Nodes) == 0 {
		return nil
	}
	return s.Switch(ctx, r, ask)
}

// restoreMissing powers on the machines that this journal switched off and that are not in
// r, if all is true. The error is the reason why the damage cannot be settled.
func (s *Switcher) restoreMissing(ctx context.Context, r Request, damaged []Entry, all bool, ask Asker) error {
	off, err := s.unaccounted(ctx, r.Nodes)
	missing := r
	missing.Nodes = nil
	for _, o := range off {
		if all && o.Ours {
			missing.Nodes = append(missing.Nodes, o.Node)
		}
	}
	r.Nodes = missing.Nodes
	if err = s.accounted(r, damaged, off, err); err != nil {
		err = fmt.Errorf("%s: %w", DamageText(s.Journal, damaged), err)
	}
	return errors.Join(err, s.switchAny(ctx, missing, ask))
}

// accounted returns an error unless lightsout knows a reason for each machine that is
// off.
func (s *Switcher) accounted(r Request, damaged []Entry, off []OffMachine, err error) error {
	var unnamed []string
	for _, o := range off {
		if (o.By == (Note{}) || o.Ours) && !slices.Contains(r.Nodes, o.Node) && !slices.Contains(r.LeaveOff, o.Node) {
			unnamed = append(unnamed, o.Node)
		}
	}
	var found error
	if len(unnamed) > 0 {
		found = fmt.Errorf("these machines are off, and neither journal nor annotation explains why: %s; name those to power on: %s %s",
			strings.Join(unnamed, ", "), cmp.Or(s.WayBack, s.Fleet.cfg.WayBack), strings.Join(unnamed, " "))
	}
	switch {
	case err != nil && found != nil: // one machine without a state hides no other
		return fmt.Errorf("%w; lightsout can't tell whether others are off: %w", found, err)
	case err != nil:
		return fmt.Errorf("lightsout can't tell which machines are off: %w", err)
	case found != nil:
		return found
	}
	return s.mayBeLate(damaged)
}

// noJournal returns the reason why the journal is unreliable; empty if it is reliable.
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
		return DamageText(s.Journal, damaged) + ", so a machine that counts as left may be off or go off; run `" + cmp.Or(s.WayBack, s.Fleet.cfg.WayBack) + "`, which polls every machine and settles the journal"
	}
	return ""
}

// DamageText describes the damaged lines of a journal.
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

// mayBeLate reports that a power API may still carry out the requests of damaged lines.
func (s *Switcher) mayBeLate(damaged []Entry) error {
	for _, d := range damaged {
		at := d.At
		if at.IsZero() { // nothing was written since: from now on something is
			at = time.Now()
			if err := s.Journal.Acknowledge([]Entry{{Op: "noticed-" + d.Op}}, "a damaged line was found"); err != nil {
				return err
			}
		}
		if until := at.Add(s.Journal.left.carriedOut); time.Now().Before(until) {
			return fmt.Errorf("an earlier request may still switch a machine off until %s; run restore again then", until.Local().Format("15:04:05"))
		}
	}
	return nil
}

// OffMachine is a node whose machine is off although the journal does not list it. By
// names, according to the annotation, who switched it off; it is zero if unknown. Ours: this journal did.
type OffMachine struct {
	Node string
	By   Note
	Ours bool
}

// Unaccounted polls every machine of the cluster, and returns those that are off but
// not in the journal, by node. The error reports machines that it could not poll; the
// result still has the others.
func (s *Switcher) Unaccounted(ctx context.Context) (off []OffMachine, err error) {
	return s.unaccounted(ctx, nil)
}

// unaccounted is Unaccounted without the machines of these nodes.
func (s *Switcher) unaccounted(ctx context.Context, without []string) (off []OffMachine, err error) {
	state, err := s.state(ctx, false)
	if err != nil {
		return nil, err
	}
	left := s.leftOff()
	notes := map[string]Note{}
	for _, n := range state.Nodes {
		for _, m := range n.Notes {
			if notes[n.Name] == (Note{}) || s.notes().ours(m) {
				notes[n.Name] = m
			}
		}
	}
	var unread []string
	bindings := slices.DeleteFunc(s.Fleet.Resolve(ctx, state.refs()), func(b Binding) bool { return slices.Contains(without, b.Node.Name) })
	for _, r := range s.Fleet.Read(ctx, bindings) {
		switch {
		case r.State == Unknown:
			unread = append(unread, r.Node)
		case r.State != On && left[r.Node] == nil:
			by := notes[r.Node]
			off = append(off, OffMachine{Node: r.Node, By: by, Ours: s.notes().ours(by)})
		}
	}
	if len(unread) > 0 {
		err = fmt.Errorf("the machines of these nodes report no state: %s", strings.Join(unread, ", "))
	}
	return off, err
}
