package loadgen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
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
	Served *int `json:"served,omitzero"`
	Queued *int `json:"queued,omitzero"`
	// Held is the sum of both, of servers that do not tell them apart; nil as well.
	Held     *int `json:"held,omitzero"`
	Asked    int  `json:"asked,omitzero"`
	Answered int  `json:"answered,omitzero"`

	// turns: there are too many servers to poll each in every measurement.
	turns bool
}

// reporting gathers what servers of one kind say.
type reporting struct {
	Report
	served, queued, held float64
	heard                bool // one of them has answered since the load began
}

// reports lists all kinds, in the order of their first report.
type reports []reporting

// add takes the answer of one server, or that there was none. heard is whether it has ever
// answered, and turns whether the servers of its kind are polled in turns.
func (l *reports) add(source string, m *Metrics, r reading, heard, turns bool) {
	if r.none {
		return
	}
	i := slices.IndexFunc(*l, func(t reporting) bool { return t.Source == source })
	if i < 0 {
		i = len(*l)
		*l = append(*l, reporting{Report: Report{Source: source}})
	}
	t := &(*l)[i]
	t.Asked++
	t.heard, t.turns = t.heard || heard, t.turns || turns
	if !r.ok {
		return
	}
	t.Answered++
	if r.together {
		t.held += r.served
		t.Held = rounded(t.held)
		return
	}
	if m.Served != "" {
		t.served += r.served
		t.Served = rounded(t.served)
	}
	if m.Queued != "" {
		t.queued += r.queued
		t.Queued = rounded(t.queued)
	}
}

func rounded(f float64) *int {
	n := int(math.Round(f))
	return &n
}

// results returns the reports, except of servers that have never answered: by default, Knative's
// activator has no metrics since 1.19.
func (l reports) results() []Report {
	var out []Report
	for _, t := range l {
		if t.heard {
			out = append(out, t.Report)
		}
	}
	return out
}

// reading is the answer of one server; ok is false when there was none.
type reading struct {
	served, queued float64
	ok             bool
	// together: served includes the queued ones, of a server that does not tell them
	// apart.
	together bool
	// none: the source answered, and has no such metrics.
	none bool
}

// datedReading is the result of the last poll of a source, and its time.
type datedReading struct {
	reading
	askedAt time.Time
	// heard: an earlier poll has had an answer, or this one.
	heard bool
}

// at returns the reading while it is valid.
func (w datedReading) at(now time.Time) reading {
	if now.Sub(w.askedAt) > maxReadingAge {
		return reading{}
	}
	return w.reading
}

func (s *Source) key() string { return s.Namespace + "/" + s.Pod + "/" + s.Name }

func (sm *sampler) askMetrics(ctx context.Context, namespace, pod string, m *Metrics) reading {
	body, err := sm.opts.Fetch(ctx, namespace, pod, m.Port, cmp.Or(m.Path, "metrics"))
	if err != nil {
		return reading{}
	}
	var r reading
	if m.load != nil {
		r.served, err = m.load(body)
	} else {
		r, err = decodeMetrics(body, m)
	}
	r.ok, r.none = err == nil, errors.Is(err, errAbsent)
	return r
}
