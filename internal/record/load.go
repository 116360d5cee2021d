package record

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lightsout/loadgen"
)

// LoadRun sums up the requests of one start of the generator that have ended.
type LoadRun struct {
	// Number is the run's number, as its requests have it.
	Number int
	Shape  loadgen.Shape
	Totals loadgen.Totals
	Failed loadgen.Failures
	// Begin is when the first of them was due, End when the last one ended.
	Begin, End time.Time
	// Took is from when requests that are ok were due to their end, FirstToken
	// to the first text of their answers, which have Tokens in all.
	Took, FirstToken Times
	Tokens           int
}

// Times sums up durations, to 1 %; Max is exact.
type Times struct {
	P50, P95, P99, Max time.Duration

	h *hdrhistogram.Histogram
}

// timedRuns is of how many runs it is kept how long requests took.
const timedRuns = 500

// The range of Times; what is beyond counts as the bound.
const leastTime, mostTime = time.Microsecond, 24 * time.Hour

func (t *Times) add(d time.Duration) {
	if t.h == nil {
		t.h = hdrhistogram.New(int64(leastTime/time.Microsecond), int64(mostTime/time.Microsecond), 2)
	}
	t.Max = max(t.Max, d)
	// The error is for values out of range.
	_ = t.h.RecordValue(int64(min(max(d, leastTime), mostTime) / time.Microsecond))
}

// fill works the quantiles out.
func (t *Times) fill() {
	if t.h == nil {
		return
	}
	at := t.h.ValueAtPercentiles([]float64{50, 95, 99})
	of := func(p float64) time.Duration { return min(time.Duration(at[p])*time.Microsecond, t.Max) }
	t.P50, t.P95, t.P99 = of(50), of(95), of(99)
	t.h = nil
}

// count takes a request that has ended.
func (x *LoadRun) count(q *loadgen.Record) {
	x.Totals.Count(*q)
	x.Failed.Note(q)
	if x.Begin.IsZero() || q.Scheduled.Before(x.Begin) {
		x.Begin = q.Scheduled
	}
	if q.End.After(x.End) {
		x.End = q.End
	}
}

// time takes how long a request took that is ok.
func (x *LoadRun) time(q *loadgen.Record) {
	if q.Class != loadgen.ClassOK {
		return
	}
	x.Took.add(q.End.Sub(q.Scheduled))
	if !q.FirstToken.IsZero() {
		x.FirstToken.add(q.FirstToken.Sub(q.Scheduled))
	}
	x.Tokens += q.Tokens
}

// runsMost bounds the runs of a record: no one starts so many.
const runsMost = 100_000

// EachRequest calls each with every request of the requests.jsonl in fsys, by
// its line's number from 1. The request is the callee's only until it returns:
// a file of any length takes no more memory than a line. torn reports
// that the last line is not whole. It ends at the first error; there may be no such file
// (fs.ErrNotExist).
func EachRequest(fsys fs.FS, each func(line int, r *loadgen.Record) error) (torn bool, err error) {
	var q loadgen.Record
	return readLines(fsys, RequestsFile, 0, func(n int, line []byte) error {
		q = loadgen.Record{}
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("line %d of %s is not a request: %w", n, RequestsFile, err)
		}
		return each(n, &q)
	})
}

// requestSums is what is kept of the requests of a record: memory grows with
// the seconds that it tells of, and not with their requests.
type requestSums struct {
	seconds map[int64]*loadgen.Second
	// due counts them by the second in which they were due.
	due  map[int64]int
	runs map[int]*LoadRun
}

// readRequests sums up requests.jsonl.
func (r *Record) readRequests(fsys fs.FS) (*requestSums, error) {
	s := &requestSums{seconds: map[int64]*loadgen.Second{}, due: map[int64]int{}, runs: map[int]*LoadRun{}}
	torn, err := EachRequest(fsys, func(n int, q *loadgen.Record) error {
		r.span(q.Scheduled)
		r.span(q.CountedAt())
		r.span(q.End)
		if err := r.tooLong(); err != nil {
			return err
		}
		s.count(q)
		if len(s.runs) > runsMost {
			return fmt.Errorf("line %d of %s is of one run too many: at most %d can be read", n, RequestsFile, runsMost)
		}
		return nil
	})
	r.noteTorn(RequestsFile, torn)
	for _, x := range s.runs {
		x.Took.fill()
		x.FirstToken.fill()
		r.Runs = append(r.Runs, *x)
	}
	slices.SortFunc(r.Runs, func(a, b LoadRun) int { return a.Number - b.Number })
	return s, err
}

func (s *requestSums) count(q *loadgen.Record) {
	run := s.runs[q.Run]
	if run == nil {
		run = &LoadRun{Number: q.Run, Shape: q.Shape}
		s.runs[q.Run] = run
	}
	run.count(q)
	if len(s.runs) <= timedRuns {
		run.time(q)
	}
	if q.Class == loadgen.ClassUnsent {
		return
	}
	s.due[q.Scheduled.Unix()]++
	unix := q.CountedAt().Unix()
	if s.seconds[unix] == nil {
		s.seconds[unix] = &loadgen.Second{}
	}
	s.seconds[unix].Count(q.Class)
}

// ended is how many requests have a record, by the rule by which the seconds
// of the samples count: up to the first schema, when they were due.
func (s *requestSums) ended(unix int64, schema int) int {
	if schema < 2 {
		return s.due[unix]
	}
	if x := s.seconds[unix]; x != nil {
		return x.Sent
	}
	return 0
}

// FirstFailure is when the first request failed; zero when none did.
func (r *Record) FirstFailure() (at time.Time) {
	for i := range r.Runs {
		if seen := r.Runs[i].Failed.Seen; at.IsZero() || !seen.IsZero() && seen.Before(at) {
			at = seen
		}
	}
	return at
}
