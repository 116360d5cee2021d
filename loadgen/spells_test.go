package loadgen

import (
	"math/rand/v2"
	"testing"
)

// play gives requests, sent at a rate for so long, to Spells in the order of
// their ends, and returns what it says.
func play(s *Spells, from, to, rate float64, fails func(sent float64) bool, took float64) []SpellChange {
	var said []SpellChange
	var late []*Record
	note := func(r *Record) {
		if c, ok := s.Note(r); ok {
			said = append(said, c)
		}
	}
	for t := from; t < to; t += 1 / rate {
		for len(late) > 0 && !late[0].End.After(at(t)) {
			note(late[0])
			late = late[1:]
		}
		if fails(t) {
			late = append(late, ended(t, ClassTotal, took))
		} else {
			note(ended(t, ClassOK, 0.01))
		}
	}
	for _, r := range late {
		note(r)
	}
	return said
}

func kinds(said []SpellChange) (out []SpellKind) {
	for _, c := range said {
		out = append(out, c.Kind)
	}
	return out
}

// One of six endpoints is dead for a quarter of an hour: one spell, however
// chance deals out the failures.
func TestAPartThatFailsIsOneSpell(t *testing.T) {
	t.Parallel()
	const seeds = uint64(3)
	for _, rate := range []float64{0.5, 2, 20} {
		worst := 0
		for seed := range seeds {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var s Spells
			said := play(&s, 0, 1200, rate, func(sent float64) bool { return sent >= 100 && sent < 1000 && rnd.IntN(6) == 0 }, 3)
			worst = max(worst, len(said))
			if len(said) < 3 || said[0].Kind != SpellBegins || said[len(said)-1].Kind != SpellEnds {
				t.Fatalf("at %g a second, seed %d: %v", rate, seed, kinds(said))
			}
			end := said[len(said)-1]
			if share := float64(end.N) / float64(end.Of); rate >= 2 && (share < 0.1 || share > 0.25) {
				t.Errorf("at %g a second: %d of %d failed", rate, end.N, end.Of)
			}
			if end.At.Before(end.Last) || end.Last.Before(at(900)) {
				t.Errorf("at %g a second: it ends at %v, the last failure was sent at %v", rate, end.At, end.Last)
			}
		}
		if worst > 9 {
			t.Errorf("at %g a second there are up to %d lines", rate, worst)
		}
	}
}

// All fail for a while, then none does: it is said soon, and no part is made up.
func TestATotalOutageBeginsAndEnds(t *testing.T) {
	t.Parallel()
	for _, took := range []float64{0.01, 3} {
		var s Spells
		said := play(&s, 0, 120, 10, func(sent float64) bool { return sent >= 30 && sent < 60 }, took)
		if len(said) != 2 || said[0].Kind != SpellBegins || said[1].Kind != SpellEnds {
			t.Fatalf("failures that take %g s: %v", took, kinds(said))
		}
		end := said[1]
		if end.N != 300 || end.First != at(30) || end.At.Before(at(60)) || end.At.After(at(60.2)) {
			t.Errorf("failures that take %g s: %+v", took, end)
		}
	}
}

// What was all becomes a part.
func TestAnOutageThatBecomesPartial(t *testing.T) {
	t.Parallel()
	var s Spells
	n := 0
	said := play(&s, 0, 300, 10, func(sent float64) bool {
		n++
		return sent >= 30 && (sent < 60 || sent < 200 && n%3 == 0)
	}, 0.5)
	if got := kinds(said); len(got) != 3 || got[0] != SpellBegins || got[1] != SpellPart || got[2] != SpellEnds {
		t.Fatalf("%v", got)
	}
}

func TestTheTimelineReportsASingleFailure(t *testing.T) {
	t.Parallel()
	var s Spells
	said := play(&s, 0, 60, 10, func(sent float64) bool { return sent > 30.05 && sent < 30.15 }, 0.1)
	if got := kinds(said); len(got) != 2 || got[0] != SpellBegins || got[1] != SpellEnds || said[1].N != 1 {
		t.Fatalf("%+v", said)
	}
	// Cancelled and unsent requests say nothing about the service.
	for _, c := range []Class{ClassCancelled, ClassCensored, ClassUnsent} {
		if c, ok := s.Note(ended(100, c, 1)); ok {
			t.Errorf("%+v", c)
		}
	}
}

// In whatever order requests end, a reported spell has failures in it, and a spell with
// a part of the requests never has all.
func TestASpellHasFailures(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var s Spells
		sent := 0.0
		for range 40 {
			sent += rnd.Float64() * []float64{0.1, 1, 20, 70}[rnd.IntN(4)]
			class := ClassOK
			if rnd.IntN(3) == 0 {
				class = ClassReset
			}
			c, said := s.Note(ended(sent-rnd.Float64()*10, class, rnd.Float64()*5))
			if said && (c.N <= 0 || c.Of < c.N || c.Kind == SpellPart && c.N == c.Of) {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
}
