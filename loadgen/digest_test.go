package loadgen

import (
	"fmt"
	"testing"
)

// A digest has each failure in a group, the newest requests, and each duration in its
// step.
func TestADigestCountsTheOutcomesOfRequests(t *testing.T) {
	t.Parallel()
	var all digest
	take := all.take
	for i := range 300 {
		r := ended(float64(i), ClassReset, 1)
		r.ID, r.Remote = fmt.Sprint(i), fmt.Sprintf("10.0.0.%d:80", i%2)
		if i%3 == 0 {
			r.Class, r.Remote = ClassConnectTimeout, ""
		}
		take(r)
	}
	for _, took := range []float64{0.0005, 0.0015, 0.003, 0.003, 0.15, 4, 70} {
		take(ended(400, ClassOK, took))
	}
	take(ended(401, ClassCancelled, 1))
	d := all.shown()
	sum := 0
	for i, g := range d.Failed {
		sum += g.N
		if i > 0 && g.N > d.Failed[i-1].N || (g.Class == ClassConnectTimeout) != (g.Endpoint == "") {
			t.Errorf("%+v", g)
		}
	}
	if len(d.Failed) != 3 || sum != 300 {
		t.Errorf("%d failures in %d groups", sum, len(d.Failed))
	}
	if len(d.Failures) != mostKept || d.Failures[0].ID != "299" || d.Failures[1].ID != "298" || len(d.Answers) != 7 {
		t.Errorf("%d failures, the newest %s, %d answers", len(d.Failures), d.Failures[0].ID, len(d.Answers))
	}
}
