package tui

import "slices"

// The smallest screen that can be drawn, the smallest that has room for more
// than the active pane, and the smallest on which all panes stand side by
// side.
const (
	minWidth, minHeight     = 40, 10
	smallWidth, smallHeight = 60, 15
	wideWidth, wideHeight   = 76, 22
)

// size is the room inside a pane's frame.
type size struct{ w, h int }

// placed is a pane with its room.
type placed struct {
	*openPane
	size
}

// layout holds the visible panes and their sizes: two columns above, and below them
// panes over the whole width. Small screens have only those.
type layout struct {
	left, right, lower []placed
}

// shows reports whether a pane is on the screen.
func (l layout) shows(p *openPane) bool {
	return slices.ContainsFunc(slices.Concat(l.left, l.right, l.lower), func(q placed) bool { return q.openPane == p })
}

// arrange divides w x h cells (header, banner, scrubber and keys already taken off)
// among the panes.
func (m *Model) arrange(w, h int) layout {
	s := &m.s
	if m.zoom || m.active.place == placeWhole || w < smallWidth || s.h < smallHeight {
		return layout{lower: []placed{{m.active, size{w - 2, h - 2}}}}
	}
	lower := m.placed(placeLower)
	if m.active.place == placeLower && !slices.Contains(lower, m.active) {
		lower[len(lower)-1] = m.active
	}
	if w < wideWidth || s.h < wideHeight {
		return layout{lower: m.divide(m.stacked(w, lower), w-2, h-1)}
	}
	half := min(max(w*48/100, min(w/2+2, 42)), 100)
	switch {
	case w >= 190: // the nodes have room enough; names of pods are long
		half = min(w*45/100, 100)
	case w >= 130:
		half = w / 2
	}
	left, right := m.placed(placeLeft), m.placed(placeRight)
	lw, rw := half-2, w-half-2
	// The lists grow in steps of four, within a share.
	share := 38
	for _, p := range lower {
		switch n := p.want(s, w-2); {
		case n.share == 0 && p.least == 0:
			share += 18 // there is no load
		case p.least > 0:
			share -= 8
		}
	}
	need := max(height(s, left, lw), height(s, right, rw))
	upper := min(max(8, h*share/100), max(8, (need+3)/4*4))
	return layout{m.divide(left, lw, upper), m.divide(right, rw, upper), m.divide(lower, w-2, h-upper-1)}
}

// stacked are the panes of small screens: one list above the others.
func (m *Model) stacked(w int, lower []*openPane) []*openPane {
	s := &m.s
	if s.h < 20 {
		keep := lower[len(lower)-1]
		if i := slices.IndexFunc(lower, func(p *openPane) bool { return p.want(s, w-2).share > 0 }); i >= 0 {
			keep = lower[i]
		}
		if m.active.place == placeLower {
			keep = m.active
		}
		lower = []*openPane{keep}
	}
	return append([]*openPane{m.list}, lower...)
}

// placed gives the panes of a place that have room and something to show.
func (m *Model) placed(at place) []*openPane {
	var out []*openPane
	for _, p := range m.panes {
		if p.place == at && p.least <= m.s.h && p.isThere(m.s.f) {
			out = append(out, p)
		}
	}
	return out
}

// height is what panes below each other could use, titles included.
func height(s *scene, panes []*openPane, w int) int {
	n := 0
	for _, p := range panes {
		n += 1 + p.want(s, w).most
	}
	return n
}

// divide gives panes below each other their heights, of h lines with their titles: each its least, then the rest by their shares.
func (m *Model) divide(panes []*openPane, w, h int) []placed {
	out := make([]placed, len(panes))
	wants := make([]want, len(panes))
	h -= len(panes)
	for i, p := range panes {
		wants[i] = p.want(&m.s, w)
		if p == m.active {
			wants[i].share *= 2
		}
		h -= min(wants[i].least, 2) // which no pane before it takes
	}
	for i, p := range panes {
		h += min(wants[i].least, 2)
		out[i] = placed{p, size{w, min(wants[i].least, max(h, 0))}}
		h -= out[i].h
	}
	for h > 0 {
		shares, last, given := 0, len(out)-1, 0
		for i, want := range wants {
			if out[i].h < want.most && want.share > 0 {
				shares, last = shares+want.share, i
			}
		}
		for i, want := range wants {
			n := min(h*want.share/max(shares, 1), max(want.most-out[i].h, 0))
			out[i].h += n
			given += n
		}
		if given == 0 { // less than a line for each, or all have enough
			out[last].h += h
			break
		}
		h -= given
	}
	return out
}
