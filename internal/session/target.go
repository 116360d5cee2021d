package session

import (
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// activators is the deployment of Knative's activators (knative.dev/serving,
// config/core/deployments/activator.yaml).
var activators = cluster.Key{Namespace: "knative-serving", Name: "activator"}

// Target tells the generator about the deployment that the load goes to: the one
// in focus. Safe for use by several goroutines.
type Target struct {
	watcher Watcher
	now     func() time.Time
	focus   atomic.Pointer[cluster.Key]
}

// NewTarget makes a Target. A zero focus is found in the cluster. watcher may be
// nil: then there is nothing to tell.
func NewTarget(watcher Watcher, focus cluster.Key, now func() time.Time) *Target {
	t := &Target{watcher: watcher, now: now}
	if focus != (cluster.Key{}) {
		t.SetFocus(focus)
	}
	return t
}

// Focus is the deployment; the zero Key while it is not known.
func (t *Target) Focus() cluster.Key {
	if k := t.focus.Load(); k != nil {
		return *k
	}
	return cluster.Key{}
}

// SetFocus chooses the deployment.
func (t *Target) SetFocus(k cluster.Key) { t.focus.Store(&k) }

// findFocus chooses the first of Knative's deployments while none is chosen.
func (t *Target) findFocus(s *cluster.Snapshot) {
	if t.focus.Load() != nil {
		return
	}
	for _, d := range s.Deployments() {
		if d.Knative != nil {
			t.SetFocus(d.Key)
			return
		}
	}
}

// deployment is the one in focus as it is now; d is nil when it can't be seen.
func (t *Target) deployment() (s *cluster.Snapshot, d *cluster.Deployment) {
	if t.watcher == nil || t.focus.Load() == nil {
		return nil, nil
	}
	if s = t.watcher.Snapshot(); s == nil {
		return nil, nil
	}
	return s, s.Deployment(t.Focus())
}

// Capacity is what it can serve now, and what it should.
func (t *Target) Capacity() (now, target int) {
	s, _ := t.deployment()
	if s == nil {
		return 0, 0
	}
	return s.Capacity(t.Focus())
}

// Backends are its pods. A pod is on a dead node when that node is silent.
func (t *Target) Backends() []loadgen.Backend {
	s, d := t.deployment()
	if d == nil {
		return nil
	}
	now := t.now()
	var out []loadgen.Backend
	for _, p := range s.PodsOf(d.Key) {
		if !p.Gone.IsZero() || p.Node == "" {
			continue
		}
		out = append(out, loadgen.Backend{
			Namespace: p.Namespace, Pod: p.Name, Node: p.Node, Ready: p.Ready && p.Deleting.IsZero(),
			Concurrency: p.Concurrency, OnDead: silent(s, p.Node, now), QueueProxy: d.Knative != nil,
		})
	}
	return out
}

// Sources are the activators before it, as far as they are among what is
// watched.
func (t *Target) Sources() []loadgen.Source {
	s, d := t.deployment()
	if d == nil || d.Knative == nil {
		return nil
	}
	now := t.now()
	var out []loadgen.Source
	for _, p := range s.PodsOf(activators) {
		if !p.Ready || !p.Gone.IsZero() || !p.Deleting.IsZero() || silent(s, p.Node, now) {
			continue
		}
		out = append(out, loadgen.Source{Namespace: p.Namespace, Pod: p.Name, Metrics: loadgen.ActivatorMetrics(d.Key.Namespace, d.Knative.Revision)})
	}
	return out
}

func silent(s *cluster.Snapshot, node string, now time.Time) bool {
	n := s.Node(node)
	if n == nil {
		return false
	}
	_, silent := s.Silent(n, now)
	return silent
}

// NodeSilent reports whether the cluster says that the machine's node is silent;
// the ssh driver presumes a machine off only then. s may be nil.
func NodeSilent(s *cluster.Snapshot, m power.Machine, now time.Time) bool {
	return s != nil && s.Link.State == cluster.LinkLive && silent(s, m.Name, now)
}
