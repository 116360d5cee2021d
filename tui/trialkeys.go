package tui

import (
	"lightsout/internal/view"
	"time"
)

// stepAgain is how long enter is not sent twice for one and the same step.
const stepAgain = 2 * time.Second

// waitingStep tells one waiting step from another.
type waitingStep struct {
	trial   string
	started int64
	index   int
}

// stepGuard sees to it that one press takes one step: keys typed before a
// waiting step was on the screen, or behind a dialog that has just closed,
// were meant for something else, and a second press while the first is on its
// way was meant for the same step.
type stepGuard struct {
	step  waitingStep
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
	step := waitingStep{t.Name, t.Started.UnixNano(), t.Next}
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

// stepWaits reports whether enter is the key of a waiting step.
func (m *Model) stepWaits() bool { return m.step.waits && m.s.f.Replay == nil }

func (m *Model) takeStep() {
	if m.step.take(m.opts.Now()) {
		m.opts.Send(view.NextStep{Step: m.s.f.Trial.Next})
	}
}

// wholeTrial gives the trial the whole screen, or takes it back.
func (m *Model) wholeTrial() {
	switch {
	case m.s.f.Trial == nil && m.s.f.Replay != nil:
		m.say("there is no trial at this moment of the record")
	case m.s.f.Trial == nil:
		m.say("there is no trial: t starts one")
	case m.focus == paneTrial && m.zoom:
		m.focus, m.zoom = m.before, false
	default:
		if m.focus != paneTrial {
			m.before = m.focus
		}
		m.focus, m.zoom = paneTrial, true
	}
}

// askRollout asks for a restart of the deployment under the cursor, or else
// of the one that the load goes to.
func (m *Model) askRollout() {
	if m.s.f.ReadOnly {
		m.say("read-only: a rollout can't be restarted from here")
		return
	}
	dep := m.s.f.Focus
	if m.focus == paneDeployments || m.focus == panePods || dep.Name == "" {
		var ok bool
		if dep, ok = m.selectedDeployment(); !ok {
			return
		}
	}
	m.opts.Send(view.AskRollout{Deployment: dep})
}
