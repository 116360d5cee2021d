package session

import (
	"fmt"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

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
