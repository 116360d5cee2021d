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
	r := t.rows[rowKey{name, subject}]
	if r == nil {
		return p
	}
	p.Unaffected = r.unaffected && (name != view.PhaseEvicted || r.observed.IsZero())
	p.Before, p.HiddenFrom = r.before, offset(t, r.hiddenFrom)
	p.Predicted, p.First = offsets(t, r.predicted), offsets(t, r.first)
	p.Observed, p.Source, p.From = offset(t, r.observed), offset(t, r.source), offset(t, r.from)
	if p.Predicted != nil && p.Observed != nil {
		p.Inside = r.inside()
	}
	notes := slices.Clone(r.notes)
	if name == view.PhaseErrors && !r.observed.IsZero() && t.failures.all.Unrecovered() {
		notes = append(notes, "nobody saw the failures end")
		if p.Inside != nil && *p.Inside {
			p.Inside = nil // its end is still to come
		}
	}
	if r.observed.IsZero() {
		if r.why != "" {
			notes = append(notes, r.why)
		} else if text := t.overtaken(name, subject); text != "" {
			notes = append(notes, text)
		}
	}
	p.Note = strings.Join(notes, "; ")
	return p
}

// inside reports whether it happened in its forecast; nil if a blind span makes that unknown.
func (r *row) inside() *bool {
	i := r.predicted
	if r.coarse {
		i.From = i.From.Add(-time.Second)
	}
	first, last := r.earliest(), r.observed
	in := i.Contains(first) && i.Contains(last)
	if in || first.Equal(last) || last.Before(i.From) || first.After(i.To) {
		return &in
	}
	return nil
}

// overtaken explains why a phase of the outage did not come: the node returned before.
func (t *Tracker) overtaken(name, subject string) string {
	n := t.nodes[subject]
	if n == nil || !returned(t, n) {
		return ""
	}
	switch name {
	case view.PhaseDetected, view.PhaseEndpointsOut, view.PhaseTainted, view.PhaseEvicted:
		return "the node was back before"
	}
	return ""
}

// offset is in seconds from zero, to the millisecond; nil for no time.
func offset(t *Tracker, at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	s := math.Round(float64(at.Sub(t.zero))/1e6) / 1e3
	return &s
}

// offsets are the ends of an interval; nil if one of them is unknown.
func offsets(t *Tracker, i forecast.Interval) *[2]float64 {
	if i.From.IsZero() || i.To.IsZero() {
		return nil
	}
	return &[2]float64{*offset(t, i.From), *offset(t, i.To)}
}
