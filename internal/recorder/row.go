package recorder

import (
	"maps"
	"slices"
	"time"

	"lightsout/loadgen"
)

// row counts requests by the second in which they were sent: a request that hangs fails among later
// ones that are ok.
type row map[int64]sentIn

// sentIn is the requests that were sent in one second: how many failed, and whether others were ok.
type sentIn struct {
	failed int
	ok     bool
	first  time.Time // when the first that failed was sent
}

const (
	// downLeast is how many requests in a row fail while the service is down.
	downLeast = 3
	// rowKept is for how long a row keeps a second, and rowGap the longest time without requests
	// within a row: those that are rarer end in the order in which they were sent.
	rowKept = time.Hour
	rowGap  = time.Minute
)

// add adds a request that was ok or failed; it ignores others.
func (r row) add(q *loadgen.Record) {
	failed := q.Class.Failed()
	if !failed && q.Class != loadgen.ClassOK {
		return
	}
	second := q.CountedAt().Unix()
	x := r[second]
	if failed {
		x.failed++
		if x.first.IsZero() || q.CountedAt().Before(x.first) {
			x.first = q.CountedAt()
		}
	}
	x.ok = x.ok || !failed
	r[second] = x
	const kept = int64(rowKept / time.Second)
	if len(r) > 3*int(kept) { // somebody may set the clock back
		maps.DeleteFunc(r, func(s int64, _ sentIn) bool { return s < second-kept || s > second+kept })
	}
}

// longest returns how many requests that were sent in the seconds between two times failed in a
// row, at most. inFlight has the seconds of requests that have not ended: nobody knows yet whether
// those belong to a row.
func (r row) longest(from, to time.Time, inFlight map[int64]bool) (most int) {
	first, end := from.Unix(), to.Unix()
	seconds := slices.AppendSeq(slices.Collect(maps.Keys(r)), maps.Keys(inFlight))
	seconds = slices.DeleteFunc(seconds, func(s int64) bool { return s < first || s > end || s == first && r[s].first.Before(from) })
	slices.Sort(seconds)
	failed, last := 0, int64(0)
	for _, s := range slices.Compact(seconds) {
		if s-last > int64(rowGap/time.Second) {
			failed = 0
		}
		if x := r[s]; x.ok || inFlight[s] {
			failed = 0
		} else {
			failed += x.failed
		}
		most, last = max(most, failed), s
	}
	return most
}
