package loadgen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
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

	heard bool // one of the servers has answered since the load began
}

// reports lists all kinds, in the order of their first report.
type reports []Report

// add takes the answer of one server, or that there was none. heard is whether it has ever
// answered.
func (l *reports) add(source string, m *Metrics, r reading, heard bool) {
	if r.none {
		return
	}
	i := slices.IndexFunc(*l, func(t Report) bool { return t.Source == source })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Report{Source: source})
	}
	t := &(*l)[i]
	t.Asked++
	t.heard = t.heard || heard
	if !r.ok {
		return
	}
	t.Answered++
	if m.Served != "" {
		plus(&t.Served, r.served)
	}
	if m.Queued != "" {
		plus(&t.Queued, r.queued)
	}
}

func plus(sum **int, n float64) {
	if *sum == nil {
		*sum = new(int)
	}
	**sum += int(math.Round(n))
}

// results returns the reports, except of servers that have never answered: by default, Knative's
// activator has no metrics since 1.19.
func (l reports) results() []Report {
	return slices.DeleteFunc(l, func(t Report) bool { return !t.heard })
}

// reading is the answer of one server; ok is false when there was none.
type reading struct {
	served, queued float64
	ok             bool
	// none: the source answered, and has no such metrics.
	none bool
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
