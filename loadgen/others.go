package loadgen

import (
	"fmt"
	"math"
	"time"
)

// othersSpan is how far back a server's number may reach: an average over 1 s that is computed
// once a second, fetched within fetchBound, and valid for maxReadingAge.
const othersSpan = 6 * time.Second

// sharedAfter is how long the servers must hold requests of others until the gauge calls its
// numbers estimates: averages may lag behind the generator's requests for less.
const sharedAfter = 2 * time.Second

// sharedSource is the source of the numbers while other clients have sent requests too.
const sharedSource = "servers that other clients use"

// others returns how many requests the servers hold that can't be the generator's: other
// clients have sent them, or clients have given them up. It is 0 within the tolerance of
// averages. The servers don't tell clients apart, so two numbers show it: what the backends
// work on, and what servers report as served and queued, are more than were in flight at any
// time that these numbers may be of. Servers that are polled in turns show nothing, as a
// request may have moved from one to the next meanwhile.
func (m *measurement) others(s *survey) int {
	most := max(s.most, s.outstanding)
	tolerance := float64(max(1, most/20))
	n := 0.0
	if !m.turns {
		n = m.served
	}
	for i := range m.reported {
		if t := &m.reported[i]; !t.turns {
			n = max(n, float64(t.total()))
		}
	}
	if n -= float64(most); n <= tolerance || s.outstanding == 0 {
		return 0
	}
	return int(math.Round(n))
}

// total is the number of requests in all states that the servers report.
func (t *Report) total() (n int) {
	for _, p := range []*int{t.Served, t.Queued, t.Held} {
		if p != nil {
			n += *p
		}
	}
	return n
}

// share marks a gauge whose servers hold n requests that are not the generator's. Of its own
// requests, only those of which bytes are coming are proven to be served.
func (g *Gauge) share(m *measurement, s *survey, n int) {
	g.Others, g.ServedUpTo = n, g.Served
	g.Heard = min(g.Heard, atMost(s.flowing, m.most))
}

// LeastQueued is how many of the generator's own requests are queued at least.
func (g *Gauge) LeastQueued() int {
	if g.Others > 0 {
		return max(min(g.Queued, g.Outstanding-g.OnDead-g.Stalled-g.ServedUpTo), 0)
	}
	return g.Queued
}

// estimateShare turns the numbers of a gauge that has been shared for a while into estimates. If
// the answers stream, a request without a byte is served only if it is young.
func (g *Gauge) estimateShare(s *survey, streams bool) {
	g.Basis, g.Source = BasisEstimated, sharedSource
	if served := max(s.flowing+s.young, g.Heard); streams && served < g.Served {
		g.Queued, g.Served = g.Queued+g.Served-served, served
	}
	g.Disagreement = fmt.Sprintf("the servers hold %d requests of others: serving and queued are estimates", g.Others)
}

// mostSince returns the largest number of requests in flight at once since then; the caller
// holds mu.
func (l *ledger) mostSince(from time.Time) int {
	most := len(l.live)
	for _, s := range l.time.ring {
		if s != nil && s.unix >= from.Unix() {
			most = max(most, s.most)
		}
	}
	return most
}

// noteMost counts the requests in flight at a change; the caller holds mu.
func (l *ledger) noteMost(at time.Time) {
	s := l.time.at(at)
	s.most = max(s.most, len(l.live))
}
