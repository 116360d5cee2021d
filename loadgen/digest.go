package loadgen

import (
	"cmp"
	"slices"
	"time"
)

// Digest sums up single requests, for the details of a load. It is immutable.
type Digest struct {
	// Failed are the failed requests by class and endpoint, most first.
	Failed []FailedGroup
	// Took counts the ok requests by how long they took from their due time; steps
	// without any are left out.
	Took []TookStep
	// Failures and Answers are the last failed and the last ok requests, newest first.
	Failures, Answers []Record
}

// FailedGroup counts the requests that failed with one class at one endpoint.
type FailedGroup struct {
	Class Class
	// Endpoint is the address that was dialed or that answered; empty if there was
	// none, or if there are too many endpoints to list.
	Endpoint string
	Failures
}

// TookStep counts the requests that took at least From and less than To.
type TookStep struct {
	From, To time.Duration
	N        int
}

const (
	// mostGroups is the largest number of groups, and mostKept that of single requests
	// in each list.
	mostGroups = 128
	mostKept   = 64
	// digestEach is the shortest time between two digests.
	digestEach = time.Second
)

// digest collects the data of a Digest; the ledger's lock guards it.
type digest struct {
	groups             []FailedGroup
	failures, answered []Record // oldest first
	made               *Digest
	madeAt             time.Time
	stale              bool
}

// take adds the record of a request that has ended.
func (d *digest) take(r *Record) {
	switch {
	case r.Class.Failed():
		d.group(r).Note(r)
		d.failures = keep(d.failures, r)
	case r.Class == ClassOK:
		d.answered = keep(d.answered, r)
	default:
		return
	}
	d.stale = true
}

func keep(all []Record, r *Record) []Record {
	if len(all) >= 2*mostKept {
		all = append(all[:0], all[len(all)-mostKept:]...)
	}
	return append(all, *r)
}

// group returns the group of a failed request.
func (d *digest) group(r *Record) *FailedGroup {
	endpoint := cmp.Or(r.Entry, r.Remote)
	for {
		i := slices.IndexFunc(d.groups, func(g FailedGroup) bool { return g.Class == r.Class && g.Endpoint == endpoint })
		switch {
		case i >= 0:
			return &d.groups[i]
		case len(d.groups) < mostGroups || endpoint == "":
			d.groups = append(d.groups, FailedGroup{Class: r.Class, Endpoint: endpoint})
			return &d.groups[len(d.groups)-1]
		}
		endpoint = "" // too many endpoints: one group for all others
	}
}

// digest makes a new Digest if a request has ended since the last one and that one is
// old; the caller holds mu.
func (l *ledger) digest(now time.Time) *Digest {
	d := &l.single
	if d.made != nil && (!d.stale || now.Sub(d.madeAt) < digestEach && !now.Before(d.madeAt)) {
		return d.made
	}
	newest := func(all []Record) []Record {
		out := slices.Clone(all[max(0, len(all)-mostKept):])
		slices.Reverse(out)
		return out
	}
	d.made, d.madeAt, d.stale = &Digest{Failed: slices.Clone(d.groups), Took: l.all.latency.steps(), Failures: newest(d.failures), Answers: newest(d.answered)}, now, false
	slices.SortStableFunc(d.made.Failed, func(a, b FailedGroup) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Class, b.Class)) })
	return d.made
}

// steps adds up a histogram in steps of 1, 2 and 5.
func (s *histogram) steps() []TookStep {
	if s == nil || s.h == nil {
		return nil
	}
	var out []TookStep
	at, from := 0, time.Duration(0)
	to := time.Millisecond
	for _, bar := range s.h.Distribution() {
		for time.Duration(bar.From)*time.Microsecond >= to {
			from, to = to, to*time.Duration([]int{4, 5, 4}[at%3])/2
			at++
		}
		if bar.Count == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].From == from {
			out[n-1].N += int(bar.Count)
		} else {
			out = append(out, TookStep{from, to, int(bar.Count)})
		}
	}
	return out
}

// Digest returns a summary of single requests. It is never nil, and at most a second
// old.
func (g *Generator) Digest() *Digest {
	l := g.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.digest(g.now())
}
