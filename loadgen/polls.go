package loadgen

import (
	"slices"
	"time"
)

const (
	// askMost bounds the questions in a second: each goes through the API
	// server, which others need too, and there may be thousands of pods. Sources
	// get at most half of them.
	askMost = 10
	// maxReadingAge is how long a reading counts while its server waits for the next
	// poll.
	maxReadingAge = 2500 * time.Millisecond
	// nearly is less than a second by as much as a timer may be early.
	nearly = 950 * time.Millisecond
)

// next takes the questions for this sample: it returns the sources and the number of backends to
// poll, those that have waited longest, which it moves to the front. ok is false if it is too
// early to poll.
func (sm *sampler) next(all []Source, asked []Backend) (sources []Source, backends int, ok bool) {
	now := sm.now()
	sm.polls = slices.DeleteFunc(sm.polls, func(at time.Time) bool { return now.Sub(at) >= nearly })
	n := min(len(all), askMost/2)
	backends = min(askMost-len(sm.polls)-n, len(asked))
	if backends < min(len(asked), 1) {
		return nil, 0, false
	}
	for range n + backends {
		sm.polls = append(sm.polls, now)
	}
	sources = slices.SortedStableFunc(slices.Values(all), func(a, b Source) int {
		return sm.sources[a.key()].askedAt.Compare(sm.sources[b.key()].askedAt)
	})
	slices.SortStableFunc(asked, func(a, b Backend) int {
		return sm.servers[a.key()].askedAt.Compare(sm.servers[b.key()].askedAt)
	})
	return sources[:n], backends, true
}

// heard records a server's answer, or its lack.
func (s *server) heard(b *Backend, r reading, at time.Time) {
	s.reading, s.askedAt = r, at
	if r.ok {
		s.last, s.lastAt = r.load(b), at
		// What it had lost, it has told again or will never tell.
		s.deadSince, s.held = time.Time{}, 0
	}
}

// load is the number of requests that a backend works on: those above its limit wait in
// its own queue.
func (r reading) load(b *Backend) float64 {
	if b.Concurrency > 0 {
		return min(r.served, float64(b.Concurrency))
	}
	return r.served
}

// count adds a backend's report to the measurement, and reports whether it counts. If a
// backend does not answer, its last report counts.
func (m *measurement) count(b *Backend, s *server, now time.Time) bool {
	if b.Ready {
		m.asked++
	}
	switch waiting := s.askedAt.IsZero() || now.Sub(s.askedAt) > maxReadingAge; {
	case waiting && b.Ready:
		m.waiting++
		return false
	case b.Ready && s.lastAt.IsZero() && !s.reading.ok:
		m.unheard++
		return false
	case waiting, !s.reading.ok && s.last == 0:
		return false
	case !s.reading.ok:
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
	return true
}
