package session

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// activators is the deployment of Knative's activators (knative.dev/serving,
// config/core/deployments/activator.yaml).
var activators = cluster.Key{Namespace: "knative-serving", Name: "activator"}

// Target gives the generator the deployment that the gauge measures: the one in focus.
// If it is a revision of a Knative service, all revisions of the service count: clients
// send requests to the service, which may shift them to another revision at any time.
// Safe for concurrent use.
type Target struct {
	watcher Watcher
	now     func() time.Time
	focus   atomic.Pointer[cluster.Key]
	// service is the Knative service to which focus belonged when last seen.
	service atomic.Pointer[cluster.Key]
	off     atomic.Pointer[map[string]bool] // nodes whose machines are proven off
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

// Focus is the deployment; the zero Key while it is unknown.
func (t *Target) Focus() cluster.Key { return *cmp.Or(t.focus.Load(), &cluster.Key{}) }

// SetFocus chooses the deployment.
func (t *Target) SetFocus(k cluster.Key) {
	t.focus.Store(&k)
	t.service.Store(nil)
}

// setOff sets the nodes whose machines are proven off.
func (t *Target) setOff(nodes map[string]bool) { t.off.Store(&nodes) }

// findFocus chooses the first of Knative's deployments while none is chosen.
func (t *Target) findFocus(s *cluster.Snapshot) {
	if t.focus.Load() != nil {
		return
	}
	all := s.Deployments()
	if i := slices.IndexFunc(all, func(d *cluster.Deployment) bool { return d.Knative != nil }); i >= 0 {
		t.SetFocus(all[i].Key)
	}
}

// deployments returns those that serve the requests: the one in focus, or all of its
// Knative service. It returns none if lightsout cannot see them.
func (t *Target) deployments() (s *cluster.Snapshot, all []*cluster.Deployment) {
	if t.watcher == nil || t.focus.Load() == nil {
		return nil, nil
	}
	if s = t.watcher.Snapshot(); s == nil {
		return nil, nil
	}
	d := s.Deployment(t.Focus())
	if d != nil && d.Knative != nil && d.Knative.Service != "" {
		t.service.Store(&cluster.Key{Namespace: d.Namespace, Name: d.Knative.Service})
	}
	service := t.service.Load()
	if service == nil {
		if d != nil {
			all = append(all, d)
		}
		return s, all
	}
	for _, d := range s.Deployments() {
		if d.Namespace == service.Namespace && d.Knative != nil && d.Knative.Service == service.Name && d.Gone.IsZero() {
			all = append(all, d)
		}
	}
	return s, all
}

// receives reports whether new requests go to a deployment: its Knative service may send
// all of them to other revisions.
func receives(d *cluster.Deployment) bool {
	if d.Knative == nil {
		return true
	}
	percent, known := d.Knative.Share()
	return percent > 0 || !known
}

// Capacity returns the number of requests that they can serve at once: now, and with
// all desired pods. limited is false if one of them has no limit, or if nothing is
// known.
func (t *Target) Capacity() (now, target int, limited bool) {
	s, all := t.deployments()
	for _, d := range all {
		if !receives(d) {
			continue
		}
		n, wanted, bounded := s.Capacity(d.Key)
		if !bounded {
			return 0, 0, false
		}
		now, target = now+n, target+wanted
	}
	return now, target, len(all) > 0
}

// Backends returns the pods of these deployments, also those of a revision that gets no
// new requests: it may still work on earlier ones. A pod is on a dead node if the node is
// silent or its machine is proven off.
func (t *Target) Backends() (out []loadgen.Backend) {
	s, all := t.deployments()
	now := t.now()
	for _, d := range all {
		receives := receives(d)
		for _, p := range s.PodsOf(d.Key) {
			if !p.Gone.IsZero() || p.Node == "" {
				continue
			}
			b := loadgen.Backend{
				Namespace: p.Namespace, Pod: p.Name, Node: p.Node, Ready: receives && p.Ready && p.Deleting.IsZero(),
				Concurrency: p.Concurrency, OnDead: t.dead(s, p.Node, now),
			}
			if d.Knative != nil {
				b.Metrics = loadgen.QueueProxyMetrics()
			}
			out = append(out, b)
		}
	}
	return out
}

// dead reports whether a node is silent or proven off.
func (t *Target) dead(s *cluster.Snapshot, node string, now time.Time) bool {
	off := t.off.Load()
	return off != nil && (*off)[node] || silent(s, node, now)
}

// Sources returns the activators in front of the pods, as far as lightsout watches
// them. They count by revision.
func (t *Target) Sources() (out []loadgen.Source) {
	s, all := t.deployments()
	var revisions []string
	for _, d := range all {
		if d.Knative != nil {
			revisions = append(revisions, d.Knative.Revision)
		}
	}
	if len(revisions) == 0 {
		return nil
	}
	now := t.now()
	for _, p := range s.PodsOf(activators) {
		if !p.Ready || !p.Gone.IsZero() || !p.Deleting.IsZero() || t.dead(s, p.Node, now) {
			continue
		}
		out = append(out, loadgen.Source{Namespace: p.Namespace, Pod: p.Name, Metrics: loadgen.ActivatorMetrics(all[0].Namespace, revisions)})
	}
	return out
}

func silent(s *cluster.Snapshot, node string, now time.Time) bool {
	_, silent := s.Silent(s.Node(node), now)
	return silent
}

// NodeSilent reports whether the machine's node is silent in the cluster: only then
// does the ssh driver presume a machine off. s may be nil.
func NodeSilent(s *cluster.Snapshot, m power.Machine, now time.Time) bool {
	return s != nil && s.Link.State == cluster.LinkLive && silent(s, m.Name, now)
}
