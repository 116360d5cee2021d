package loadgen

import (
	"slices"
	"time"

	"lightsout/internal/clock"
)

// Failures is the span over which requests failed. The zero value has none.
type Failures struct {
	// N is how many failed.
	N int
	// First and Last are when the first and the last of them count
	// (Record.CountedAt), Ended is when the last one failed.
	First, Last, Ended time.Time
}

// Length is the time from when the first failed request counts until the last one
// ended.
func (f Failures) Length() time.Duration { return f.Ended.Sub(f.First) }

// failed is the span of one failed request that counts from that moment.
func failed(r *Record, from time.Time) Failures {
	return Failures{N: 1, First: from, Last: from, Ended: r.End}
}

// join adds the failures of another span.
func (f *Failures) join(o Failures) {
	f.N += o.N
	f.First, f.Last, f.Ended = clock.Earliest(f.First, o.First), clock.Latest(f.Last, o.Last), clock.Latest(f.Ended, o.Ended)
}

// recovered is the time without a failed request, while others succeed, that keeps later failures
// out of an error window. least is the shortest span that shows something: the silence of a request
// that hung, the failures while the service was down, and the recovery before the failures of a
// further power-off, or before the load ends.
const (
	recovered = time.Minute
	least     = 10 * time.Second
)

// Window is the Series of an outage: of the requests that ended after its first power-off (zero).
// A request in flight at zero counts from zero. Requests may end in any order. Which of them have failed is
// decided by Series.Note; no other code defines an error window. Queries that depend on the power-offs
// get them. One goroutine may use a Window.
type Window struct {
	Series
	atZero Totals
	// Before counts the requests that had no connection when the power-off, or the drain that led to it, began, a second or more
	// after they had asked for it, and never got one. No query counts them: what kept them from it was there before.
	Before int
	// silent counts the requests that were not ok and got no byte for least before they ended.
	silent map[silence]int
	// slowest is the longest time that a request took that was ok.
	slowest time.Duration
}

// silence is a time without a byte at the end of requests of a class, in whole Unix seconds.
type silence struct {
	since, until int64
	class        Class
}

// NewWindow returns a Window without requests.
func NewWindow() *Window { return &Window{silent: map[silence]int{}} }

// Note takes the end of a request. It ignores those that ended before zero, and all while there is none. disrupted is
// when what led to the power-off began, such as a drain.
func (w *Window) Note(r *Record, zero, disrupted time.Time) {
	if zero.IsZero() || r.Class == ClassUnsent || r.End.Before(zero) {
		return
	}
	from := r.CountedAt()
	if r.Class == ClassConnectTimeout && r.Dial.Before(disrupted.Add(-time.Second)) && !r.Dial.IsZero() {
		w.Before++
		return
	}
	if from.Before(zero) {
		w.atZero.Count(*r)
		from = zero
	}
	w.Series.Note(r, from)
	if r.Class == ClassOK {
		w.slowest = max(w.slowest, r.End.Sub(r.CountedAt()))
		return
	}
	since := r.silentSince()
	if took := r.End.Sub(since).Round(time.Second); took >= least {
		w.silent[silence{since.Unix(), since.Unix() + int64(took/time.Second), r.Class}]++
	}
}

// windows are all windows of failures: those of which the next one is not over are one.
func (w *Window) windows(outages PowerOffs) (out []Failures) {
	for _, x := range w.rows {
		n := len(out)
		switch {
		case !x.service().fails():
		case n > 0 && !w.over(out[n-1], x.span, outages):
			out[n-1].join(x.span)
		default:
			out = append(out, x.span)
		}
	}
	return out
}

// over reports whether requests have succeeded, and none has failed, for long enough before the
// next failures.
func (w *Window) over(f, next Failures, outages PowerOffs) bool {
	calm := recovered
	if slices.ContainsFunc(outages, func(o PowerOff) bool { return o.Off.After(f.Ended) && !next.Ended.Before(o.Off) }) {
		calm = least
	}
	return next.First.Sub(f.Ended) >= calm && w.okBetween(f.Ended, next.First)
}

// okSince returns the first second from then on in which requests were sent that succeeded; zero if
// there is none.
func (s *Series) okSince(at time.Time) (second time.Time) {
	for _, x := range s.rows[s.from(at.Truncate(time.Second)):] {
		if x.service().answers() {
			return x.At
		}
	}
	return second
}

// okBetween reports whether a request succeeded that was sent in a second between those two.
func (s *Series) okBetween(from, to time.Time) bool {
	ok := s.okSince(from.Add(time.Second))
	return !ok.IsZero() && ok.Add(time.Second).Before(to)
}

// ErrorsEnded is when the last request failed, if it is over: a request succeeded that was sent least after that.
func (s *Series) ErrorsEnded() (last time.Time, over bool) {
	for _, x := range s.rows {
		last = clock.Latest(last, x.span.Ended)
	}
	return last, !last.IsZero() && !s.okSince(last.Add(least)).IsZero()
}

// Findings are what the requests of an outage show.
type Findings struct {
	// ErrorWindows are those of the outages in order, which are the first to end after each power-off;
	// LaterFailures spans all failures outside of them.
	ErrorWindows  []Failures
	LaterFailures Failures
	// DownAgain: the service was down in later failures.
	DownAgain bool
	// Unrecovered: the last window has no end, of the error windows and those in which the service
	// was down: no request succeeded that was sent least after it.
	Unrecovered bool
	// Unasked: no request succeeded or failed after zero: nobody knows what clients would have seen.
	Unasked bool
}

// Findings returns what the requests show so far of these outages.
func (w *Window) Findings(outages PowerOffs) Findings {
	f := Findings{Unasked: len(outages) > 0 && w.Service() == ServiceUnasked}
	all, own := w.windows(outages), map[int]bool{}
	for _, o := range outages {
		own[slices.IndexFunc(all, func(x Failures) bool { return !x.Ended.Before(o.Off) })] = true
	}
	var last Failures
	for i, x := range all {
		if own[i] {
			f.ErrorWindows, last = append(f.ErrorWindows, x), x
			continue
		}
		f.LaterFailures.join(x)
		if w.downWithin(x) {
			f.DownAgain, last = true, x
		}
	}
	f.Unrecovered = last.N > 0 && w.okSince(last.Ended.Add(least)).IsZero()
	return f
}

// downWithin reports whether the service was down within a window: two failures at least, least apart.
func (w *Window) downWithin(x Failures) bool {
	return slices.ContainsFunc(w.down(), func(f Failures) bool {
		return f.N > 1 && f.Length() >= least && !f.First.Before(x.First) && !f.Ended.After(x.Ended)
	})
}

// FailedAfterDetection counts, at least and at most, the failed requests that were sent while the nodes
// of all machines that were off were marked NotReady: rows have whole seconds. It is nil if a node was
// not marked, or if no request that succeeded or failed was sent after the last detection.
func (w *Window) FailedAfterDetection(outages PowerOffs) *[2]int {
	var last time.Time
	for _, o := range outages {
		if o.Detected.IsZero() {
			return nil
		}
		last = clock.Latest(last, o.Detected)
	}
	undetected := func(at time.Time) bool {
		return slices.ContainsFunc(outages, func(o PowerOff) bool { return !at.Before(o.Off) && !at.After(o.Detected) })
	}
	known, n := false, [2]int{}
	for _, x := range w.rows {
		known = known || x.At.After(last) && x.service() != ServiceUnasked
		switch first, end := undetected(x.span.First), undetected(x.span.Last); {
		case first && end:
		case first || end:
			n[0], n[1] = n[0]+1, n[1]+x.span.N
		default:
			n[0], n[1] = n[0]+x.span.N, n[1]+x.span.N
		}
	}
	if last.IsZero() || !known {
		return nil
	}
	return &n
}

// AtZero counts the requests that were in flight at zero and have ended since.
func (w *Window) AtZero() Counts { return w.atZero.Counts() }

// HangsAfter is how long a request that has no time limit must get no byte until it counts as hung:
// twice as long as the slowest took that was ok.
func (w *Window) HangsAfter() time.Duration { return max(least, 2*w.slowest) }

// Hung counts the requests that hung. They were not ok and had got no byte for least: from an
// outage's first half until after its power-on, or, if lightsout ended them, for HangsAfter.
func (w *Window) Hung(outages PowerOffs) Counts {
	var hung Totals
	for x, n := range w.silent {
		ended := !x.class.Failed() && time.Duration(x.until-x.since)*time.Second >= w.HangsAfter()
		if ended || outages.through(x) {
			hung.Scheduled += n
			hung.end(x.class, n)
		}
	}
	return hung.Counts()
}
