package tui

import (
	"fmt"
	"time"

	"lightsout/cluster"
)

// knative adds the facts about a deployment's revision and its Knative service: how the
// service splits its requests, how far the revision scales, and how many requests each of its
// pods takes.
func (d *details) knative(kn *cluster.Knative) {
	d.head("Knative")
	d.readiness("service", kn.Service, kn.ServiceReady, cluster.KindKnativeService)
	d.readiness("revision", kn.Revision, kn.RevisionReady, cluster.KindRevision)
	label := "traffic"
	for _, s := range kn.Traffic {
		d.add(label, fmt.Sprintf("%d%% to %s", s.Percent, s.Revision))
		label = ""
	}
	d.add("scale", fmt.Sprintf("%d to %s", kn.MinScale, bound(kn.MaxScale)))
	d.add("concurrency", bound(kn.ContainerConcurrency))
	if kn.TimeoutSeconds > 0 {
		d.add("timeout", age(time.Duration(kn.TimeoutSeconds)*time.Second))
	}
}

// readiness adds a Knative object with its Ready condition, or why that is unknown.
func (d *details) readiness(label, name string, r cluster.Readiness, kind cluster.Kind) {
	ready := map[cluster.Tri]fact{cluster.TriTrue: {st: d.s.t.good, value: "Ready"}, cluster.TriFalse: {st: d.s.t.bad, value: "not Ready"},
		cluster.TriUnknown: {st: d.s.t.warn, value: "not Ready yet"}}
	is, known := ready[r.Ready]
	switch {
	case name == "":
	case known:
		d.addStyled(is.st, label, name+": "+d.state(is.value, r.Since, r.Reason, r.Message))
	case d.s.snap.Access[kind].Forbidden:
		d.addStyled(d.s.t.warn, label, fmt.Sprintf("%s: whether it is Ready is unknown: this account may not list %ss", name, kind))
	default:
		d.add(label, name)
	}
}
