package loadgen

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// ledger holds one entry for each request in flight. A request that ends feeds its run, its
// second, and the digest of all. Whatever is counted of requests in flight is counted by
// looking at the entries, so it can't drift away from them.
type ledger struct {
	mu     sync.Mutex
	live   []*flight // each knows its index
	runs   []*oneRun // by number, from 1
	ended  []*Result // of the runs that have come to rest, in that order
	time   timeline
	single digest
	// unsentRecords counts the unsent records that the ledger still has to deliver.
	unsentRecords int

	// current is the hold or rate that is running, started the last Begin.
	current *oneRun
	started time.Time

	changed chan struct{} // closed at the next change, if watched
	watched bool
	settled chan struct{} // closed when nothing is going on any more, for Wait; nil: nobody waits
}

func newLedger(windowLimit int) *ledger {
	return &ledger{time: timeline{limit: windowLimit}, changed: make(chan struct{})}
}

// notify tells the readers about a change, and wakes those who wait if it is time; the caller holds mu.
func (l *ledger) notify() {
	if l.watched {
		close(l.changed)
		l.changed, l.watched = make(chan struct{}), false
	}
	if l.settled != nil && l.current == nil && len(l.live) == 0 && l.unsentRecords == 0 {
		close(l.settled)
		l.settled = nil
	}
}

// add makes r the entry of a request that is in flight from now on; mu is held.
func (l *ledger) add(r *flight, now time.Time) {
	r.Scheduled = now
	r.index = len(l.live)
	l.place(r, now)
	l.live = append(l.live, r)
	r.of.Totals.Scheduled++
	r.of.inFlight++
	l.notify()
}

// place puts a request into the second of a moment; mu is held.
func (l *ledger) place(r *flight, at time.Time) {
	if old := r.second; old != nil {
		if old.At.Equal(at.Truncate(time.Second)) {
			return
		}
		old.Sent--
		old.Unresolved--
	}
	r.second = l.time.at(at)
	r.second.Sent++
	r.second.Unresolved++
}

// end takes a request that has been finished off the entries in flight.
func (l *ledger) end(r *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.live) - 1
	l.live[r.index] = l.live[last]
	l.live[r.index].index = r.index
	l.live[last] = nil
	l.live = l.live[:last]
	l.place(r, r.CountedAt())
	r.second.Unresolved--
	r.second.end(r.Class, &l.time.at(r.End).Second)
	r.of.end(&r.Record)
	r.of.inFlight--
	l.single.take(&r.Record)
	l.settleRun(r.of, r.End)
	l.notify()
}

// totals adds the requests in flight to the totals of a run, or of all if of is nil;
// the caller holds mu.
func (l *ledger) totals(of *oneRun) Totals {
	t := Totals{Failed: map[Class]int{}}
	for _, r := range l.runs {
		if of == nil || r == of {
			t.add(&r.Totals)
		}
	}
	for _, r := range l.live {
		if of != nil && r.of != of {
			continue
		}
		switch r.wait {
		case waitDial, waitWrite:
			t.Dialing++
		case waitFirstByte:
			t.Sent++
		default:
			t.Streaming++
		}
		if r.stalled.Load() {
			t.Stalled++
		}
	}
	return t
}

// Bounds within which a request's own trace is evidence for the gauge.
const (
	// slowDial: the first packet of a connection was lost, or went to a
	// machine that is off (Linux sends the second one after 1 s).
	slowDial = time.Second
	// settling: a request that is younger is not yet fully in a queue-proxy's
	// average over 1 s, which is computed once a second.
	settling = 2 * time.Second
	// flowing: progress within this time, so a server works on it.
	flowing = 2 * time.Second
)

// survey is the evidence of the requests in flight for the gauge.
type survey struct {
	outstanding int
	stalled     int // no progress for longer than the stall limit
	slow        int // without a connection for too long
	young       int // not yet in the servers' averages
	flowing     int // progress just now
	// most is the largest number in flight at once lately (othersSpan).
	most int
	// lastActive is when each request that is not slow last showed life (its
	// start or its last progress), ascending; only filled on demand.
	lastActive []time.Time
}

// survey checks all entries; the caller holds mu. young is judged at the time of the
// last measurement.
func (l *ledger) survey(now, measured time.Time, wantActive bool) survey {
	s := survey{outstanding: len(l.live), most: l.mostSince(now.Add(-othersSpan))}
	if wantActive {
		s.lastActive = make([]time.Time, 0, len(l.live))
	}
	for _, r := range l.live {
		active := r.Scheduled
		switch {
		case r.wait < waitFirstByte && now.Sub(r.Scheduled) > slowDial:
			s.slow++
			continue
		case r.stalled.Load():
			s.stalled++
			active = r.lastProgress()
		case r.wait > waitFirstByte:
			active = r.lastProgress()
			if now.Sub(active) < flowing {
				s.flowing++
			}
		}
		if measured.Sub(r.Scheduled) < settling && !r.stalled.Load() {
			s.young++
		}
		if wantActive {
			s.lastActive = append(s.lastActive, active)
		}
	}
	slices.SortFunc(s.lastActive, time.Time.Compare)
	return s
}

// mostSince returns the largest number of requests in flight that a sample has found since then;
// the caller holds mu.
func (l *ledger) mostSince(from time.Time) int {
	most := len(l.live)
	for _, x := range l.time.rows[l.time.from(from.Truncate(time.Second)):] {
		most = max(most, x.InFlight())
	}
	return most
}

// silentSince returns how many requests have shown no life after t.
func (s *survey) silentSince(t time.Time) int {
	return sort.Search(len(s.lastActive), func(i int) bool { return s.lastActive[i].After(t) })
}
