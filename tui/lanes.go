package tui

import (
	"fmt"
	"slices"
	"time"

	spans "lightsout/internal/outage"
)

// What a node is at one moment, as bits.
const (
	laneOff      = 1 << iota // its machine is off
	laneNotReady             // according to the control plane
)

// lane is one row below the chart: a node's outages, or those of several.
type lane struct {
	name  string
	spans []spans.Span
}

// laneRoom is how many lanes a chart of h lines has room for.
func laneRoom(h int) int { return btoi(h >= 5) + btoi(h >= 8) + 2*btoi(h >= 14) }

// gatherLanes returns a lane for each node with an outage in a chart of w columns, in
// the order in which the outages began.
func gatherLanes(s *scene, w int) []lane {
	from := s.now.Add(-time.Duration(w) * time.Duration(chartSpans[s.span]) * time.Second)
	var out []lane
	index := map[string]int{}
	for _, o := range s.f.Outages {
		if o.Kind == spans.SpanSilent || o.From.After(s.now) || !o.To.IsZero() && o.To.Before(from) {
			continue
		}
		i, known := index[o.Node]
		if !known {
			i = len(out)
			index[o.Node] = i
			out = append(out, lane{name: o.Node})
		}
		out[i].spans = append(out[i].spans, o)
	}
	return out
}

// foldLanes puts those that have no row of their own into the last row, whose name counts the nodes that are down now.
func foldLanes(all []lane, room int) []lane {
	if len(all) <= room || room == 0 {
		return all[:min(len(all), room)]
	}
	rest, down := lane{}, 0
	for _, l := range all[room-1:] {
		rest.spans = append(rest.spans, l.spans...)
		down += btoi(slices.ContainsFunc(l.spans, func(o spans.Span) bool { return o.To.IsZero() }))
	}
	rest.name = fmt.Sprintf("%d/%d down", down, len(all)-room+1)
	return append(slices.Clone(all[:room-1]), rest)
}

// state returns the states of the lane's nodes in a column, as bits.
func (l *lane) state(from, to time.Time) (bits int) {
	for _, o := range l.spans {
		switch {
		case !o.From.Before(to) || !o.To.IsZero() && !o.To.After(from):
		case o.Kind == spans.SpanOff:
			bits |= laneOff
		default:
			bits |= laneNotReady
		}
	}
	return bits
}

// lane draws one lane: shaded while a node is off or not Ready, with the word for it
// where a shade begins.
func (c *chart) lane(l lane, w int) string {
	t := c.t
	cells := make([]span, c.w)
	signs := [...]span{{}, {t.off, t.offOnly}, {t.warn, t.notReady}, {t.off, t.offNotReady}}
	words := [...]string{"", "off", "NotReady", "off, NotReady"}
	states := make([]int, c.w)
	for x := range c.bins {
		end := time.Unix(1<<40, 0)
		if x+1 < c.w {
			end = c.bins[x+1].At
		}
		states[x] = l.state(c.bins[x].At, end)
		cells[x] = signs[states[x]]
	}
	for x, end := 0, 0; x < c.w; x = end {
		for end = x; end < c.w && states[end] == states[x]; end++ {
		}
		text := words[states[x]]
		for i := range text {
			if end-x >= len(text)+2 {
				cells[x+1+i] = span{t.strong, text[i : i+1]}
			}
		}
	}
	return newRow(w).space(1).right(t, t.dim, middle(t.text(l.name), c.label-2, t.ellipsis), c.label-2).space(1).runs(cells).String()
}
