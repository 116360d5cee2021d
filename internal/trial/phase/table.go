package phase

import (
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/view"
)

// Table gives all rows in the order of view.PhaseNames, then by subject. It is
// empty before there is a zero.
func (t *Tracker) Table() []view.Phase {
	if t.zero.IsZero() {
		return nil
	}
	t.forecastFirst()
	t.forecastErrors()
	var out []view.Phase
	for _, name := range view.PhaseNames {
		var subjects []string
		switch name {
		case view.PhaseErrors:
			subjects = []string{Load}
		case view.PhaseReplaced, view.PhaseRestored:
			if t.deployment != (cluster.Key{}) && len(t.names) > 0 {
				subjects = []string{t.deployment.String()}
			}
		default:
			subjects = t.names
		}
		for _, subject := range subjects {
			out = append(out, t.phase(name, subject))
		}
	}
	return out
}

func (t *Tracker) phase(name, subject string) view.Phase {
	p := view.Phase{Name: name, Subject: subject}
	r := t.row(name, subject)
	if r == nil {
		return p
	}
	p.Before = r.before
	p.Predicted, p.First = offsets(t, r.predicted), offsets(t, r.first)
	p.Observed, p.Source, p.From = offset(t, r.when.By), offset(t, r.source), offset(t, r.from)
	if !r.when.Exact() {
		p.HiddenFrom = offset(t, r.when.After)
	}
	if p.Predicted != nil && p.Observed != nil {
		p.Inside = r.inside()
	}
	notes := slices.Clone(r.notes)
	if name == view.PhaseErrors && r.seen() && t.failures.all.Findings(t.Outages()).Unrecovered {
		notes = append(notes, "no 10 s of success followed")
		if p.Inside != nil && *p.Inside {
			p.Inside = nil // its end is still to come
		}
	}
	n := t.nodes[subject]
	switch {
	case r.seen():
	case r.why != "":
		notes = append(notes, r.why)
	case n != nil && n.returned() && name != view.PhaseOff && name != view.PhaseBooted && name != view.PhaseReady:
		notes = append(notes, "the node was back before")
	}
	p.Note = strings.Join(notes, "; ")
	return p
}

// inside reports whether it happened in its forecast; nil if that is unknown.
func (r *row) inside() *bool {
	i, w := r.predicted, r.when
	in := i.Contains(w.After) && i.Contains(w.By)
	if in || w.Exact() || w.By.Before(i.From) || w.After.After(i.To) {
		return &in
	}
	return nil
}

// offset is in seconds from zero, to the millisecond; nil for no time.
func offset(t *Tracker, at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	return new(math.Round(float64(at.Sub(t.zero))/1e6) / 1e3)
}

// offsets are the ends of an interval; nil if one of them is unknown.
func offsets(t *Tracker, i forecast.Interval) *[2]float64 {
	if i.From.IsZero() || i.To.IsZero() {
		return nil
	}
	return &[2]float64{*offset(t, i.From), *offset(t, i.To)}
}
