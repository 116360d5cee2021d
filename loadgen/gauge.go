package loadgen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The gauge has two readings: the requests in flight by class of evidence (survey), and what
// the servers report (measurement). derive is the rule that joins them.

// measurement holds the servers' reports of one time. It is immutable.
type measurement struct {
	at time.Time
	// asked counts the ready servers that were polled, answered those that answered.
	asked, answered int
	// served is what those that answered work on, and dead the last word of servers whose
	// node died.
	served float64
	dead   []holding
	// room is the total capacity of the ready servers on living nodes; it is valid only
	// if known is true, that is, if all of them have a limit.
	room  int
	known bool
	// most is what all servers on living nodes take at once, also those that
	// are not ready (any more); 0 when one of them has no limit.
	most int
	// sources are the names of those that answered, reported is what servers say in their own
	// numbers.
	sources  []string
	reported []Report
}

// holding is the number of requests that a server had when it was last heard of.
type holding struct {
	since time.Time
	n     float64
}

const (
	// doubtAfter is how long requests wait beside free slots until they are unknown.
	doubtAfter = 5 * time.Second
	// othersSpan is how far back a server's number may reach: an average over 1 s that is
	// computed once a second, and fetched mostAsked * askEach ago.
	othersSpan = 6 * time.Second
	// sharedSource is the source of the numbers while other clients have sent requests too.
	sharedSource = "servers that other clients use"
)

// derive joins the servers' reports and the requests in flight. The parts always add up:
//
//	Outstanding = Served + Queued + Stalled + OnDead
//
// sampler.gauge may move Queued to Unknown later. In this order:
//
//   - On dead nodes: what their servers held, as far as that many requests have shown no
//     life since.
//   - Stalled: answers that have stopped, and connections that don't come about.
//   - Served: what the servers report (averages over the last second, up to two seconds
//     old), and at least the answers of which bytes are coming. Requests too young to be
//     in those averages fill the room that is left: the whole is then partly measured.
//     Without a report it is the room, an estimate.
//   - Queued: the rest.
func derive(m *measurement, s *survey, capacity int, limited bool) Gauge {
	g := Gauge{Outstanding: s.outstanding, Streaming: atMost(s.flowing, m.most), Reported: m.reported, NoAnswer: m.asked - m.answered}
	left := s.outstanding
	g.OnDead = min(s.held(m.dead), left-s.slow)
	left -= g.OnDead
	// Requests that stall because their server is dead are in OnDead already. Others still
	// have their places on living servers.
	stalled := max(s.stalled-g.OnDead, 0)
	g.Stalled = min(s.slow+stalled, left)
	left -= g.Stalled

	room, known := capacity, limited
	if m.known {
		room, known = m.room, true
	}
	switch {
	case m.answered > 0:
		g.Served = max(m.load()-stalled, g.Streaming)
		young := s.young
		if known {
			young = min(young, max(room-g.Served, 0))
		}
		g.Heard = min(g.Served, max(int(math.Round(m.served)), g.Streaming))
		g.Basis, g.Source = BasisMeasured, strings.Join(m.sources, ", ")
		if young > 0 && g.Served < left || m.answered < m.asked {
			g.Basis = BasisPartial
		}
		g.Served += young
	case known:
		g.Served = max(room-stalled, g.Streaming)
		g.Basis, g.Source = BasisEstimated, "ready x concurrency"
	default:
		g.Served = left
		g.Basis, g.Source = BasisEstimated, "requests in flight"
	}
	g.Served = max(min(g.Served, left), 0)
	g.Queued = left - g.Served
	g.Heard = max(min(g.Heard, g.Served), 0)
	g.Others = m.others(s)
	if g.Others > 0 {
		// Of the generator's own requests, only those of which bytes are coming are proven to be served.
		g.Heard, g.Basis, g.Source = min(g.Heard, g.Streaming), BasisEstimated, sharedSource
		g.Disagreement = fmt.Sprintf("the servers hold %d requests of others: serving and queued are estimates", g.Others)
	}
	return g
}

// load is the number of requests that the servers work on. Those that do not answer are taken
// to be as busy as the others.
func (m *measurement) load() int {
	n := int(math.Round(m.served * float64(m.asked) / float64(m.answered)))
	if m.answered < m.asked {
		n = atMost(n, m.most)
	}
	return n
}

// held adds up the requests that servers held, in the order in which the servers fell
// silent, up to the number of requests that have shown no life since. A last word of 0.8 is the
// average over a second in which a request began.
func (s *survey) held(list []holding) (total int) {
	for _, h := range list {
		total = min(total+int(math.Ceil(h.n)), s.silentSince(h.since))
	}
	return total
}

// atMost limits n to the servers' capacity; 0 is no limit.
func atMost(n, most int) int {
	if most > 0 {
		return min(n, most)
	}
	return n
}

// doubtful reports whether requests wait beside free slots and no server reports them as
// queued. Knative's activator sends requests to pods that are gone until it has noticed,
// and may wait seconds for pods that have come.
func (g *Gauge) doubtful() bool {
	queued := slices.ContainsFunc(g.Reported, func(t Report) bool { return t.Answered == t.Asked && t.Queued != nil && *t.Queued >= g.Queued })
	heard := (g.Basis == BasisMeasured || g.Basis == BasisPartial) && g.NoAnswer == 0
	return heard && !queued && g.Limited && g.Queued > 0 && g.Served+g.Stalled+g.OnDead < g.Capacity
}

// others returns how many requests the servers hold that can't be the generator's: other
// clients have sent them, or clients have given them up. It is 0 within the tolerance of
// averages. The servers don't tell clients apart, so two numbers show it: what the backends
// work on, and what servers report as served and queued, are more than were in flight at any
// time that these numbers may be of.
func (m *measurement) others(s *survey) int {
	n, most := int(math.Round(m.served)), max(s.most, s.outstanding)
	for i := range m.reported {
		n = max(n, m.reported[i].total())
	}
	if n-most <= max(1, most/20) || s.outstanding == 0 {
		return 0
	}
	return n - most
}

// total is the number of requests that the servers report.
func (t *Report) total() (n int) {
	for _, p := range []*int{t.Served, t.Queued} {
		if p != nil {
			n += *p
		}
	}
	return n
}
