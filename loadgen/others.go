package loadgen

import (
	"fmt"
	"time"
)

const (
	// othersSpan is how far back a server's number may reach: an average over 1 s that is
	// computed once a second, fetched within fetchBound, and valid for maxReadingAge.
	othersSpan = 6 * time.Second
	// overdueLeast is the least time without a byte after which a request counts as
	// overdue, and overdueTimes how many times as long as the quickest answer it is at
	// least: an answer that streams begins soon after a server has taken its request.
	overdueLeast = 5 * time.Second
	overdueTimes = 4
)

// sharedAfter is how long the servers must hold requests of others until the gauge calls its
// numbers estimates: averages may lag behind the generator's requests for less.
const sharedAfter = 2 * time.Second

// sharedSource is the source of the numbers while other clients have sent requests too.
const sharedSource = "servers that other clients use"

// others returns how many requests the servers hold that can't be the generator's: other
// clients have sent them, or clients have given them up. It is 0 within the tolerance of
// averages. The servers don't tell clients apart, so three numbers show it:
//
//   - the requests in front of the backends, served and queued, are more than were in
//     flight at any time that these numbers may be of;
//   - so are those that the backends work on;
//   - answers stream, and servers report more requests as served than can be served of
//     the generator's, because the rest has waited too long for its first byte.
func (m *measurement) others(s *survey, g *Gauge) int {
	most := max(s.most, s.outstanding)
	tolerance := max(1, most/20)
	n := int(m.whole) - most
	for i := range m.reported {
		n = max(n, m.reported[i].total()-most)
	}
	if s.overdue > 0 {
		n = max(n, g.Heard-s.servable(g))
	}
	if n <= tolerance || s.outstanding == 0 {
		return 0
	}
	return n
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

// servable is how many requests may be served on living nodes: all except the overdue.
// Requests on dead nodes and stalled ones may be overdue as well.
func (s *survey) servable(g *Gauge) int {
	rest := g.Outstanding - g.OnDead - g.Stalled
	return rest - max(s.overdue-g.OnDead-g.Stalled, 0)
}

// share marks a gauge whose servers hold n requests that are not the generator's. Of its own
// requests, only those of which bytes are coming are proven to be served.
func (g *Gauge) share(m *measurement, s *survey, n int) {
	g.Others, g.ServedUpTo = n, g.Served
	g.Heard = min(g.Heard, atMost(s.flowing, m.most))
}

// leastQueued is how many of the generator's own requests are queued at least.
func (g *Gauge) leastQueued() int {
	if g.Others > 0 {
		return max(min(g.Queued, g.Outstanding-g.OnDead-g.Stalled-g.ServedUpTo), 0)
	}
	return g.Queued
}

// estimateShare turns the numbers of a gauge that has been shared for long into estimates.
func (g *Gauge) estimateShare(s *survey) {
	g.Basis, g.Source = BasisEstimated, sharedSource
	if s.overdue > 0 {
		served := max(min(g.Served, s.servable(g)), g.Heard)
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

// overdue reports whether a request has waited for its first byte for so long that a server
// whose answers stream has not taken it; the caller holds mu.
func (l *ledger) overdue(r *request, now time.Time) bool {
	return l.quickest > 0 && r.wait == waitFirstByte && now.Sub(r.since) > max(overdueLeast, overdueTimes*l.quickest)
}

// learnStream learns from an answer that streams how soon one begins; the caller holds mu.
func (l *ledger) learnStream(r *request) {
	const streams = time.Second // between the first and the last byte
	if r.wait != waitBody || r.lastByte().Sub(r.FirstByte) < streams {
		return
	}
	if d := max(r.FirstByte.Sub(r.Sent), 1); l.quickest == 0 || d < l.quickest {
		l.quickest = d
	}
}

// noteMost counts the requests in flight at a change; the caller holds mu.
func (l *ledger) noteMost(at time.Time) {
	s := l.time.at(at)
	s.most = max(s.most, len(l.live))
}
