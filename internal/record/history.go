package record

import (
	"slices"
	"sort"
	"strings"
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
}

type step struct {
	at        time.Time
	available int // negative: there is no such deployment
}

// newHistory makes the history of the deployments in samples, always with that of about.
func newHistory(samples []Sample, about cluster.Key) history {
	h := history{steps: map[cluster.Key][]step{}}
	here := map[cluster.Key]bool{} // the deployments of the moment
	for i := range samples {
		x := &samples[i]
		if x.Key {
			clear(here)
		}
		if x.Cluster != nil {
			h.take(x, here, about)
		}
	}
	return h
}

// take adds a sample's deployments; here lists those that exist.
func (h *history) take(x *Sample, here map[cluster.Key]bool, about cluster.Key) {
	if h.begin.IsZero() && !x.Cluster.None {
		h.begin = x.At
	}
	for _, k := range x.Cluster.GoneDeployments {
		delete(here, k)
		h.steps[k] = appendStep(h.steps[k], x.At, -1)
	}
	for _, d := range x.Cluster.Deployments {
		if d != nil && d.Gone.IsZero() && (h.steps[d.Key] != nil || len(h.steps) < historyMost || d.Key == about) {
			here[d.Key] = true
			h.steps[d.Key] = appendStep(h.steps[d.Key], x.At, d.Available)
		}
	}
	if x.Key { // objects that a keyframe lacks are gone
		for k, steps := range h.steps {
			if !here[k] {
				h.steps[k] = appendStep(steps, x.At, -1)
			}
		}
	}
}

func appendStep(steps []step, at time.Time, available int) []step {
	if n := len(steps); n > 0 && steps[n-1].available == available {
		return steps
	}
	return append(steps, step{at, available})
}

// before returns the index of the last step up to t; -1 if there is none.
func before(steps []step, t time.Time) int {
	return sort.Search(len(steps), func(i int) bool { return steps[i].at.After(t) }) - 1
}

// available returns the available replicas of a deployment at t; -1 if unknown.
func (h *history) available(k cluster.Key, t time.Time) int {
	steps := h.steps[k]
	if i := before(steps, t); i >= 0 {
		return steps[i].available
	}
	return -1
}

// Deployment is the deployment that the record is about, by the summary or, as the record of a
// killed program has none, the one that the operator had selected last before the first
// power-off; the zero Key if unknown. The operator may select others later.
func (r *Record) Deployment() (about cluster.Key) {
	if r.Summary != nil && r.Summary.Deployment != "" {
		ns, name, ok := strings.Cut(r.Summary.Deployment, "/")
		if !ok {
			ns, name = "", ns
		}
		return cluster.Key{Namespace: ns, Name: name}
	}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Focus == nil || x.Focus.Name == "" {
			continue
		}
		if about.Name != "" && !r.Zero.IsZero() && x.At.After(r.Zero) {
			break
		}
		about = *x.Focus
	}
	return about
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
		i := before(steps, t)
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
