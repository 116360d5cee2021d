package session

import (
	"fmt"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// lanes are those of what has a lane of its own; the others' are their subjects'.
var lanes = map[cluster.Change]view.Lane{
	cluster.ChangeHeartbeat: view.LaneHeartbeat, cluster.ChangeTaint: view.LaneTaint,
	cluster.ChangeEndpoints: view.LaneEndpoints, cluster.ChangeEvent: view.LaneEvent,
}

// eventOf puts a transition into the words of the timeline.
func eventOf(t cluster.Transition) view.Event {
	lane := lanes[t.Kind]
	if lane == "" {
		lane = view.Lane(t.Subject.Kind)
	}
	return view.Event{
		At: t.SourceTime, Seen: t.Seen, Lane: lane, Kind: string(t.Subject.Kind),
		Subject: t.Subject.Name, Text: transitionText(t), Level: transitionLevel(t),
		From: t.From, To: t.To, Why: t.Why,
	}
}

func transitionText(t cluster.Transition) string {
	var text string
	switch {
	case t.From == "" && t.To == "":
		text = string(t.Kind)
	case t.From == "":
		text = t.To
	case t.To == "":
		text = "deleted (was " + t.From + ")"
	default:
		text = t.From + " → " + t.To
	}
	switch t.Kind {
	case cluster.ChangeHeartbeat:
		text = "heartbeat " + t.To
	case cluster.ChangeEndpoints, cluster.ChangeReplicas:
		text += " " + t.Why
	case cluster.ChangeBoot:
		text = "rebooted (new boot ID)"
	case cluster.ChangeTaint:
		if text = "taint " + t.To; t.To == "" {
			text = "taint " + t.From + " gone"
		}
	case cluster.ChangeStatus, cluster.ChangeEvent, cluster.ChangeNode, cluster.ChangeReady:
	default:
		text = string(t.Kind) + " " + text
	}
	if t.Kind == cluster.ChangeEvent && t.Why != "" {
		text += ": " + t.Why
	}
	return text
}

// transitionLevel tells by kubectl's words and our own whether a change is for
// the better or the worse.
func transitionLevel(t cluster.Transition) view.Severity {
	bad := func(w string) bool {
		for _, sign := range []string{cluster.WordNotReady, "silent", "lost", cluster.HeartbeatOverdue, "Down", "Failed", "Error", "BackOff", "Unknown"} {
			if strings.Contains(w, sign) {
				return true
			}
		}
		return false
	}
	switch {
	case bad(t.To):
		return view.Bad
	case bad(t.From), t.To == cluster.WordRunning, t.To == cluster.WordReady, t.Kind == cluster.ChangeBoot:
		return view.Good
	case t.Kind == cluster.ChangeTaint && t.From == "", t.To == "Scaling", t.To == cluster.WordTerminating:
		return view.Warning
	}
	return view.Info
}

// phaseLevel says how a step of a power operation is drawn.
func phaseLevel(p power.Phase) view.Severity {
	return map[power.Phase]view.Severity{power.PhaseDone: view.Good, power.PhaseFailed: view.Bad, power.PhaseUncertain: view.Warning}[p] // else Info
}

// spellEvent is the line of the timeline for a change of what fails; r is the
// request that showed it.
func spellEvent(c loadgen.SpellChange, r *loadgen.Record) view.Event {
	e := view.Event{At: c.At, Lane: view.LaneLoad, Subject: "load", Level: view.Bad}
	share := fmt.Sprintf("%d of %d failed", c.N, c.Of)
	switch c.Kind {
	case loadgen.SpellBegins:
		e.Text = "requests begin to fail: " + string(r.Class)
		if r.Error != "" {
			e.Text += " (" + r.Error + ")"
		}
	case loadgen.SpellPart:
		e.Text = fmt.Sprintf("a part of the requests fails: %.0f %% (%s)", 100*float64(c.N)/float64(c.Of), share)
	case loadgen.SpellEnds:
		e.Level = view.Good
		e.Text = fmt.Sprintf("requests succeed again: %s that were sent within %.1f s", share, c.Last.Sub(c.First).Seconds())
	}
	return e
}
