package record

import (
	"io/fs"
	"slices"
	"time"

	"lightsout/internal/clock"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// timedRuns is of how many runs it is kept how long requests took.
const timedRuns = 500

// EachRequest calls each with every request of the requests.jsonl in fsys, by
// its line's number from 1. The request is the callee's only until it returns:
// a file of any length takes no more memory than a line. torn reports
// that the last line is not whole. It ends at the first error; there may be no such file
// (fs.ErrNotExist).
func EachRequest(fsys fs.FS, each func(line int, r *loadgen.Record) error) (torn bool, err error) {
	return eachOf(fsys, RequestsFile, 0, "a request", each)
}

// requestSums holds the sums of a record's requests: its memory grows with the seconds
// of the record, not with the requests.
type requestSums struct {
	since  time.Time // runs count the requests that ended from then on
	series loadgen.Series
	runs   map[int]*loadgen.RunSum
}

// readRequests sums up requests.jsonl.
func (r *Record) readRequests(fsys fs.FS) (*requestSums, error) {
	s := &requestSums{runs: map[int]*loadgen.RunSum{}}
	// The requests before the zero of an unplanned outage are of the time before, and perhaps
	// of another outage. All requests of other records count.
	if r.Unplanned() {
		s.since = r.zeroOfEvents()
	}
	torn, err := EachRequest(fsys, func(_ int, q *loadgen.Record) error {
		r.span(q.Scheduled)
		r.span(q.CountedAt())
		r.span(q.End)
		if err := r.tooLong(); err != nil {
			return err
		}
		s.series.Note(q, q.CountedAt())
		if !q.End.Before(s.since) {
			s.count(q)
		}
		return nil
	})
	r.noteTorn(RequestsFile, torn)
	for _, x := range s.runs {
		r.Runs = append(r.Runs, x.Sum())
	}
	slices.SortFunc(r.Runs, func(a, b loadgen.Result) int { return a.Number - b.Number })
	return s, err
}

func (s *requestSums) count(q *loadgen.Record) {
	run := s.runs[q.Run]
	if run == nil {
		run = &loadgen.RunSum{Result: loadgen.Result{Number: q.Run, Spec: loadgen.Spec{Shape: q.Shape}}, Untimed: len(s.runs) >= timedRuns}
		s.runs[q.Run] = run
	}
	run.Count(q)
}

// Unplanned reports whether the record is of an outage that nobody planned.
func (r *Record) Unplanned() bool {
	for i := range r.Events { // not by slices.ContainsFunc: it copies each
		if r.Events[i].Code == view.CodeOutageSign {
			return true
		}
	}
	return false
}

// FirstFailure is when the first request failed; zero when none did.
func (r *Record) FirstFailure() (at time.Time) {
	for i := range r.Runs {
		at = clock.Earliest(at, r.Runs[i].FirstFailure)
	}
	return at
}
