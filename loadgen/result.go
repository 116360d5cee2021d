package loadgen

import (
	"fmt"
	"net/http"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/text"
)

// Result is the result of one run: a burst, or a hold or rate from its start until its
// last request ended.
type Result struct {
	// Number is the run's number, as Begin has returned it.
	Number int  `json:",omitzero"`
	Spec   Spec `json:",omitzero"`
	// Started is when it began, Ended when its last request ended; Ended is
	// zero while it lasts.
	Started time.Time `json:",omitzero"`
	Ended   time.Time `json:",omitzero"`
	Totals  Totals    `json:",omitzero"`
	// FirstFailure is when the first of them failed.
	FirstFailure time.Time `json:",omitzero"`
	// Latency is of its requests that are ok, from when they were due to their
	// end, FirstToken of chats, from when they were sent to their first text.
	Latency    Quantiles `json:",omitzero"`
	FirstToken Quantiles `json:",omitzero"`
	// Redirects are its answers that only name another URL; they count as ok.
	Redirects int `json:",omitzero"`
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
	said := fmt.Sprintf("%d of %d ok", r.Totals.OK, r.Totals.Scheduled)
	if r.Redirects > 0 {
		said += fmt.Sprintf(", %d of them redirects", r.Redirects)
	}
	others := Counts{Failed: r.Totals.FailedSum(), Cancelled: r.Totals.Cancelled, Unsent: r.Totals.Unsent}
	if rest := others.Ends(); rest != "" {
		said += ", " + rest
	}
	if r.Latency.Count > 0 {
		said += ", slowest " + text.Took(r.Latency.Max)
	}
	if r.PeakQueued > 0 {
		said += fmt.Sprintf(": up to %d queued", r.PeakQueued)
	}
	return said
}

// RunSum sums up the requests of one run as they end. One goroutine may use it, or the
// holder of its lock.
type RunSum struct {
	Result
	// Untimed leaves out how long requests took, which needs 60 KB a run.
	Untimed bool

	latency, firstToken *histogram // nil: empty
}

// Count takes the record of a request that has ended. The run begins when its
// first request was due, and ends with the last.
func (s *RunSum) Count(r *Record) {
	s.Totals.Scheduled += r.Requests()
	s.Started, s.Ended = clock.Earliest(s.Started, r.Scheduled), clock.Latest(s.Ended, r.End)
	s.end(r)
}

// end takes a request that has been counted as scheduled.
func (s *RunSum) end(r *Record) {
	s.Totals.end(r.Class, r.Requests())
	if r.Class.Failed() {
		s.FirstFailure = clock.Earliest(s.FirstFailure, r.End)
	}
	s.Tokens += r.Tokens
	if r.Class == ClassOK && r.Status >= 300 && r.Status != http.StatusNotModified {
		s.Redirects++
	}
	if r.Class != ClassOK || s.Untimed {
		return
	}
	s.latency = s.latency.with(r.End.Sub(r.Scheduled))
	if !r.FirstToken.IsZero() && !r.Sent.IsZero() {
		s.firstToken = s.firstToken.with(r.FirstToken.Sub(r.Sent))
	}
}

// Sum is the result so far.
func (s *RunSum) Sum() Result {
	out := s.Result
	out.Latency, out.FirstToken = s.latency.quantiles(), s.firstToken.quantiles()
	return out
}

// oneRun is a run in the ledger; the ledger's lock guards it. Its totals leave out
// requests in flight; Ended is zero until all have ended.
type oneRun struct {
	RunSum
	open     bool          // more requests will be started
	timer    *time.Timer   // of a hold that ends by itself
	stop     chan struct{} // of a hold or rate; closed when no more requests are started
	inFlight int
	rest     *Result // when it is at rest
}

// result returns the state of a run so far; the caller holds mu.
func (l *ledger) result(r *oneRun) Result {
	if r.rest != nil {
		return *r.rest
	}
	out := r.Sum()
	out.Totals = l.totals(r)
	return out
}

// settleRun notes that a run has come to rest, if it has; mu is held.
func (l *ledger) settleRun(r *oneRun, now time.Time) {
	if r.open || r.inFlight > 0 || r.rest != nil {
		return
	}
	out := l.result(r)
	out.Ended = now
	r.rest, r.latency, r.firstToken = &out, nil, nil
	l.ended = append(l.ended, r.rest)
}
