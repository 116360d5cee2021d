package loadgen

import (
	"slices"
	"time"
)

// Recovered is the time without a failed request, while others succeed, that ends an
// error window.
const Recovered = time.Minute

// okBucket is the resolution at which a Window remembers when requests succeeded. It is
// so much smaller than Recovered that a gap of that length contains whole buckets.
const okBucket = 10 // seconds

// hungLeast is the least time without a byte after which a request that lightsout ended
// counts as hung, and wave the least time that a second error window lasts while a machine
// is still off.
const (
	hungLeast = 10 * time.Second
	wave      = 10 * time.Second
)

// PowerOffs are the power-off requests of a trial in order, with the times that error
// windows depend on. The first one is zero.
type PowerOffs []PowerOff

// PowerOff is the power-off request of one node. On is the first power-on request of that node
// after it, or the zero time. Detected is when the control plane marked the node NotReady after
// Off, and Returned when all nodes that were off then were Ready again and the deployment had all
// its pods, or the zero time.
type PowerOff struct {
	Off      time.Time `json:"off"`
	Detected time.Time `json:"detected,omitzero"`
	On       time.Time `json:"on,omitzero"`
	Returned time.Time `json:"returned,omitzero"`

	node string // empty until it is known
}

// SwitchedOff adds the power-off request of a node, or names the node of the first one.
func (o *PowerOffs) SwitchedOff(node string, at time.Time) {
	n := len(*o)
	if n == 1 && (*o)[0].node == "" && node != "" {
		(*o)[0].node = node
		return
	}
	if n > 0 && at.Before((*o)[n-1].Off) {
		at = (*o)[n-1].Off
	}
	*o = append(*o, PowerOff{Off: at, node: node})
}

// SwitchedOn adds a power-on request of a node.
func (o PowerOffs) SwitchedOn(node string, at time.Time) {
	for i := range o {
		if o[i].node == node && o[i].On.IsZero() {
			o[i].On = at
		}
	}
}

// MarkedNotReady records when the control plane marked a node NotReady after its last power-off.
func (o PowerOffs) MarkedNotReady(node string, at time.Time) {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].node == node {
			o[i].Detected = at
			return
		}
	}
}

// FirstOn is the first power-on request of any node, or the zero time.
func (o PowerOffs) FirstOn() (first time.Time) {
	for _, x := range o {
		if first.IsZero() || !x.On.IsZero() && x.On.Before(first) {
			first = x.On
		}
	}
	return first
}

// Window finds the error windows of an outage in requests that end in any order. No
// other code defines an error window.
//
// An error window lasts from the moment from which its first failed request counts
// (Record.CountedAt) until its last failed request has ended. It is over when requests
// have succeeded, and none has failed, for Recovered, or for as long as wave before the
// failures of a further power-off request. The window of a power-off request
// is the first that ends after it; failures in no such window are later failures. A
// request in flight at zero counts from zero. Failures that last as long as wave while a
// machine is still off have an error window of that outage too: requests that go on failing,
// or several that fail together while none succeeds. The memory
// grows with time, not with requests. One goroutine may use a Window.
type Window struct {
	outages *PowerOffs
	spans   []Failures       // in order, at least near apart
	ok      map[int64]okSpan // by okBucket
	atZero  Totals
	hung    Totals
	// steady: the load has the shape hold or rate. asked: a request succeeded or failed after
	// zero. sentOK and endedOK are the latest times from which one counts, and at which one ended,
	// that was ok.
	steady, asked   bool
	sentOK, endedOK time.Time
	// slowest is the longest time that a request took that was ok. waited counts the
	// requests that lightsout ended.
	slowest time.Duration
	waited  map[endedWait]int
	// usual is slowest, with the requests that ended before zero.
	usual time.Duration
	// cut is those that lightsout ended while they still got bytes, by the Unix second from
	// which they count.
	cut map[int64]Failures
	// silent counts those that a time limit ended, and those that lightsout ended in the middle
	// of their answers.
	silent map[silentWait]int
}

// endedWait is for how many seconds, rounded, a request that lightsout ended got no byte. answered:
// it had got one before.
type endedWait struct {
	seconds  int64
	answered bool
}

// okSpan is when the first and the last request of an okBucket counted that were ok.
type okSpan struct{ first, last time.Time }

// near is the time within which failures are one span. It is much shorter than wave: a further
// power-off request may divide spans.
const near = 2 * time.Second

// silentWait is for how long a request got no byte before a time limit or, if cancelled is set,
// lightsout ended it. outages is how many power-off requests there had been, and bucket the
// okBucket in which it ended.
type silentWait struct {
	endedWait
	outages   int
	cancelled bool
	bucket    int64
}

// silentLeast is the shortest silence in the middle of an answer that counts as hanging if no
// request was ok: a slow answer may pause.
const silentLeast = time.Minute

// before is the number of power-off requests up to a time.
func (o PowerOffs) before(at time.Time) (n int) {
	for _, x := range o {
		if !x.Off.After(at) {
			n++
		}
	}
	return n
}

// NewWindow returns a Window for outages that may still grow: every call reads them.
func NewWindow(o *PowerOffs) *Window {
	return &Window{outages: o, ok: map[int64]okSpan{}, cut: map[int64]Failures{}, waited: map[endedWait]int{}, silent: map[silentWait]int{}}
}

// Note records the end of a request. Of those that ended before zero only the duration counts.
func (w *Window) Note(r *Record) {
	w.steady = w.steady || r.Shape == Hold || r.Shape == Rate
	if r.Class == ClassOK {
		w.usual = max(w.usual, r.End.Sub(r.CountedAt()))
	}
	if len(*w.outages) == 0 || r.Class == ClassUnsent || r.End.Before((*w.outages)[0].Off) {
		return
	}
	w.asked = w.asked || r.Class == ClassOK || r.Class.Failed()
	zero, from := (*w.outages)[0].Off, r.CountedAt()
	if from.Before(zero) {
		w.atZero.Count(*r)
		from = zero
	}
	hangs := w.hangs(r, from)
	if hangs {
		w.hung.Count(*r)
	}
	switch {
	case r.Class == ClassOK:
		x := w.ok[from.Unix()/okBucket]
		widen(&x.first, &x.last, from)
		w.ok[from.Unix()/okBucket] = x
		w.slowest = max(w.slowest, r.End.Sub(r.CountedAt()))
		if r.CountedAt().After(w.sentOK) {
			w.sentOK = r.CountedAt()
		}
		if r.End.After(w.endedOK) {
			w.endedOK = r.End
		}
	case r.Class.Failed():
		w.add(Failures{N: r.Requests(), First: from, Last: from, Seen: r.End, Ended: r.End})
		if r.Class.TimeLimit() && !hangs {
			w.silent[w.silence(r, false)] += r.Requests()
		}
	case !hangs:
		w.wait(r)
	}
}

// wait counts a request that lightsout ended before it was answered.
func (w *Window) wait(r *Record) {
	x := silence(r, r.CountedAt())
	w.waited[x] += r.Requests()
	if x.answered && time.Duration(x.seconds)*time.Second < hungLeast {
		from := r.CountedAt()
		cut := w.cut[from.Unix()]
		cut.join(Failures{N: r.Requests(), First: from, Last: from, Seen: r.End, Ended: r.End})
		w.cut[from.Unix()] = cut
	}
	if x.answered {
		w.silent[w.silence(r, true)] += r.Requests()
	}
}

// silence is for how long a request got no byte before it ended, since the last power-off
// request at the earliest.
func (w *Window) silence(r *Record, cancelled bool) silentWait {
	n := w.outages.before(r.End)
	since := r.CountedAt()
	if off := (*w.outages)[n-1].Off; off.After(since) {
		since = off
	}
	return silentWait{silence(r, since), n, cancelled, r.End.Unix() / okBucket}
}

// silence is for how long a request got no byte before it ended, since that moment at the
// earliest.
func silence(r *Record, since time.Time) endedWait {
	if r.LastByte.After(since) {
		since = r.LastByte
	}
	return endedWait{int64(r.End.Sub(since).Round(time.Second) / time.Second), !r.LastByte.IsZero()}
}

// hangs reports whether a request that counts from that moment hung through an outage.
func (w *Window) hangs(r *Record, from time.Time) bool {
	if r.Class == ClassOK {
		return false
	}
	return slices.ContainsFunc(*w.outages, func(o PowerOff) bool {
		if !r.Class.Failed() && r.LastByte.After(o.Off) {
			return false
		}
		half := o.Off.Add(o.On.Sub(o.Off) / 2)
		return !o.On.IsZero() && !from.After(half) && r.End.After(o.On)
	})
}

// add merges a failed request with the spans that are closer than near.
func (w *Window) add(f Failures) {
	lo, _ := slices.BinarySearchFunc(w.spans, f.First.Add(-near), func(s Failures, at time.Time) int { return s.Ended.Compare(at) })
	hi := lo
	for hi < len(w.spans) && w.spans[hi].First.Before(f.Ended.Add(near)) {
		f.join(w.spans[hi])
		hi++
	}
	w.spans = slices.Replace(w.spans, lo, hi, f)
}

func (f *Failures) join(o Failures) {
	f.N += o.N
	widen(&f.First, &f.Last, o.First)
	widen(&f.First, &f.Last, o.Last)
	widen(&f.Seen, &f.Ended, o.Seen)
	widen(&f.Seen, &f.Ended, o.Ended)
}

// windows returns the spans, merged unless requests recovered between them.
func (w *Window) windows() []Failures {
	var out []Failures
	for _, s := range w.spans {
		if n := len(out); n > 0 && !w.over(out[n-1], s) {
			out[n-1].join(s)
			continue
		}
		out = append(out, s)
	}
	return out
}

// over reports whether the window of the failures f is over when the next ones begin.
func (w *Window) over(f, next Failures) bool {
	if !next.First.Before(f.Ended.Add(Recovered)) {
		return w.succeeded(f.Ended, next.First)
	}
	further := slices.ContainsFunc(*w.outages, func(o PowerOff) bool { return o.Off.After(f.Ended) && !next.Seen.Before(o.Off) })
	return further && next.First.Sub(f.Ended) >= wave && w.anyOK(f.Ended, next.First)
}

// anyOK reports whether a request sent between the two times succeeded. Unlike succeeded, it knows
// the okBuckets of both.
func (w *Window) anyOK(from, to time.Time) bool {
	between := func(at time.Time) bool { return at.After(from) && at.Before(to) }
	for b := from.Unix() / okBucket; b <= to.Unix()/okBucket; b++ {
		if x, known := w.ok[b]; known && (between(x.first) || between(x.last)) {
			return true
		}
	}
	return false
}

// succeeded reports whether a request sent between the two times succeeded.
func (w *Window) succeeded(from, to time.Time) bool {
	for b := from.Unix()/okBucket + 1; b < to.Unix()/okBucket; b++ {
		if _, ok := w.ok[b]; ok {
			return true
		}
	}
	return false
}

// Errors returns the error windows of the outages in order, and all failures after
// requests had recovered from them.
func (w *Window) Errors() (errors []Failures, later Failures) {
	errors, others := w.divided()
	for _, f := range others {
		later.join(f)
	}
	return errors, later
}

// divided returns the error windows of the outages in order, and the later failures, divided in
// the same way.
func (w *Window) divided() (errors, later []Failures) {
	all := w.windows()
	own := map[int]bool{}
	for _, o := range *w.outages {
		own[slices.IndexFunc(all, func(f Failures) bool { return !f.Ended.Before(o.Off) })] = true
	}
	for i, f := range all {
		if own[i] || w.outages.off(f.First) && w.isWave(f) {
			errors = append(errors, f)
		} else {
			later = append(later, f)
		}
	}
	return errors, later
}

// LaterWave reports whether later failures are more than stray ones: the service was down again.
// Several failed over as long as wave, and either none of them came later than near after the one
// before, or no request succeeded meanwhile.
func (w *Window) LaterWave() bool {
	_, later := w.divided()
	long := func(f Failures) bool { return f.Length() >= wave && inWindow(f, later) }
	return slices.ContainsFunc(w.spans, func(f Failures) bool { return f.N > 2 && long(f) }) ||
		slices.ContainsFunc(w.unbroken(), func(f Failures) bool { return f.N > 1 && long(f) && !w.succeeded(f.First, f.Ended) })
}

// unbroken returns the spans, merged where no request succeeded between them.
func (w *Window) unbroken() []Failures {
	var out []Failures
	for _, s := range w.spans {
		if n := len(out); n > 0 && !w.anyOK(out[n-1].Ended, s.First) {
			out[n-1].join(s)
			continue
		}
		out = append(out, s)
	}
	return out
}

// inWindow reports whether one of the windows includes the failures f.
func inWindow(f Failures, windows []Failures) bool {
	return slices.ContainsFunc(windows, func(w Failures) bool { return !f.First.Before(w.First) && !f.Ended.After(w.Ended) })
}

// Unasked reports whether there was an outage, and no request succeeded or failed after zero:
// nobody knows what clients would have seen.
func (w *Window) Unasked() bool { return len(*w.outages) > 0 && !w.asked }

// Steady reports whether the load of the requests has the shape hold or rate, so that
// it goes on until it is stopped.
func (w *Window) Steady() bool { return w.steady }

// Unrecovered reports whether nobody saw the last failures end: no request was ok that was sent
// after the last failed one, or that ended after it, or none after a time as long as the longest pause
// between the failures of their window: a service that fails every third request has not recovered
// after two good answers. A single later failure does not count.
func (w *Window) Unrecovered() bool {
	errors, later := w.divided()
	for _, f := range w.unbroken() {
		if f.N > 1 && inWindow(f, later) {
			errors = append(errors, f)
		}
	}
	return slices.ContainsFunc(errors, func(f Failures) bool {
		pause := w.longestPause(f)
		return !w.sentOK.After(f.Last.Add(pause)) && !w.endedOK.After(f.Ended.Add(pause))
	})
}

// longestPause is the longest time without a failure within a window; those up to near are not known.
func (w *Window) longestPause(window Failures) (longest time.Duration) {
	for i := 1; i < len(w.spans); i++ {
		if before, next := w.spans[i-1], w.spans[i]; !before.First.Before(window.First) && !next.Ended.After(window.Ended) {
			longest = max(longest, next.First.Sub(before.Ended))
		}
	}
	return longest
}

// Unanswered reports whether the service may have stopped to answer without a failure: lightsout ended
// several requests that still got bytes, after hungLeast and twice as long as the slowest request took
// that was ok, also before zero; and no request sent since the first of them was ok. If none was ever
// ok, nobody knows how long an answer takes: then they were sent over as long as wave.
func (w *Window) Unanswered() bool {
	var since Failures
	for second, f := range w.cut {
		if second >= w.sentOK.Unix() {
			since.join(f)
		}
	}
	if w.usual == 0 && since.Last.Sub(since.First) < wave {
		return false
	}
	return since.N > 2 && since.Seen.Sub(since.First) >= max(hungLeast, 2*w.usual)
}

// isWave reports whether failures are more than a stray one: they began over a time as long
// as wave, or several lasted that long, and no request succeeded meanwhile.
func (w *Window) isWave(f Failures) bool {
	return f.Last.Sub(f.First) >= wave || f.N > 1 && f.Length() >= wave && !w.succeeded(f.First, f.Ended)
}

// off reports whether a machine was switched off, and not on again, at that time.
func (o PowerOffs) off(at time.Time) bool {
	return slices.ContainsFunc(o, func(x PowerOff) bool {
		return !at.Before(x.Off) && (x.On.IsZero() || at.Before(x.On))
	})
}

// AtZero counts the requests that were in flight at zero and have ended since.
func (w *Window) AtZero() Counts { return w.atZero.Counts() }

// Hung counts the requests that hung. They were in flight from the first half of an
// outage until after its power-on request, and then failed, or lightsout ended them before
// they got another byte. Or lightsout ended them, and they had got no byte for hungLeast
// and for twice as long as the slowest request took that was ok: so requests count that hang
// from later on, and through an outage that nobody has ended. If no request was ok, only
// those count that had got no byte at all.
func (w *Window) Hung() Counts {
	hung := w.hung
	for x, n := range w.waited {
		if w.slowest == 0 && x.answered {
			continue
		}
		if waited := time.Duration(x.seconds) * time.Second; waited >= max(hungLeast, 2*w.slowest) {
			hung.Scheduled += n
			hung.Cancelled += n
		}
	}
	return hung.Counts()
}

// HungWhileOff counts the requests that hung while a machine stayed off: it was off when they
// ended, nobody has powered it on since, and clients did not recover after them. A time limit ended
// such a request after a silence as long as Hung requires. If no request was ok, lightsout may have
// ended it, and it had got no byte for silentLeast if it had got one before.
func (w *Window) HungWhileOff() (n int) {
	all := w.windows()
	for x, requests := range w.silent {
		if !slices.ContainsFunc((*w.outages)[:x.outages], func(o PowerOff) bool { return o.On.IsZero() }) {
			continue
		}
		least := max(hungLeast, 2*w.slowest)
		switch {
		case w.slowest == 0 && x.answered:
			least = silentLeast
		case x.cancelled:
			continue // Hung counts it
		}
		if silence := time.Duration(x.seconds) * time.Second; silence >= least && !w.recovered(all, x.bucket, silence) {
			n += requests
		}
	}
	return n
}

// recovered reports whether clients recovered after a request hung: when its window was over, or
// a later one, requests that were sent for as long as it had hung were ok, and none failed. A hang
// shows only after its time limit, so a shorter time proves nothing. all are the windows.
func (w *Window) recovered(all []Failures, bucket int64, silence time.Duration) bool {
	for i, f := range all {
		proven := f.Ended.Add(silence)
		switch {
		case f.Ended.Unix()/okBucket < bucket:
		case i == len(all)-1 && !w.sentOK.Before(proven), i < len(all)-1 && w.succeeded(proven, all[i+1].First):
			return true
		}
	}
	return false
}
