package loadgen

import (
	"maps"
	"slices"
	"time"

	"lightsout/internal/clock"
)

// Second is one second of wall-clock time. A request counts in the second in
// which it was sent; while it has not been sent yet, and if it never is, in the
// one in which it was due (Record.CountedAt). So the past may change while
// Unresolved is more than 0, and a request that waits for its connection moves.
type Second struct {
	// At is the second's start.
	At time.Time `json:"at,omitzero"`
	// Sent, OK, Failed, Cancelled and Unresolved count the requests of it.
	Sent       int     `json:"sent,omitzero"`
	OK         int     `json:"ok,omitzero"`
	Cancelled  int     `json:"cancelled,omitzero"`
	Unresolved int     `json:"unresolved,omitzero"`
	Failed     ByClass `json:"failed,omitzero"`
	// Later are those of Failed that failed in a later second; Earlier are the requests
	// that failed in this second and were sent in an earlier one.
	Later   ByClass `json:"failed_later,omitzero"`
	Earlier ByClass `json:"sent_earlier,omitzero"`
	// Served, Queued, Stalled, OnDead and Unknown are one reading of the gauge in it (see
	// Sample), Capacity and Target the last ones. Sampled is false when it was not read.
	Served   int  `json:"served,omitzero"`
	Queued   int  `json:"queued,omitzero"`
	Stalled  int  `json:"stalled,omitzero"`
	OnDead   int  `json:"on_dead,omitzero"`
	Unknown  int  `json:"unknown,omitzero"`
	Capacity int  `json:"capacity,omitzero"`
	Target   int  `json:"target,omitzero"`
	Sampled  bool `json:"sampled,omitzero"`
}

// FailedSum is the number of failed requests of all classes.
func (s Second) FailedSum() int { return s.Failed.Sum() }

// FailedIn are the requests that failed in the second, whenever they were sent; the map is the caller's.
func (s Second) FailedIn() ByClass {
	in := maps.Clone(s.Failed)
	in.addAll(s.Earlier, 1)
	in.addAll(s.Later, -1)
	maps.DeleteFunc(in, func(_ Class, n int) bool { return n <= 0 })
	return in
}

// Waited is the number of requests of the second that it ended without: those that
// failed later, and those that have not ended.
func (s Second) Waited() int { return s.Unresolved + s.Later.Sum() }

// Counts are the requests of the second for a summary.
func (s Second) Counts() Counts {
	return Counts{
		Scheduled: s.Sent, OK: s.OK, Failed: s.FailedSum(), FailedByClass: s.Failed,
		Cancelled: s.Cancelled, InFlight: s.Unresolved,
	}
}

// end counts the end of one of the second's requests, in the second last.
func (s *Second) end(c Class, last *Second) {
	if c.Failed() && s != last {
		s.Later.add(c, 1)
		last.Earlier.add(c, 1)
	}
	switch {
	case c == ClassOK:
		s.OK++
	case c.Failed():
		s.Failed.add(c, 1)
	default:
		s.Cancelled++
	}
}

// Add adds the requests of another second.
func (s *Second) Add(o Second) {
	s.Sent += o.Sent
	s.OK += o.OK
	s.Cancelled += o.Cancelled
	s.Unresolved += o.Unresolved
	s.Failed.addAll(o.Failed, 1)
	s.Later.addAll(o.Later, 1)
	s.Earlier.addAll(o.Earlier, 1)
}

// Series is the requests that have ended, one row for each second of sending. The queries on it
// (service.go, window.go) decide what counts as failing. One goroutine may use it. Its memory grows
// with the seconds in which requests were sent or failed.
type Series struct {
	rows []*Row    // in the order of time
	good time.Time // the end of the newest request that was ok
	// OwnError is why lightsout could not send a request (ClassLocal), the newest; empty if it could send all.
	OwnError string
}

// Row is one second of a Series.
type Row struct {
	Second
	// span is that of its failed requests, without those that lightsout could not send.
	span Failures
	// ended is the span of the same that ended in it; answered: one did that was ok.
	ended    Failures
	answered bool
	// vain is since when the first of those that failed in it had waited in vain.
	vain time.Time
}

// Rows are the rows so far, oldest first. Seconds without a request have none.
func (s *Series) Rows() []*Row { return s.rows }

// Note takes a request that has ended, and counts it from that moment.
func (s *Series) Note(r *Record, from time.Time) {
	if r.Class == ClassUnsent {
		return
	}
	x, last := s.row(from), s.row(r.End)
	x.Sent++
	x.end(r.Class, &last.Second)
	switch {
	case r.Class == ClassLocal: // nobody knows what clients would have seen
		s.OwnError = r.Error
	case r.Class.Failed():
		x.span.join(failed(r, from))
		last.ended.join(failed(r, r.End))
		last.vain = clock.Earliest(last.vain, r.inVainSince())
	case r.Class == ClassOK:
		last.answered = true
		s.good = clock.Latest(s.good, r.End)
	}
}

// Forget forgets the seconds before a time.
func (s *Series) Forget(before time.Time) { s.rows = slices.Delete(s.rows, 0, s.from(before)) }

// row returns the row of a moment, and adds it if there is none.
func (s *Series) row(at time.Time) *Row {
	second := at.Truncate(time.Second)
	i := len(s.rows)
	if i > 0 && !s.rows[i-1].At.Before(second) {
		i = s.from(second)
		if s.rows[i].At.Equal(second) {
			return s.rows[i]
		}
	}
	s.rows = slices.Insert(s.rows, i, &Row{Second: Second{At: second}})
	return s.rows[i]
}

// from is the index of the first row that begins at that time or later.
func (s *Series) from(at time.Time) int {
	i, _ := slices.BinarySearchFunc(s.rows, at, func(x *Row, at time.Time) int { return x.At.Compare(at) })
	return i
}
