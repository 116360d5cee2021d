package tui

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/view"
)

// dialog is something that lies over the panes and takes the keys.
type dialog interface {
	// title is drawn into its frame, foot at its bottom.
	title() string
	foot() string
	// draw gives the lines inside the frame, at most w cells wide and h high,
	// each exactly as wide as the value it gives.
	draw(s *scene, w, h int) (lines []string, wide int)
	// press handles a key or pasted text. done closes the dialog.
	press(p pressed) (intent view.Intent, done bool)
}

// dialogs is the stack of dialogs over the panes, and over it the question to the operator, which leaves
// the keys to a dialog into which the operator types. The topmost receives the keys.
type dialogs struct {
	stack    []dialog
	asked    *questionDialog // nil: none
	answered map[string]bool // questions, by their ids
	now      func() time.Time
}

// open puts a dialog on top.
func (s *dialogs) open(d dialog) { s.stack = append(s.stack, d) }

// shown are the dialogs on the screen, the topmost last.
func (s *dialogs) shown() []dialog {
	if n := len(s.stack); s.asked == nil || n > 0 && !readsOnly(s.stack[n-1]) {
		return s.stack
	}
	return append(slices.Clip(s.stack), s.asked)
}

// readsOnly reports whether the operator does not type into a dialog.
func readsOnly(d dialog) bool { r, ok := d.(readable); return ok && r.reading() }

// top returns the dialog that receives the keys; nil if there is none.
func (s *dialogs) top() dialog {
	if all := s.shown(); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

func (s *dialogs) close(d dialog) {
	if d == s.asked {
		s.answered[s.asked.q.ID], s.asked = true, nil
	}
	s.stack = slices.DeleteFunc(s.stack, func(o dialog) bool { return o == d })
}

// inspect returns the object that the session has to read for the topmost dialog.
func (s *dialogs) inspect() view.Inspect {
	for _, d := range slices.Backward(s.stack) {
		if o, ok := d.(interface{ inspect() view.Inspect }); ok {
			return o.inspect()
		}
	}
	return view.Inspect{}
}

// question opens, renews or closes the dialog of the frame's question.
func (s *dialogs) question(q *view.Question) {
	switch {
	case q != nil && s.asked != nil && s.asked.q.ID == q.ID:
		s.asked.renew(q)
	case q == nil || s.answered[q.ID]:
		s.asked = nil
	default:
		s.asked = &questionDialog{q: q, in: newInput(q.Secret), now: s.now}
		s.asked.begin()
	}
}

// hidden notes that the screen does not show the question: it takes no answer until it
// has been seen again.
func (s *dialogs) hidden() {
	if s.asked != nil {
		s.asked.grace = grace{}
	}
}

// draw lays the dialogs over the lines of the screen.
func (s *dialogs) draw(sc *scene, lines []string, w, h int) []string {
	if s.top() != s.asked {
		s.hidden()
	}
	for _, d := range s.shown() {
		box, x, y, wide := frameDialog(sc, d, w, h)
		lines = over(sc.t, lines, box, w, x, y, wide)
	}
	return lines
}

// graceFor is how long a question absorbs the keys once it is on the screen, and after each key that it has absorbed:
// they were meant for something else, and keys in a row are absorbed together or not at all.
const graceFor = 500 * time.Millisecond

// grace absorbs keystrokes that were on their way when a question came up.
type grace struct {
	drawn time.Time // zero before it was drawn
	early time.Time // of the last key, if that was absorbed
}

// shown notes that the question is on the screen.
func (g *grace) shown(now time.Time) { g.drawn = cmp.Or(g.drawn, now) }

// absorbs reports whether a key pressed now must be ignored.
func (g *grace) absorbs(now time.Time) bool {
	if g.drawn.IsZero() || now.Sub(g.drawn) < graceFor || now.Sub(g.early) < graceFor {
		g.early = now
		return true
	}
	g.early = time.Time{}
	return false
}

// absorbed reports whether the last key was ignored.
func (g *grace) absorbed() bool { return !g.early.IsZero() }

// frameDialog draws a dialog with its frame and gives where it goes in w x h.
func frameDialog(s *scene, d dialog, w, h int) (lines []string, x, y, wide int) {
	t := s.t
	inW, inH := w-6, h-4
	body, had := d.draw(s, inW, inH)
	top := drawing{title: t.text(d.title())}
	if p, ok := d.(interface{ position(t *theme) string }); ok {
		top.sight = p.position(t)
	}
	foot := span{t.dim, " " + fit(t.text(d.foot()), inW-4, t.ellipsis) + " "}
	wide = max(had, min(inW, max(width(top.title+top.sight)+8, width(foot.s)+4)))
	body = body[:min(len(body), max(inH, 0))]
	top.lines = body
	for i, l := range body {
		body[i] = " " + l + blank(wide-had) + " "
	}
	wide += 4
	lines = drawBox(t, wide, []section{{drawing: top, active: true}}, true, foot)
	return lines, (w - wide) / 2, max(0, (h-len(lines))/2), wide
}
