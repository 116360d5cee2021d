package record

import (
	"cmp"
	"time"

	"lightsout/internal/text"
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
	// Before counts the requests that failed after zero for a reason that was there before (loadgen.Window).
	Before int `json:"failed_before,omitempty"`
	// AtZero counts how the requests in flight at zero ended; null if there were none.
	AtZero *loadgen.Counts `json:"at_zero,omitempty"`
	// Hung counts the requests that hung; null if none did.
	Hung *loadgen.Counts `json:"hung,omitempty"`
	// DownAgain: the later failures are more than stray ones: the service was down for 10 s.
	DownAgain bool `json:"down_again,omitempty"`
	// Unasked: no request succeeded or failed after zero. Unrecovered: the last window has no
	// end (loadgen.Window).
	Unasked     bool `json:"unasked,omitempty"`
	Unrecovered bool `json:"unrecovered,omitempty"`
}

// NoneFailed reports whether no request failed or hung.
func (f Failures) NoneFailed() bool {
	return len(f.ErrorWindows) == 0 && f.LaterFailures == nil && f.Hung == nil
}

// HungUntilEnded counts the requests that hung until lightsout ended them.
func (f Failures) HungUntilEnded() int { return cmp.Or(f.Hung, &loadgen.Counts{}).Cancelled }

// Span is a period with failed requests, in seconds from zero.
type Span struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Failed int     `json:"failed"`
}

// Length returns the length in seconds.
func (s Span) Length() float64 { return s.To - s.From }

// FailuresOf converts what a window shows of outages.
func FailuresOf(w *loadgen.Window, outages loadgen.PowerOffs, zero time.Time) (out Failures) {
	span := func(f loadgen.Failures) Span {
		return Span{From: f.First.Sub(zero).Seconds(), To: f.Ended.Sub(zero).Seconds(), Failed: f.N}
	}
	found := w.Findings(outages)
	out.ErrorWindows = text.Each(found.ErrorWindows, span)
	if found.LaterFailures.N > 0 {
		out.LaterFailures = new(span(found.LaterFailures))
	}
	some := func(n loadgen.Counts) *loadgen.Counts {
		if n.Scheduled == 0 {
			return nil
		}
		return &n
	}
	out.Before, out.AtZero, out.Hung = w.Before, some(w.AtZero()), some(w.Hung(outages))
	out.DownAgain, out.Unasked, out.Unrecovered = found.DownAgain, found.Unasked, found.Unrecovered
	return out
}

// AddLoad adds a load with its requests: their counts and what their window shows of the outages.
func (s *Summary) AddLoad(l Load, counts loadgen.Counts, w *loadgen.Window) {
	l.Sent, l.Counts, l.Failures = counts.Scheduled-counts.Unsent, counts, FailuresOf(w, s.Outages, s.Zero)
	s.Load = append(s.Load, l)
	s.Ledger.Add(counts)
}
