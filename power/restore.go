package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/text"
)

// SettleDamage settles the damaged lines of the journal, in which machines that are off may be
// missing: it polls every machine of the cluster. The error is the reason why it can't: a machine
// reports no state, or is off without a reason. Reasons are the journal, another operator's annotation, and
// that the operator wants to leave it off.
func (s *Switcher) SettleDamage(ctx context.Context, leaveOff []string) error {
	damaged, err := s.Fleet.journal.Damaged()
	if err != nil || len(damaged) == 0 {
		return err
	}
	off, err := s.Unaccounted(ctx)
	if err != nil {
		err = fmt.Errorf("lightsout can't tell which machines are off: %w", err)
	}
	var unnamed []string
	for _, o := range off {
		if (o.Note == (Note{}) || s.ours(o.Note)) && !slices.Contains(leaveOff, o.Node) {
			unnamed = append(unnamed, o.Node)
		}
	}
	if len(unnamed) > 0 {
		err = errors.Join(fmt.Errorf("these machines are off, and neither journal nor annotation explains why: %s; name those to power on: %s %s",
			strings.Join(unnamed, ", "), s.Fleet.cfg.WayBack, strings.Join(unnamed, " ")), err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", DamageText(s.Fleet.journal, damaged), err)
	}
	for _, d := range damaged {
		if until := d.At.Add(s.Fleet.journal.left.carriedOut); time.Now().Before(until) {
			return fmt.Errorf("%s: an earlier request may still switch a machine off until %s; run restore again then", DamageText(s.Fleet.journal, damaged), until.Local().Format("15:04:05"))
		}
	}
	return s.Fleet.journal.acknowledge(damaged, "lightsout polled every machine")
}

// noJournal returns the reason why the journal is unreliable, with the command in it that makes it reliable;
// empty if it is reliable, or no command does.
func (s *Switcher) noJournal() (why, settles string) {
	if err := s.Fleet.journal.unwritable; err != nil {
		return err.Error(), ""
	}
	switch damaged, err := s.Fleet.journal.Damaged(); {
	case err != nil:
		return err.Error(), ""
	case len(damaged) > 0:
		settles = s.Fleet.cfg.WayBack
		return DamageText(s.Fleet.journal, damaged) + ", so a machine that counts as left may be off or go off; run `" + settles + "`, which polls every machine and settles the journal", settles
	}
	return "", ""
}

// DamageText describes the damaged lines of a journal.
func DamageText(j *Journal, damaged []Entry) string {
	return fmt.Sprintf("the journal %s has %s", j.Path(), text.Count(len(damaged), "damaged line", "damaged lines"))
}

// Unaccounted polls every machine of the cluster, and returns those that are off but not in the journal, by
// node, with the annotation that names who switched it off; zero if none does. The error reports machines
// that it could not poll; the result still has the others.
func (s *Switcher) Unaccounted(ctx context.Context) (off []NodeNote, err error) {
	state, err := s.state(ctx, false)
	if err != nil {
		return nil, err
	}
	left := s.leftOff()
	var unread []string
	_, readings := s.Fleet.FindAndRead(ctx, state.refs())
	for _, r := range readings {
		switch {
		case r.State == Unknown:
			unread = append(unread, r.Node)
		case r.State != On && left[r.Node] == nil:
			o := NodeNote{Node: r.Node}
			if notes := state.node(r.Node).Notes; len(notes) > 0 {
				o.Note = notes[max(0, slices.IndexFunc(notes, s.ours))]
			}
			off = append(off, o)
		}
	}
	if len(unread) > 0 {
		err = fmt.Errorf("the machines of these nodes report no state: %s", strings.Join(unread, ", "))
	}
	return off, err
}
