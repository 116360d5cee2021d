package record

import (
	"slices"
	"sort"
	"time"

	"lightsout/cluster"
)

// Bounds of a history, as a session has them: seconds, and deployments.
const (
	historyLen  = 120
	historyMost = 200
)

// history is the available replicas of deployments over a whole record, as
// steps: they change seldom.
type history struct {
	begin time.Time // since when there is a cluster to be seen
	steps map[cluster.Key][]step
	focus []focused
}

// focused is the deployment that the load went to from a time on.
type focused struct {
	at  time.Time
	key cluster.Key
}

type step struct {
	at        time.Time
	available int // negative: there is no such deployment
}

func newHistory(samples []Sample) history {
	h := history{steps: map[cluster.Key][]step{}}
	here := map[cluster.Key]bool{} // the deployments of the moment
	var focus cluster.Key
	for i := range samples {
		x := &samples[i]
		if x.Key {
			clear(here)
			focus = cluster.Key{}
		}
		take(&focus, x.Focus)
		if n := len(h.focus); n == 0 || h.focus[n-1].key != focus {
			h.focus = append(h.focus, focused{x.At, focus})
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
			if d != nil && d.Gone.IsZero() && (h.steps[d.Key] != nil || len(h.steps) < historyMost || d.Key == focus) {
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

// before is the index of the last step up to t; -1: there is none.
func before[T any](steps []T, at func(T) time.Time, t time.Time) int {
	return sort.Search(len(steps), func(i int) bool { return at(steps[i]).After(t) }) - 1
}

func stepAt(s step) time.Time { return s.at }

// available is the available replicas of the deployment in focus at t; -1: not
// known.
func (h *history) available(t time.Time) int {
	f := before(h.focus, func(x focused) time.Time { return x.at }, t)
	if f < 0 {
		return -1
	}
	steps := h.steps[h.focus[f].key]
	if i := before(steps, stepAt, t); i >= 0 {
		return steps[i].available
	}
	return -1
}

// History gives the available replicas of deployments as they were shown at t:
// one number a second, newest last.
func (r *Record) History(t time.Time) map[cluster.Key][]int {
	h := &r.history
	out := map[cluster.Key][]int{}
	if h.begin.IsZero() || t.Before(h.begin) {
		return out
	}
	for k, steps := range h.steps {
		// The step in force at t, and back from there.
		i := before(steps, stepAt, t)
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
		slices.Reverse(back)
		out[k] = back
	}
	return out
}
