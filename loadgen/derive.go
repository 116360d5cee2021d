package loadgen

import "math"

// derive puts what the servers said beside what the ledger knows. The parts of
// the result always add up to what is outstanding:
//
//	Outstanding = Served + Queued + Stalled + OnDead
//
// In this order:
//
//   - On dead nodes: what their servers held, as far as that many requests
//     have shown no life since.
//   - Stalled: answers that have stopped, connections that don't come about,
//     and what servers held that have not been heard of for long.
//   - Served: what the servers told (their numbers are averages over the last
//     second, and up to two seconds old); never less than the answers of which
//     bytes are coming, as far as servers can work on so many at once: an
//     answer whose last bytes are still under way has left its server. Requests too young to be in those averages fill the
//     room that is left. Without an answer, it is the room alone.
//   - Queued: the rest.
func derive(m *measurement, s *survey, capacity int) Gauge {
	g := Gauge{Outstanding: s.outstanding}
	left := s.outstanding

	dead := boundHeld(m.dead, s)
	g.OnDead = min(dead, left-s.slow)
	left -= g.OnDead

	// Requests that stall because their server is dead are in OnDead already,
	// or in what silent servers held.
	stalled := max(s.stalled-g.OnDead, 0)
	lost := min(boundHeld(m.lost, s), left-s.slow)
	g.Stalled = min(s.slow+max(stalled, lost), left)
	left -= g.Stalled

	room, known := m.room, m.known
	if !known {
		room, known = capacity, capacity > 0
	}
	served := 0
	switch {
	case m.answered > 0:
		served = m.told()
		// A stream that stalls on a living server still has its place there.
		served = max(served-max(stalled-lost, 0), 0)
		served = max(served, atMost(s.flowing, m.most))
		free := s.young
		if known {
			free = min(free, max(room-served, 0))
		}
		served += free
		g.Source = m.source
		g.Basis = BasisMeasured
		if m.answered < m.asked {
			g.Basis = BasisPartial
		}
	case m.frontReport() != nil:
		front := m.frontReport()
		// A proxy before the backends counts what sits on dead ones as well.
		served = max(*front.Served-g.OnDead-max(stalled, lost), s.flowing)
		g.Basis, g.Source = BasisMeasured, front.Source
	case known:
		served = max(room-max(stalled-lost, 0), atMost(s.flowing, m.most))
		g.Basis, g.Source = BasisEstimated, "ready x concurrency"
	default:
		served = left
		g.Basis, g.Source = BasisEstimated, "in flight"
	}
	if g.NoAnswer = m.asked - m.answered - m.waiting; m.waiting > 0 {
		g.Asked, g.Servers = m.asked-m.waiting, m.asked
	}
	g.Served = max(min(served, left), 0)
	g.Queued = left - g.Served
	return g
}

// told is how many requests the servers work on by their own words. Those that
// wait for their turn are taken to have as much to do as the others.
func (m *measurement) told() int {
	all := float64(m.answered+m.waiting) / float64(m.answered)
	n := int(math.Round(max(m.served, m.whole)*all + m.carried))
	if m.waiting > 0 {
		n = atMost(n, m.most)
	}
	return n
}

// boundHeld sums up what servers held, in the order in which they fell silent,
// as far as there are requests that have shown no life since.
func boundHeld(list []held, s *survey) int {
	total := 0.0
	for _, h := range list {
		total = min(total+h.n, float64(s.silentSince(h.since)))
	}
	return int(math.Round(total))
}

// frontReport is what the servers before the backends say, when all of them
// have said how many they work on; else nil.
func (m *measurement) frontReport() *Report {
	for i := range m.reported {
		if t := &m.reported[i]; t.Served != nil && t.Answered == t.Asked {
			return t
		}
	}
	return nil
}

// atMost bounds n by what servers take at once; 0 is no bound.
func atMost(n, most int) int {
	if most > 0 {
		return min(n, most)
	}
	return n
}
