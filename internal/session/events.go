package session

import (
	"strings"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// lanes names the timeline's lane of each aspect that can change.
var lanes = map[string]string{
	"heartbeat": "heartbeat", "taint": "taint", "endpoints": "endpoints", "event": "event",
}

// eventOf puts a transition into the words of the timeline.
func eventOf(t cluster.Transition) view.Event {
	lane := lanes[t.What]
	if lane == "" {
		lane = string(t.Subject.Kind)
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
		text = t.What
	case t.From == "":
		text = t.To
	case t.To == "":
		text = t.From + " gone"
	default:
		text = t.From + " → " + t.To
	}
	switch t.What {
	case "heartbeat":
		text = "heartbeat " + t.To
	case "endpoints", "replicas":
		text += " " + t.Why
	case "status", "event", "node", "boot", "ready":
	default:
		text = t.What + " " + text
	}
	if t.What == "event" && t.Why != "" {
		text += ": " + t.Why
	}
	return text
}

// transitionLevel tells by kubectl's words and our own whether a change is for
// the better or the worse.
func transitionLevel(t cluster.Transition) view.Severity {
	bad := func(w string) bool {
		for _, sign := range []string{"NotReady", "silent", "lost", "overdue", "Down", "Failed", "Error", "BackOff", "Unknown"} {
			if strings.Contains(w, sign) {
				return true
			}
		}
		return false
	}
	switch {
	case bad(t.To):
		return view.Bad
	case bad(t.From), t.To == "Running", t.To == "Ready", t.What == "boot":
		return view.Good
	case t.What == "taint" && t.From == "", t.To == "Scaling", t.To == "Terminating":
		return view.Warning
	}
	return view.Info
}

// phaseLevel says how a step of a power operation is drawn.
func phaseLevel(p power.Phase) view.Severity {
	switch p {
	case power.PhaseDone:
		return view.Good
	case power.PhaseFailed:
		return view.Bad
	case power.PhaseUncertain:
		return view.Warning
	}
	return view.Info
}
