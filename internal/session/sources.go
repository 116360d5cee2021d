package session

import (
	"lightsout/cluster"
	"lightsout/loadgen"
)

// activators is the deployment of Knative's activators (knative.dev/serving,
// config/core/deployments/activator.yaml).
var activators = cluster.Key{Namespace: "knative-serving", Name: "activator"}

// Sources tells the generator the activators before the deployment in focus,
// as far as they are among what is watched. Safe for use by several goroutines.
func (e *Engine) Sources() []loadgen.Source {
	s, k := e.snapshot.Load(), e.focus.Load()
	if s == nil || k == nil {
		return nil
	}
	d := s.Deployment(*k)
	if d == nil || d.Knative == nil {
		return nil
	}
	now := e.now()
	var out []loadgen.Source
	for _, p := range s.PodsOf(activators) {
		if !p.Ready || !p.Gone.IsZero() || !p.Deleting.IsZero() {
			continue
		}
		if n := s.Node(p.Node); n != nil {
			if _, silent := s.Silent(n, now); silent {
				continue
			}
		}
		out = append(out, loadgen.Source{Namespace: p.Namespace, Pod: p.Name, Metrics: loadgen.ActivatorMetrics(k.Namespace, d.Knative.Revision)})
	}
	return out
}
