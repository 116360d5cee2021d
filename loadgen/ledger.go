package loadgen

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// state is what a request that has not ended is doing.
type state uint8

const (
	dialing   state = iota // no connection yet
	sent                   // written, no byte of an answer
	streaming              // bytes of the answer are coming
)

// ledger holds one entry for each request in flight, and the sums over those
// that have ended. Whatever is counted of requests in flight is counted by
// looking at the entries, so it can't drift away from them.
type ledger struct {
	mu        sync.Mutex
	live      []*request // each knows its index
	all       tally      // the sum over all runs
	runs      []*tally   // by number, from 1
	time      timeline
	latency   latencies
	tokens    int
	lastError string
	// owed counts unsent records that are still to be handed out.
	owed int

	changed chan struct{} // closed at the next change, if watched
	watched bool
}

// tally counts what was scheduled and how it ended: of one run, or of all.
type tally struct {
	scheduled int
	ended     Totals // only OK, Failed, Cancelled and Unsent are used
}

// end counts a request that has ended.
func (t *tally) end(c Class) {
	switch c {
	case ClassOK:
		t.ended.OK++
	case ClassCancelled, ClassCensored:
		t.ended.Cancelled++
	default:
		if t.ended.Failed == nil {
			t.ended.Failed = map[Class]int{}
		}
		t.ended.Failed[c]++
	}
}

// skip counts n requests that are not sent.
func (t *tally) skip(n int) {
	t.scheduled += n
	t.ended.Unsent += n
}

func newLedger(windowLimit int) *ledger {
	return &ledger{time: newTimeline(windowLimit), latency: newLatencies(), changed: make(chan struct{})}
}

// tally returns the tally of a run, nil when there is none of that number; mu
// is held.
func (l *ledger) tally(run int) *tally {
	if run < 1 || run > len(l.runs) {
		return nil
	}
	return l.runs[run-1]
}

// notify tells the readers that something has changed; mu is held.
func (l *ledger) notify() {
	if l.watched {
		close(l.changed)
		l.changed, l.watched = make(chan struct{}), false
	}
}

// add makes r the entry of a request that is in flight from now on; mu is held.
func (l *ledger) add(r *request, now time.Time) {
	r.state = dialing
	r.scheduled = now
	r.index = len(l.live)
	r.second = l.time.at(now)
	r.second.sent++
	r.second.unresolved++
	l.live = append(l.live, r)
	l.all.scheduled++
	r.tally.scheduled++
	l.notify()
}

// skip counts n requests of a run that are not sent; mu is held. The caller
// hands out their record (unsent).
func (l *ledger) skip(run, n int) {
	l.all.skip(n)
	l.tally(run).skip(n)
	l.owed++
	l.notify()
}

// move takes a request to a later state; it never goes back.
func (l *ledger) move(r *request, to state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.state = max(r.state, to)
	l.notify()
}

// restart takes a request back to dialing, for a redirect.
func (l *ledger) restart(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.state = dialing
	l.notify()
}

// gaps takes times between two tokens.
func (l *ledger) gaps(list []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range list {
		l.latency.gap.add(d)
	}
}

// stall marks a request as stalled from now on, or as going on again.
func (l *ledger) stall(r *request, stalled bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.index < 0 || r.stalled.Load() == stalled {
		return
	}
	r.stalled.Store(stalled)
	if stalled {
		r.stalls = append(r.stalls, Stall{From: now})
	} else {
		r.stalls[len(r.stalls)-1].To = now
	}
	l.notify()
}

// end gives a request its class and takes it off the entries in flight.
func (l *ledger) end(r *request, c Class, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.live) - 1
	l.live[r.index] = l.live[last]
	l.live[r.index].index = r.index
	l.live[last] = nil
	l.live = l.live[:last]
	r.index = -1
	s := r.second
	s.unresolved--
	l.all.end(c)
	r.tally.end(c)
	l.tokens += r.tokens
	l.latency.take(r, c)
	switch c {
	case ClassOK:
		s.ok++
		l.time.took(s, r)
	case ClassCancelled, ClassCensored:
		s.cancelled++
	default:
		if s.failed == nil {
			s.failed = map[Class]int{}
		}
		s.failed[c]++
		l.lastError = text
	}
	l.notify()
}

// totals sums up a run, or all of them when of is the ledger's own tally; mu
// is held.
func (l *ledger) totals(of *tally) Totals {
	t := of.ended
	t.Scheduled = of.scheduled
	t.Failed = maps.Clone(of.ended.Failed)
	if t.Failed == nil {
		t.Failed = map[Class]int{}
	}
	for _, r := range l.live {
		if of != &l.all && r.tally != of {
			continue
		}
		switch r.state {
		case dialing:
			t.Dialing++
		case sent:
			t.Sent++
		case streaming:
			t.Streaming++
		}
		if r.stalled.Load() {
			t.Stalled++
		}
	}
	return t
}

// Bounds within which a request's own trace tells something to the gauge.
const (
	// slowDial: the first packet of a connection was lost, or went to a
	// machine that is off (Linux sends the second one after 1 s).
	slowDial = time.Second
	// settling: a request that is younger is not yet fully in a queue-proxy's
	// average over 1 s, which is computed once a second.
	settling = 2 * time.Second
	// flowing: bytes came within so long, so a server works on it.
	flowing = 2 * time.Second
)

// survey is what the entries in flight say to the gauge.
type survey struct {
	outstanding int
	stalled     int // silent for longer than the stall limit
	slow        int // without a connection for too long
	young       int // not yet in the servers' averages
	flowing     int // bytes came just now
	// lastActive is when each request that is not slow last showed life (its
	// start or its last byte), ascending; only filled on demand.
	lastActive []time.Time
}

// survey looks at all entries; mu is held. young is judged at the time of the
// last measurement.
func (l *ledger) survey(now, measured time.Time, wantActive bool) survey {
	s := survey{outstanding: len(l.live)}
	if wantActive {
		s.lastActive = make([]time.Time, 0, len(l.live))
	}
	for _, r := range l.live {
		active := r.scheduled
		switch {
		case r.state == dialing && now.Sub(r.scheduled) > slowDial:
			s.slow++
			continue
		case r.stalled.Load():
			s.stalled++
			active = r.lastByte()
		case r.state == streaming:
			active = r.lastByte()
			if now.Sub(active) < flowing {
				s.flowing++
			}
		}
		if measured.Sub(r.scheduled) < settling && !r.stalled.Load() {
			s.young++
		}
		if wantActive {
			s.lastActive = append(s.lastActive, active)
		}
	}
	slices.SortFunc(s.lastActive, time.Time.Compare)
	return s
}

// silentSince returns how many requests have shown no life after t.
func (s *survey) silentSince(t time.Time) int {
	n, _ := slices.BinarySearchFunc(s.lastActive, t, func(a, t time.Time) int {
		if a.After(t) {
			return 1
		}
		return -1
	})
	return n
}
