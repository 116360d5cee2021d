package tui

// paneID names a pane.
type paneID int

const (
	paneNodes paneID = iota
	paneDeployments
	panePods
	paneRequests
	paneTimeline
	paneTrial
	paneCount
)

// The smallest screen that can be drawn, and the smallest on which all panes
// stand side by side.
const (
	minWidth, minHeight   = 60, 15
	wideWidth, wideHeight = 76, 22
)

// size is the room inside a pane's frame.
type size struct{ w, h int }

// The height from which the trial has a pane of its own, and from which that
// pane shows more than what is under way.
const (
	trialHeight     = 29
	trialMoreHeight = 44
)

// wish is what the layout depends on beside the screen's size. list is the list
// pane that a small screen shows; deployments and items are how many rows the
// lists above could use.
type wish struct {
	focus, list        paneID
	zoom, trial        bool
	deployments, items int
}

// layout says which panes are shown and how large they are.
type layout struct {
	// stacked: one list at a time above requests and timeline, for small
	// screens; otherwise all panes.
	stacked bool
	panes   map[paneID]size
	left    int // width of the Nodes box, frame included
}

// shows reports whether a pane is on the screen.
func (l layout) shows(p paneID) bool { _, ok := l.panes[p]; return ok }

// arrange divides w x h cells (header, banner and scrubber already taken off)
// among the panes.
func arrange(w, h int, want wish) layout {
	in := w - 2
	switch {
	case want.zoom:
		return layout{stacked: true, panes: map[paneID]size{want.focus: {in, h - 2}}}
	case w < wideWidth || h < wideHeight-2:
		return stack(in, h, want.focus, want.list)
	}
	left := min(max(w*46/100, 40), 84)
	right := w - left - 2
	trial, share := 0, 38
	if want.trial && h >= trialHeight {
		trial, share = 2, 30
		if h >= trialMoreHeight {
			trial = h / 5
		}
	}
	// The lists get what they need in steps of four, within a share.
	most := max(8, h*share/100)
	top := min(most, max(8, (max(want.items, 1)+want.deployments+6)/4*4+4))
	rows := min(max(want.deployments, 1), max(1, (top-3)/3))
	rest := h - top - 3
	if trial > 0 {
		rest -= trial + 1
	}
	requests := min(max(rest*70/100, min(rest-3, 7)), 26)
	l := layout{left: left, panes: map[paneID]size{
		paneNodes:       {left - 2, top - 2},
		paneDeployments: {right, rows},
		panePods:        {right, top - 3 - rows},
		paneRequests:    {in, requests},
		paneTimeline:    {in, rest - requests},
	}}
	switch {
	case trial > 0:
		l.panes[paneTrial] = size{in, trial}
	case want.focus == paneTrial: // in the timeline's place
		l.panes[paneTrial] = l.panes[paneTimeline]
		delete(l.panes, paneTimeline)
	}
	return l
}

// stack is the layout of small screens.
func stack(in, h int, focus, list paneID) layout {
	panes := map[paneID]size{}
	if h >= 18 {
		rest := h - 4
		requests := max(4, rest*4/10)
		timeline := max(3, rest*2/10)
		lower := paneTimeline
		if focus == paneTimeline || focus == paneTrial {
			requests, timeline, lower = 3, max(4, rest*4/10), focus
		}
		panes[paneRequests] = size{in, requests}
		panes[lower] = size{in, timeline}
		panes[list] = size{in, rest - requests - timeline}
		return layout{stacked: true, panes: panes}
	}
	rest := h - 3
	lower, rows := paneRequests, rest/2
	if focus == paneTimeline || focus == paneTrial {
		lower = focus
	}
	panes[list] = size{in, rows}
	panes[lower] = size{in, rest - rows}
	return layout{stacked: true, panes: panes}
}
