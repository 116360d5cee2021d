package tui

import (
	"lightsout/internal/view"
	"time"

	tea "charm.land/bubbletea/v2"
)

// dialog is something that lies over the panes and takes the keys. The topmost
// one of the stack does.
type dialog interface {
	// title is drawn into its frame, foot at its bottom.
	title() string
	foot() string
	// draw gives the lines inside the frame, at most w cells wide and h high,
	// each exactly as wide as the value it gives.
	draw(s *scene, w, h int) (lines []string, wide int)
	// press takes a key. done closes the dialog.
	press(msg tea.KeyPressMsg) (intent view.Intent, done bool)
	// paste takes pasted text.
	paste(text string)
}

// Keys typed before a question was on the screen were meant for something
// else: they are absorbed until the keyboard was quiet for graceQuiet, but no
// longer than graceMost.
const (
	graceQuiet = 400 * time.Millisecond
	graceMost  = 1500 * time.Millisecond
)

// grace absorbs keystrokes that were on their way when a question came up.
type grace struct {
	drawn, last time.Time // zero before it was drawn
	over        bool
}

// shown notes that the question is on the screen.
func (g *grace) shown(now time.Time) {
	if g.drawn.IsZero() {
		g.drawn, g.last = now, now
	}
}

// absorbs reports whether a key pressed now must be ignored.
func (g *grace) absorbs(now time.Time) bool {
	if g.over {
		return false
	}
	if g.drawn.IsZero() {
		return true
	}
	if now.Sub(g.last) >= graceQuiet || now.Sub(g.drawn) >= graceMost {
		g.over = true
		return false
	}
	g.last = now
	return true
}

// frameDialog draws a dialog with its frame and gives where it goes in w x h.
func frameDialog(s *scene, d dialog, w, h int) (lines []string, x, y, wide int) {
	t := s.t
	inW, inH := min(w-6, 100), h-4
	body, wide := d.draw(s, inW, inH)
	foot, footWidth := "", 0
	title := t.text(d.title())
	if f := t.text(d.foot()); f != "" {
		f = " " + fit(f, inW-4, t.ellipsis) + " "
		foot, footWidth = string(t.dim)+f+reset, width(f)
	}
	if need := min(inW, max(width(title)+6, footWidth+4)); need > wide {
		for i := range body {
			body[i] += blank(need - wide)
		}
		wide = need
	}
	if len(body) > inH {
		body = body[:max(inH, 0)]
	}
	for i, l := range body {
		body[i] = " " + l + " "
	}
	wide += 4
	lines = drawBox(t, wide, []section{{title: title, lines: body, focus: true}}, foot, footWidth)
	return lines, (w - wide) / 2, max(0, (h-len(lines))/2), wide
}
