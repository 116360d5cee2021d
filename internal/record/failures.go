package record

import (
	"time"

	"lightsout/loadgen"
)

// Failures holds the findings of a loadgen.Window about the requests of a load step.
type Failures struct {
	// ErrorWindows lists the error windows of the outage: one for each power-off with
	// failures of its own.
	ErrorWindows []Span `json:"error_windows,omitempty"`
	// LaterFailures spans all failures after the requests had recovered; null if there
	// are none.
	LaterFailures *Span `json:"later_failures,omitempty"`
	// AtZero counts how the requests in flight at zero ended; null if there were none.
	AtZero *loadgen.Counts `json:"at_zero,omitempty"`
	// Hung counts the requests that hung through the outage; null if none did.
	Hung *loadgen.Counts `json:"hung,omitempty"`
	// HungWhileOff counts the requests that hung during an outage that nobody has ended: a
	// time limit or lightsout ended them.
	HungWhileOff int `json:"hung_while_off,omitempty"`
	// LaterWave: the later failures are more than stray ones: some went on for ten seconds or
	// longer.
	LaterWave bool `json:"later_wave,omitempty"`
	// Steady: the load has the shape hold or rate.
	Steady bool `json:"steady,omitempty"`
	// Unasked: no request succeeded or failed after zero. Unrecovered: nobody saw the last failures end
	// (loadgen.Window); a single later failure does not count.
	Unasked     bool `json:"unasked,omitempty"`
	Unrecovered bool `json:"unrecovered,omitempty"`
	// Unanswered: the service may have stopped to answer without failing: lightsout ended several
	// requests that still got bytes after a long time, and none sent since was ok.
	Unanswered bool `json:"unanswered,omitempty"`
}

// FailedAgain reports whether the record tells that the later failures are more than stray ones.
func (f Failures) FailedAgain() bool {
	return f.LaterFailures != nil && f.LaterWave
}

// SomeHung reports whether requests hung.
func (f Failures) SomeHung() bool { return f.Hung != nil || f.HungWhileOff > 0 }

// NoneFailed reports whether no request failed or hung.
func (f Failures) NoneFailed() bool {
	return len(f.ErrorWindows) == 0 && f.LaterFailures == nil && !f.SomeHung()
}

// Span is a period with failed requests, in seconds from zero.
type Span struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Failed int     `json:"failed"`
}

// Length returns the length in seconds.
func (s Span) Length() float64 { return s.To - s.From }

// FailuresOf converts the findings of a window.
func FailuresOf(w *loadgen.Window, zero time.Time) (out Failures) {
	span := func(f loadgen.Failures) Span {
		return Span{From: f.First.Sub(zero).Seconds(), To: f.Ended.Sub(zero).Seconds(), Failed: f.N}
	}
	errors, later := w.Errors()
	for _, f := range errors {
		out.ErrorWindows = append(out.ErrorWindows, span(f))
	}
	if later.N > 0 {
		s := span(later)
		out.LaterFailures = &s
	}
	some := func(n loadgen.Counts) *loadgen.Counts {
		if n.Scheduled == 0 {
			return nil
		}
		return &n
	}
	out.AtZero, out.Hung = some(w.AtZero()), some(w.Hung())
	out.HungWhileOff, out.LaterWave, out.Steady = w.HungWhileOff(), w.LaterWave(), w.Steady()
	out.Unasked, out.Unrecovered, out.Unanswered = w.Unasked(), w.Unrecovered(), w.Unanswered()
	return out
}
