package loadgen

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// Source is a server that tells of requests without being a backend, such as
// one of Knative's activators, before them all.
type Source struct {
	Namespace, Pod string
	Metrics
}

// Told is what the servers of one kind say themselves, all together. It counts
// everybody's requests, not only the generator's, and is as old as the sample.
type Told struct {
	// Source is their name.
	Source string `json:",omitzero"`
	// Served and Queued are nil where no server has told: that is "no answer",
	// and not 0. Where Answered is less than Asked, they are the sum of those
	// that have told.
	Served, Queued  *int `json:",omitzero"`
	Asked, Answered int  `json:",omitzero"`
}

// disagreeAfter is how long servers and ledger must differ by more than 1
// until that is worth a word: their numbers are of different moments.
const disagreeAfter = 5 * time.Second

// teller gathers what servers of one kind tell.
type teller struct {
	told                 Told
	served, queued       float64
	knowServed, knowQued bool
}

// tell takes the answer of one server, or that there was none.
func (t *teller) tell(m *Metrics, served, queued float64, answered bool) {
	t.told.Asked++
	if !answered {
		return
	}
	t.told.Answered++
	if m.Served != "" {
		t.served, t.knowServed = t.served+served, true
	}
	if m.Queued != "" {
		t.queued, t.knowQued = t.queued+queued, true
	}
}

func (t *teller) result() Told {
	out := t.told
	if t.knowServed {
		n := int(math.Round(t.served))
		out.Served = &n
	}
	if t.knowQued {
		n := int(math.Round(t.queued))
		out.Queued = &n
	}
	return out
}

// tellers keeps them in the order in which they were first heard of.
type tellers []*teller

func (l *tellers) of(source string) *teller {
	for _, t := range *l {
		if t.told.Source == source {
			return t
		}
	}
	t := &teller{told: Told{Source: source}}
	*l = append(*l, t)
	return t
}

func (l tellers) results() []Told {
	var out []Told
	for _, t := range l {
		out = append(out, t.result())
	}
	return out
}

// reading is the answer of one server; ok is false when there was none.
type reading struct {
	served, queued float64
	ok             bool
}

// askSources fetches what each source tells.
func (g *Generator) askSources(ctx context.Context, sources []Source, places chan struct{}) []reading {
	out := make([]reading, len(sources))
	var wg sync.WaitGroup
	for i := range sources {
		s := &sources[i]
		wg.Go(func() {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-places }()
			out[i] = g.askMetrics(ctx, s.Namespace, s.Pod, &s.Metrics)
		})
	}
	wg.Wait()
	return out
}

func (g *Generator) askMetrics(ctx context.Context, namespace, pod string, m *Metrics) reading {
	path := m.Path
	if path == "" {
		path = "metrics"
	}
	body, err := g.opts.Fetch(ctx, namespace, pod, m.Port, path)
	if err != nil {
		return reading{}
	}
	served, queued, err := decodeMetrics(body, m)
	return reading{served, queued, err == nil}
}

// disagreement is one sentence on where a source and the gauge differ by more
// than 1; empty: nowhere.
func (g *Gauge) disagreement() string {
	for _, t := range g.Told {
		if t.Answered < t.Asked {
			continue
		}
		// What sits on dead nodes or stalls is being served, as a proxy sees it.
		ours := g.Served + g.OnDead + g.Stalled
		servedDiffers := t.Served != nil && (*t.Served < g.Served-1 || *t.Served > ours+1)
		queuedDiffers := t.Queued != nil && (*t.Queued < g.Queued-1 || *t.Queued > g.Queued+g.OnDead+g.Stalled+1)
		if !servedDiffers && !queuedDiffers {
			continue
		}
		word := func(n *int) string {
			if n == nil {
				return "no number"
			}
			return fmt.Sprint(*n)
		}
		return fmt.Sprintf("%s tells %s served and %s queued, by the ledger it is %d and %d",
			clean(t.Source, 40), word(t.Served), word(t.Queued), g.Served, g.Queued)
	}
	return ""
}
