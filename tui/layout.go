package tui

// paneID names a pane.
type paneID int

const (
	paneNodes paneID = iota
	paneDeployments
	panePods
	paneRequests
	paneTimeline
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

// arrange divides w x h cells (header and banner already taken off) among the
// panes. list is the list pane that a small screen shows; deployments and
// items are how many rows the lists above could use.
func arrange(w, h int, focus, list paneID, zoom bool, deployments, items int) layout {
	in := w - 2
	switch {
	case zoom:
		return layout{stacked: true, panes: map[paneID]size{focus: {in, h - 2}}}
	case w < wideWidth || h < wideHeight-1:
		return stack(in, h, focus, list)
	}
	left := min(max(w*46/100, 40), 84)
	right := w - left - 2
	// The lists get what they need in steps of four, within a share.
	most := max(8, h*38/100)
	top := min(most, max(8, (max(items, 1)+deployments+6)/4*4+4))
	rows := min(max(deployments, 1), max(1, (top-3)/3))
	rest := h - top - 3
	requests := min(max(rest*62/100, 6), 26)
	return layout{left: left, panes: map[paneID]size{
		paneNodes:       {left - 2, top - 2},
		paneDeployments: {right, rows},
		panePods:        {right, top - 3 - rows},
		paneRequests:    {in, requests},
		paneTimeline:    {in, rest - requests},
	}}
}

// stack is the layout of small screens.
func stack(in, h int, focus, list paneID) layout {
	panes := map[paneID]size{}
	if h >= 18 {
		rest := h - 4
		requests := max(4, rest*4/10)
		timeline := max(3, rest*2/10)
		if focus == paneTimeline {
			requests, timeline = 3, max(4, rest*4/10)
		}
		panes[paneRequests] = size{in, requests}
		panes[paneTimeline] = size{in, timeline}
		panes[list] = size{in, rest - requests - timeline}
		return layout{stacked: true, panes: panes}
	}
	rest := h - 3
	lower, rows := paneRequests, rest/2
	if focus == paneTimeline {
		lower = paneTimeline
	}
	panes[list] = size{in, rows}
	panes[lower] = size{in, rest - rows}
	return layout{stacked: true, panes: panes}
}
