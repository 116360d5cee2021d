package session

import (
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// phaseLevel returns the level of a step of a power operation.
func stageLevel(p power.Stage) view.Level {
	return map[power.Stage]view.Level{power.StageDone: view.Good, power.StageFailed: view.Bad, power.StageUncertain: view.Warning}[p] // else Info
}

// spellEvent returns the timeline's event for a change of failures; r is the request
// that revealed it.
func spellEvent(c loadgen.SpellChange, r *loadgen.Record) view.Event {
	var e view.Event
	switch c.Kind {
	case loadgen.SpellBegins:
		e = view.NewEvent(view.CodeRequestsFail, "load", view.Facts{Class: r.Class, Reported: r.Error})
	case loadgen.SpellPart:
		e = view.NewEvent(view.CodeRequestsPartFail, "load", view.Facts{N: c.N, Of: c.Of})
	case loadgen.SpellEnds:
		e = view.NewEvent(view.CodeRequestsRecover, "load", view.Facts{N: c.N, Of: c.Of, Seconds: c.Length().Seconds()})
	}
	e.At = c.At
	return e
}
