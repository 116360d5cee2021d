package loadgen

import (
	"math"
	"slices"
	"time"
)

const (
	// askMost bounds the questions in any second: each goes through the API
	// server, which others need too, and there may be thousands of pods. Sources
	// get at most half of them.
	askMost = 10
	// wordAge is for how long a server's word counts while it waits for its next
	// turn.
	wordAge = 2500 * time.Millisecond
	// shortWait is less than what a missed sample would cost.
	shortWait = 50 * time.Millisecond
)

// turns says how many questions may be asked. It belongs to one goroutine.
type turns struct {
	asked []time.Time // in the last second
}

// wait is how long it takes until n questions, at most askMost, may be asked.
func (t *turns) wait(now time.Time, n int) time.Duration {
	if over := len(t.asked) + n - askMost; over > 0 {
		return max(time.Second-now.Sub(t.asked[over-1]), 0)
	}
	return 0
}

// take takes up to n of the questions that may be asked now.
func (t *turns) take(now time.Time, n int) int {
	t.asked = slices.DeleteFunc(t.asked, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	n = max(min(n, askMost-len(t.asked)), 0)
	for range n {
		t.asked = append(t.asked, now)
	}
	return n
}

// next takes the questions for this sample, and gives the sources and how many of
// the backends are to be asked: those that have waited longest, which it puts in
// front of the backends. ok is false when it is too soon to ask.
func (sm *sampler) next(all []Source, asked []Backend) (sources []Source, backends int, ok bool) {
	n := min(len(all), askMost/2)
	if d := sm.turns.wait(sm.now(), n+min(len(asked), 1)); d > shortWait {
		return nil, 0, false
	} else if d > 0 {
		time.Sleep(d)
	}
	sources = slices.SortedStableFunc(slices.Values(all), func(a, b Source) int {
		return sm.sources[a.key()].askedAt.Compare(sm.sources[b.key()].askedAt)
	})
	slices.SortStableFunc(asked, func(a, b Backend) int {
		return sm.servers[a.key()].askedAt.Compare(sm.servers[b.key()].askedAt)
	})
	backends = sm.turns.take(sm.now(), n+len(asked)) - n
	return sources[:n], backends, backends >= 0
}

// heard takes what a server has answered, or that it has not.
func (s *server) heard(b *Backend, r reading, at time.Time) {
	s.word, s.askedAt = r, at
	if r.ok {
		s.last, s.lastAt = r.load(b), at
		// What it had lost, it has told again or will never tell.
		s.deadSince, s.held = time.Time{}, 0
	}
}

// count puts a backend's word into the measurement, and reports whether it
// counts. Of one that does not answer, the last word stands for a while.
func (m *measurement) count(b *Backend, s *server, stall time.Duration, now time.Time) bool {
	if b.Ready {
		m.asked++
	}
	switch waiting := s.askedAt.IsZero() || now.Sub(s.askedAt) > wordAge; {
	case waiting && b.Ready:
		m.waiting++
		return false
	case waiting, !s.word.ok && s.last == 0:
		return false
	case !s.word.ok && stall > 0 && now.Sub(s.lastAt) >= stall:
		m.lost = append(m.lost, held{s.lastAt, s.last})
		return false
	case !s.word.ok:
		m.carried += s.last
		return false
	}
	if b.Ready {
		m.answered++
	}
	if s.askedAt.Before(m.oldest) {
		m.oldest = s.askedAt
	}
	m.served += s.last
	m.whole += math.Round(s.last)
	return true
}
