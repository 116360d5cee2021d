package loadgen

import (
	"math/rand/v2"
	"slices"
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

// A service that goes down again soon after is down again: what failed before does not make it a part.
func TestASecondOutageIsItsOwnSpell(t *testing.T) {
	var s Spells
	said := play(&s, 0, 150, 1, func(sent float64) bool { return sent >= 2 && sent < 16 || sent >= 30 && sent < 45 }, 0.1)
	if want := []SpellKind{SpellBegins, SpellEnds, SpellBegins, SpellEnds}; !slices.Equal(kinds(said), want) {
		t.Fatalf("%v, want %v", kinds(said), want)
	}
	if x := said[3]; x.N != 15 || x.Of != 15 {
		t.Errorf("%d of %d failed, want 15 of 15", x.N, x.Of)
	}
}

// Requests that were sent soon after a failure and hang show only later that the service is still down: the
// first that succeeds beside them ends no spell.
func TestASuccessSoonAfterAFailureEndsNoSpell(t *testing.T) {
	var s Spells
	said := play(&s, 0, 7, 2.5, func(sent float64) bool { return sent >= 1.6 && sent < 2.5 }, 0.1)
	if want := []SpellKind{SpellBegins}; !slices.Equal(kinds(said), want) {
		t.Errorf("%v, want %v", kinds(said), want)
	}
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
		if worst > 12 {
			t.Errorf("at %g a second there are up to %d lines", rate, worst)
		}
	}
}

// Each kind of an outage is announced once, and soon; no part is made up.
func TestASpellBeginsAndEnds(t *testing.T) {
	t.Parallel()
	within := func(sent, from, to float64) bool { return sent >= from && sent < to }
	for name, c := range map[string]struct {
		fails       func(sent float64) bool
		took        float64
		want        []SpellKind
		n           int
		least, most float64 // when it ends
	}{
		"all fail":        {func(sent float64) bool { return within(sent, 30, 60) }, 0.01, []SpellKind{SpellBegins, SpellEnds}, 300, 60, 60.2},
		"all fail slowly": {func(sent float64) bool { return within(sent, 30, 60) }, 3, []SpellKind{SpellBegins, SpellEnds}, 300, 60, 60.2},
		"one fails":       {func(sent float64) bool { return within(sent, 30.05, 30.15) }, 0.1, []SpellKind{SpellBegins, SpellEnds}, 1, 30.1, 31},
		"all, then every third": {func(sent float64) bool {
			return within(sent, 30, 60) || within(sent, 60, 200) && int(sent*10)%3 == 0
		}, 0.5, []SpellKind{SpellBegins, SpellPart, SpellEnds}, 0, 199, 201},
	} {
		var s Spells
		said := play(&s, 0, 300, 10, c.fails, c.took)
		if got := kinds(said); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		end := said[len(said)-1]
		if c.n > 0 && end.N != c.n || end.At.Before(at(c.least)) || end.At.After(at(c.most)) {
			t.Errorf("%s: %+v", name, end)
		}
		// Cancelled and unsent requests say nothing about the service.
		for _, class := range []Class{ClassCancelled, ClassCensored, ClassUnsent} {
			if c, ok := s.Note(ended(400, class, 1)); ok {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// A failure shows when its time limit is over: those that succeeded meanwhile count among its spell.
func TestSuccessesBesideTheFirstFailureCount(t *testing.T) {
	var s Spells
	said := play(&s, 0.6, 30, 1, func(sent float64) bool { return sent == 5.6 || sent == 8.6 }, 3.5)
	if want := []SpellKind{SpellBegins, SpellEnds}; !slices.Equal(kinds(said), want) || said[1].N != 2 || said[1].Of != 4 {
		t.Errorf("%+v", said)
	}
}
