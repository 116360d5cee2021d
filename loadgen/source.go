package loadgen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"lightsout/internal/text"
)

// Source is a server that reports requests without being a backend, such as one of
// Knative's activators in front of the backends.
type Source struct {
	Namespace, Pod string
	Metrics
}

// Report is the sum of the reports of all servers of one kind. It counts everybody's
// requests, not only the generator's, and is as old as the sample.
type Report struct {
	// Source is their name.
	Source string `json:"source,omitzero"`
	// Served and Queued are nil where no server has said: that is "no answer",
	// and not 0. Where Answered is less than Asked, they are the sum of those
	// that have said.
	Served   *int `json:"served,omitzero"`
	Queued   *int `json:"queued,omitzero"`
	Asked    int  `json:"asked,omitzero"`
	Answered int  `json:"answered,omitzero"`
}

// question is what the gauge asks a server, and its answer.
type question struct {
	Source
	of *Backend // nil: it is a source
	reading
}

// reading is the answer of one server; ok is false when there was none.
type reading struct {
	served, queued float64
	ok             bool
	// none: the source answered, and has no such metrics.
	none bool
}

// questions are those to ask now: of the living backends that are ready or have worked on requests, and
// of the sources. m gets the capacity of the living backends.
func (sm *sampler) questions(m *measurement) (all []question) {
	backends := sm.opts.Backends()
	sm.learn(backends, m.at)
	m.known = len(backends) > 0
	unlimited := false
	for _, b := range backends {
		if b.OnDead {
			continue
		}
		m.most += b.Concurrency
		unlimited = unlimited || b.Concurrency <= 0
		if b.Ready {
			m.room += b.Concurrency
			m.known = m.known && b.Concurrency > 0
		}
		if (b.Metrics.Served != "" || b.Metrics.load != nil) && (b.Ready || sm.servers[b.key()].last > 0) {
			all = append(all, question{Source: Source{b.Namespace, b.Pod, b.Metrics}, of: &b})
		}
	}
	if unlimited {
		m.most = 0
	}
	if sm.opts.Fetch == nil {
		return nil
	}
	return append(all, text.Each(sm.opts.Sources(), func(s Source) question { return question{Source: s} })...)
}

// ask fetches the answers, in parallel and within one bound.
func (sm *sampler) ask(questions []question) {
	ctx, cancel := context.WithTimeout(sm.ctx, fetchBound)
	defer cancel()
	var wg sync.WaitGroup
	for i := range questions {
		q := &questions[i]
		wg.Go(func() {
			body, err := sm.opts.Fetch(ctx, q.Namespace, q.Pod, q.Port, cmp.Or(q.Path, "metrics"))
			if err == nil {
				q.reading = q.decode(body)
			}
		})
	}
	wg.Wait()
}

// decode reads an answer.
func (m *Metrics) decode(body []byte) (r reading) {
	var err error
	if m.load != nil {
		r.served, err = m.load(body)
	} else {
		r, err = decodeMetrics(body, m)
	}
	r.ok, r.none = err == nil, errors.Is(err, errAbsent)
	return r
}

// take adds what a backend has answered, or that it has not.
func (m *measurement) take(q *question, s *server) {
	if q.of.Ready {
		m.asked++
	}
	if !q.ok {
		return
	}
	if q.of.Ready {
		m.answered++
	}
	// What it had lost, it has told again or will never tell. Requests above its limit wait in its own queue.
	s.last, s.lost = q.served, holding{}
	if limit := q.of.Concurrency; limit > 0 {
		s.last = min(s.last, float64(limit))
	}
	m.served += s.last
	if !slices.Contains(m.sources, q.Name) {
		m.sources = append(m.sources, q.Name)
	}
}

// report adds what a server says in its own numbers, or that it has not answered, to the report of its
// kind.
func (m *measurement) report(q *question) {
	if q.none || q.load != nil {
		return
	}
	i := slices.IndexFunc(m.reported, func(t Report) bool { return t.Source == q.Name })
	if i < 0 {
		i = len(m.reported)
		m.reported = append(m.reported, Report{Source: q.Name})
	}
	t := &m.reported[i]
	t.Asked++
	if !q.ok {
		return
	}
	t.Answered++
	if q.Served != "" {
		plus(&t.Served, q.served)
	}
	if q.Queued != "" {
		plus(&t.Queued, q.queued)
	}
}

func plus(sum **int, n float64) {
	*sum = cmp.Or(*sum, new(int))
	**sum += int(math.Round(n))
}
