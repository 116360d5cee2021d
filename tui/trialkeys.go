package tui

import (
	"time"

	"lightsout/internal/view"
)

// stepAgain is how long enter is not sent twice for one and the same step.
const stepAgain = 2 * time.Second

// stepGuard sees to it that one press takes one step: keys typed before a
// waiting step was on the screen, or behind a dialog that has just closed,
// were meant for something else, and a second press while the first is on its
// way was meant for the same step.
type stepGuard struct {
	step  [3]any // tells one waiting step from another
	waits bool
	grace grace
	taken time.Time // when it was asked for
	sent  time.Time // when any step was last asked for
}

// follow takes note of the step that waits now.
func (g *stepGuard) follow(t *view.TrialView) {
	if t == nil || !t.Driven || !t.Waiting || t.Verdict != "" {
		g.waits = false
		return
	}
	step := [3]any{t.Name, t.Started.UnixNano(), t.Next}
	if !g.waits || step != g.step {
		*g = stepGuard{step: step, waits: true, sent: g.sent}
	}
}

// uncovered notes that a dialog has closed over it.
func (g *stepGuard) uncovered() { g.grace, g.taken = grace{}, time.Time{} }

// take reports whether a press of enter now takes the step.
func (g *stepGuard) take(now time.Time) bool {
	if g.grace.absorbs(now) || !g.taken.IsZero() && now.Sub(g.taken) < stepAgain {
		return false
	}
	g.taken, g.sent = now, now
	return true
}

// echo reports whether a press of enter now is the second of a double one,
// whose first has taken a step that is under way already.
func (g *stepGuard) echo(now time.Time) bool {
	return !g.waits && !g.sent.IsZero() && now.Sub(g.sent) < stepAgain/2
}
