package loadgen

import "math"

// derive combines the servers' reports with the ledger. The parts of the result always
// add up to the outstanding requests:
//
//	Outstanding = Served + Queued + Stalled + OnDead
//
// sampler.gauge may move Queued to Unknown later.
//
// In this order:
//
//   - On dead nodes: what their servers reported, as far as that many requests
//     have shown no life since. Servers that died before they reported anything
//     count with a share of the requests, but while the living report theirs only
//     as far as these have room: else the requests are in a queue.
//   - Stalled: answers that have stopped, connections that don't come about,
//     and what servers held that have not been heard of for long.
//   - Served: what the servers told (their numbers are averages over the last
//     second, and up to two seconds old); never less than the answers of which
//     bytes are coming, as far as servers can work on so many at once: an
//     answer whose last bytes are still under way has left its server. Requests
//     too young to be in those averages fill the room that is left; these are
//     derived, so the whole is then no longer called measured. Without an answer,
//     it is the room alone.
//   - Queued: the rest.
func derive(m *measurement, s *survey, capacity int, limited bool) Gauge {
	g := Gauge{Outstanding: s.outstanding}
	left := s.outstanding

	dead := boundHoldings(m.dead, s, m.answered == 0)
	g.OnDead = min(dead, left-s.slow)
	left -= g.OnDead

	// Requests that stall because their server is dead are in OnDead already,
	// or in what silent servers held.
	stalled := max(s.stalled-g.OnDead, 0)
	lost := min(boundHoldings(m.lost, s, true), left-s.slow)
	g.Stalled = min(s.slow+max(stalled, lost), left)
	left -= g.Stalled

	room, known := m.slots(capacity, limited)
	served := 0
	switch {
	case m.answered > 0:
		served = m.reportedLoad()
		// A stream that stalls on a living server still has its place there.
		served = max(served-max(stalled-lost, 0), 0)
		served = max(served, atMost(s.flowing, m.most))
		free := s.young
		if known {
			free = min(free, max(room-served, 0))
		}
		g.Heard = min(served, max(int(math.Round(max(m.served, m.whole))), atMost(s.flowing, m.most)))
		g.Source = m.source
		g.Basis = BasisMeasured
		if free > 0 && served < left || m.answered < m.asked {
			g.Basis = BasisPartial
		}
		served += free
	case m.frontReport() != nil:
		served = m.behindFront(&g, s.flowing, max(stalled, lost), dead > boundHoldings(m.dead, s, false))
	case known:
		served = max(room-max(stalled-lost, 0), atMost(s.flowing, m.most))
		g.Basis, g.Source = BasisEstimated, "ready x concurrency"
	default:
		served = left
		g.Basis, g.Source = BasisEstimated, "requests in flight"
	}
	g.NoAnswer = m.asked - m.answered - m.waiting
	if m.waiting > 0 {
		g.Asked, g.Servers = m.asked-m.waiting, m.asked
	}
	g.Served = max(min(served, left), 0)
	g.Queued = left - g.Served
	if m.answered > 0 && (!known || g.Served < room) {
		g.presumeDead(boundHoldings(m.dead, s, true) - dead)
	}
	g.Heard = max(min(g.Heard, g.Served), 0)
	g.Streaming = atMost(s.flowing, m.most)
	if n := m.others(s); n > 0 {
		g.share(m, s, n)
	}
	return g
}

// behindFront returns how many requests the backends serve by the report of the servers
// in front of them, which count what sits on dead backends as well. If that part is
// presumed, so is the rest.
func (m *measurement) behindFront(g *Gauge, flowing, stalled int, presumed bool) int {
	front := m.frontReport()
	served := max(*front.Served-g.OnDead-stalled, flowing)
	g.Heard, g.Basis, g.Source = served, BasisMeasured, front.Source
	if presumed {
		g.Heard, g.Basis = flowing, BasisEstimated
	}
	return served
}

// slots returns the capacity of the ready servers, or otherwise that of the service.
func (m *measurement) slots(capacity int, limited bool) (n int, known bool) {
	if m.known {
		return m.room, true
	}
	return capacity, limited
}

// presumeDead takes up to n requests from the queue for requests on servers that died
// before they reported any.
func (g *Gauge) presumeDead(n int) {
	if n = min(n, g.Queued); n > 0 {
		g.OnDead, g.Queued, g.Basis = g.OnDead+n, g.Queued-n, BasisPartial
	}
}

// reportedLoad is the number of requests that the servers report. It assumes that servers that
// wait for their poll, or have never answered one, are as busy as the others.
func (m *measurement) reportedLoad() int {
	all := float64(m.answered+m.waiting+m.unheard) / float64(m.answered)
	n := int(math.Round(max(m.served, m.whole)*all + m.carried))
	if m.waiting+m.unheard > 0 {
		n = atMost(n, m.most)
	}
	return n
}

// boundHoldings adds up the requests that servers held, in the order in which the
// servers fell silent, up to the number of requests that have shown no life since. It
// leaves out those of servers that never reported any unless unheard is true.
func boundHoldings(list []holding, s *survey, unheard bool) int {
	total := 0.0
	for _, h := range list {
		if unheard || !h.unheard {
			total = min(total+h.n, float64(s.silentSince(h.since)))
		}
	}
	return int(math.Round(total))
}

// frontReport returns the reports of the servers in front of the backends, if all of
// them have reported their requests and requests pass them; else nil.
func (m *measurement) frontReport() *Report {
	for i := range m.reported {
		if t := &m.reported[i]; t.Served != nil && t.Answered == t.Asked && !t.bypassed {
			return t
		}
	}
	return nil
}

// atMost limits n to the servers' capacity; 0 is no limit.
func atMost(n, most int) int {
	if most > 0 {
		return min(n, most)
	}
	return n
}
