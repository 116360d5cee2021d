package loadgen

import (
	"fmt"
	"time"
)

// Result is what came of one run: a burst, or a hold or rate from its start
// until it was at rest.
type Result struct {
	// Number is the run's number, as Begin has returned it.
	Number int  `json:",omitzero"`
	Spec   Spec `json:",omitzero"`
	// Started is when it began, Ended when its last request ended; Ended is
	// zero while it lasts.
	Started time.Time `json:",omitzero"`
	Ended   time.Time `json:",omitzero"`
	Totals  Totals    `json:",omitzero"`
	// Latency is of its requests that are ok, from when they were due to their
	// end, FirstToken of chats, from when they were sent to their first text.
	Latency    Quantiles `json:",omitzero"`
	FirstToken Quantiles `json:",omitzero"`
	// Tokens are those of all its answers.
	Tokens int `json:",omitzero"`
	// PeakQueued is the largest number of requests that the gauge saw waiting
	// for a slot meanwhile.
	PeakQueued int `json:",omitzero"`
}

// OKPerSecond is how many requests were ok a second; 0 before it has ended.
func (r *Result) OKPerSecond() float64 { return r.perSecond(r.Totals.OK) }

// TokensPerSecond is how many tokens came a second; 0 before it has ended.
func (r *Result) TokensPerSecond() float64 { return r.perSecond(r.Tokens) }

func (r *Result) perSecond(n int) float64 {
	took := r.Ended.Sub(r.Started).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(n) / took
}

// Text is the result in one phrase: "12 of 12 ok, slowest 19.2 s: up to 4
// queued".
func (r *Result) Text() string {
	text := fmt.Sprintf("%d of %d ok", r.Totals.OK, r.Totals.Scheduled)
	for _, c := range []struct {
		n    int
		word string
	}{{r.Totals.FailedSum(), "failed"}, {r.Totals.Cancelled, "cancelled"}, {r.Totals.Unsent, "unsent"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.word)
		}
	}
	if r.Latency.Count > 0 {
		text += fmt.Sprintf(", slowest %.1f s", r.Latency.Max.Seconds())
	}
	if r.PeakQueued > 0 {
		text += fmt.Sprintf(": up to %d queued", r.PeakQueued)
	}
	return text
}

// oneRun is a run in the ledger; the ledger's lock guards it. Its totals are
// without what is in flight.
type oneRun struct {
	Result
	open     bool // more requests will be started
	inFlight int
	// Nil before the first ok request, and when it has ended.
	latency, firstToken *histogram
}

// took takes an ok request.
func (r *oneRun) took(q *request) {
	if r.latency == nil {
		r.latency = newHistogram()
	}
	r.latency.add(q.ended.Sub(q.scheduled))
	if q.firstToken.IsZero() || q.written.IsZero() {
		return
	}
	if r.firstToken == nil {
		r.firstToken = newHistogram()
	}
	r.firstToken.add(q.firstToken.Sub(q.written))
}

// result is what is known of the run so far.
func (r *oneRun) result() Result {
	out := r.Result
	if r.Ended.IsZero() {
		out.Latency, out.FirstToken = r.latency.quantiles(), r.firstToken.quantiles()
	}
	return out
}

// settleRun notes that a run has come to rest, if it has; mu is held.
func (l *ledger) settleRun(r *oneRun, now time.Time) {
	if r.open || r.inFlight > 0 || !r.Ended.IsZero() {
		return
	}
	out := r.result()
	out.Ended = now
	r.Result, r.latency, r.firstToken = out, nil, nil
	out.Totals = l.totals(r)
	l.last = &out
}
