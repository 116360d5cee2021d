package loadgen

import (
	"testing"
)

// Servers do not tell clients apart. Where they hold more requests than are in flight, the
// numbers are nobody's measurement of the generator's own.
func TestDeriveDoesNotClaimRequestsOfOthers(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	activator := func(served, queued int) []Report {
		return []Report{{Source: "activator", Served: n(served), Queued: n(queued), Asked: 1, Answered: 1}}
	}
	pods := func(served float64, reports []Report) measurement {
		return measurement{asked: 8, answered: 8, served: served, room: 8, most: 8, known: true, source: "queue-proxy", reported: reports}
	}
	for name, c := range map[string]struct {
		m                     measurement
		s                     survey
		others, heard, upTo   int
		lateServed, lateQueue int
	}{
		"alone":                                  {pods(8, activator(8, 4)), survey{outstanding: 12, most: 12}, 0, 8, 0, 8, 4},
		"the activator has others' too":          {pods(8, activator(8, 12)), survey{outstanding: 12, most: 12}, 8, 0, 8, 8, 4},
		"and two of ours stream":                 {pods(8, activator(8, 12)), survey{outstanding: 12, most: 12, flowing: 2}, 8, 2, 8, 8, 4},
		"its numbers are of a moment ago":        {pods(8, activator(8, 12)), survey{outstanding: 12, most: 20}, 0, 8, 0, 8, 4},
		"one more is within the tolerance":       {pods(8, activator(8, 5)), survey{outstanding: 12, most: 12}, 0, 8, 0, 8, 4},
		"together, as before 1.22":               {pods(8, []Report{{Held: n(20), Asked: 1, Answered: 1}}), survey{outstanding: 12, most: 12}, 8, 0, 8, 8, 4},
		"the pods have others' too":              {pods(8, nil), survey{outstanding: 3, most: 3}, 5, 0, 3, 3, 0},
		"averages of five in turn at eight pods": {pods(5, nil), survey{outstanding: 5, most: 5}, 0, 5, 0, 5, 0},
	} {
		g := derive(&c.m, &c.s, 8, true)
		if g.Others != c.others || g.Heard != c.heard || g.ServedUpTo != c.upTo {
			t.Errorf("%s: others %d, heard %d, up to %d", name, g.Others, g.Heard, g.ServedUpTo)
		}
		if g.Served != c.lateServed || g.Queued != c.lateQueue || (g.Basis == BasisEstimated) != (c.others > 0) {
			t.Errorf("%s: late: served %d, queued %d, %s", name, g.Served, g.Queued, g.Basis)
		}
	}
}
