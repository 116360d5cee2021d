package loadgen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
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
	name string   // of the kind of server, clean
	of   *Backend // nil: it is a source
	reading
}

func newQuestion(s Source, of *Backend) question {
	return question{Source: s, name: clean(s.Name, 40), of: of}
}

// reading is the answer of one server; ok is false when there was none.
type reading struct {
	served, queued float64
	ok             bool
	// none: the source answered, and has no such metrics.
	none bool
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

// report adds what a server says in its own numbers, or that it has not answered, to the report of its
// kind.
func (m *measurement) report(q *question) {
	if q.none || q.load != nil {
		return
	}
	i := slices.IndexFunc(m.reported, func(t Report) bool { return t.Source == q.name })
	if i < 0 {
		i = len(m.reported)
		m.reported = append(m.reported, Report{Source: q.name})
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
	if *sum == nil {
		*sum = new(int)
	}
	**sum += int(math.Round(n))
}
