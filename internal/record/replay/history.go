package replay

import (
	"sort"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
)

// Bounds of a history, as the engine has them: seconds, and deployments.
const (
	historyLen  = 120
	historyMost = 200
)

// history is the available replicas of deployments over the whole record, as
// steps: they change seldom.
type history struct {
	begin time.Time // since when there is a cluster to be seen
	steps map[cluster.Key][]step
}

type step struct {
	at        time.Time
	available int // negative: there is no such deployment
}

func newHistory(samples []record.Sample) history {
	h := history{steps: map[cluster.Key][]step{}}
	here := map[cluster.Key]bool{} // the deployments of the moment
	for i := range samples {
		x := &samples[i]
		if x.Key {
			clear(here)
		}
		if x.Cluster == nil {
			continue
		}
		if h.begin.IsZero() && !x.Cluster.None {
			h.begin = x.At
		}
		for _, k := range x.Cluster.GoneDeployments {
			delete(here, k)
			h.set(k, x.At, -1)
		}
		for _, d := range x.Cluster.Deployments {
			if d != nil && (h.steps[d.Key] != nil || len(h.steps) < historyMost) {
				here[d.Key] = true
				h.set(d.Key, x.At, d.Available)
			}
		}
		if x.Key { // what a keyframe does not name is gone
			for k := range h.steps {
				if !here[k] {
					h.set(k, x.At, -1)
				}
			}
		}
	}
	return h
}

func (h *history) set(k cluster.Key, at time.Time, available int) {
	s := h.steps[k]
	if len(s) == 0 || s[len(s)-1].available != available {
		h.steps[k] = append(s, step{at, available})
	}
}

// at gives the history as it stood at t: one number a second, newest last.
func (h *history) at(t time.Time) map[cluster.Key][]int {
	out := map[cluster.Key][]int{}
	if h.begin.IsZero() || t.Before(h.begin) {
		return out
	}
	for k, steps := range h.steps {
		// The step in force at t, and back from there.
		i := sort.Search(len(steps), func(i int) bool { return steps[i].at.After(t) }) - 1
		if i < 0 || steps[i].available < 0 {
			continue
		}
		var back []int
		for at := t; len(back) < historyLen && !at.Before(h.begin); at = at.Add(-time.Second) {
			for i >= 0 && steps[i].at.After(at) {
				i--
			}
			if i < 0 || steps[i].available < 0 {
				break
			}
			back = append(back, steps[i].available)
		}
		for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
			back[i], back[j] = back[j], back[i]
		}
		out[k] = back
	}
	return out
}
