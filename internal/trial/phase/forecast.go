package phase

import (
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// outlooks are the phases of a node that the control plane decides on.
var outlooks = []struct {
	name string
	of   func(forecast.Node) (forecast.Interval, string)
}{
	{view.PhaseDetected, func(o forecast.Node) (forecast.Interval, string) { return o.Detected, o.NoDetection }},
	{view.PhaseEndpointsOut, func(o forecast.Node) (forecast.Interval, string) { return o.EndpointsOut, o.NoDetection }},
	{view.PhaseTainted, func(o forecast.Node) (forecast.Interval, string) {
		if o.Tainted.IsZero() && o.Evicted.IsZero() {
			return o.Tainted, o.NoEviction
		}
		return o.Tainted, ""
	}},
	{view.PhaseEvicted, func(o forecast.Node) (forecast.Interval, string) { return o.Evicted, o.NoEviction }},
}

// forecastFirst works out the first forecasts of the nodes that were switched
// since, by the Snapshot as it was then. A machine takes a moment to go down, so
// one more heartbeat than the last is allowed for.
func (t *Tracker) forecastFirst() {
	if !t.unforecast || t.snapshot == nil {
		return
	}
	t.unforecast = false
	var every time.Duration
	var last time.Time
	down := t.down()
	for _, name := range down {
		if n := t.snapshot.Node(name); n != nil {
			every = max(every, n.RenewEvery())
		}
		if off := t.nodes[name].off(); off.After(last) {
			last = off
		}
	}
	soon := forecast.Outage(t.snapshot, down, t.off, last)
	late := forecast.Outage(t.snapshot, down, t.off, last.Add(every))
	for _, name := range down {
		a, _ := soon.Node(name)
		b, _ := late.Node(name)
		for _, o := range outlooks {
			r := t.rows.of(o.name, name)
			from, why := o.of(a)
			to, _ := o.of(b)
			if !r.first.IsZero() || r.before {
				continue
			}
			if !from.IsZero() {
				i := forecast.Interval{From: from.From, To: from.To.Add(every)}
				if to.To.After(i.To) {
					i.To = to.To
				}
				r.first = gracefully(t.nodes[name], o.name, i)
			}
			r.predicted, r.why = r.first, why
			r.never = o.name == view.PhaseEvicted && a.NeverEvicted
			r.unaffected = r.never && a.Pods == 0 && r.first.IsZero() && shows(t.snapshot, cluster.KindPod)
			if soon.Assumed && !r.first.IsZero() && o.name != view.PhaseEvicted {
				r.explain("assumed timings")
			}
		}
	}
	if t.deployment != (cluster.Key{}) {
		t.service.forecastFirst(t)
	}
	t.forecastErrors()
	t.forecast = time.Time{}
}

// gracefully widens a forecast for a node whose kubelet reports its own shutdown: the
// event may then come at any time after the request.
func gracefully(n *node, name string, i forecast.Interval) forecast.Interval {
	if n.graceful > 0 && name != view.PhaseEvicted && !i.IsZero() && i.From.After(n.off()) {
		i.From = n.off()
	}
	return i
}

// renewForecasts renews the forecasts of events that have not been observed yet.
func (t *Tracker) renewForecasts(s *cluster.Snapshot) {
	down := slices.DeleteFunc(t.down(), func(name string) bool { return returned(t, t.nodes[name]) })
	o := forecast.Outage(s, down, t.off, t.zero)
	for _, name := range down {
		if no, ok := o.Node(name); ok {
			t.forecastOutage(t.nodes[name], no, o.Assumed)
		}
	}
	for _, name := range t.names {
		t.forecastReturn(t.nodes[name], s)
	}
	if t.deployment != (cluster.Key{}) {
		t.service.renewForecasts(t, s)
	}
	t.forecastErrors()
}

// returned reports whether the node is up again, so that nothing more of the
// outage is to come.
func returned(t *Tracker, n *node) bool {
	return t.rows.seen(view.PhaseBooted, n.name) || t.rows.seen(view.PhaseReady, n.name)
}

func (t *Tracker) forecastOutage(n *node, no forecast.Node, assumed bool) {
	for _, o := range outlooks {
		r := t.rows.of(o.name, n.name)
		if r.seen() {
			continue
		}
		i, why := o.of(no)
		switch {
		case why != "":
			r.predicted = forecast.Interval{}
		case !i.IsZero():
			switch o.name {
			case view.PhaseDetected:
			case view.PhaseEvicted:
				i = since(t, view.PhaseTainted, n, i)
			default:
				detected := t.rows.of(view.PhaseDetected, n.name).when.After
				if i = since(t, view.PhaseDetected, n, i); i.From.Before(detected) {
					i.From = detected
				}
			}
			r.predicted = gracefully(n, o.name, i)
			if assumed && o.name != view.PhaseEvicted {
				r.explain("assumed timings")
			}
		}
		r.why = why
		r.never = o.name == view.PhaseEvicted && no.NeverEvicted
	}
	if n.graceful > 0 {
		t.rows.of(view.PhaseDetected, n.name).explain(fmt.Sprintf("the kubelet reports its own shutdown (shutdownGracePeriod %s)", text.Span(n.graceful)))
	}
}

// since moves a forecast that was worked out from the control plane's own time of
// an earlier phase to our clock, if the control plane's is another.
func since(t *Tracker, name string, n *node, i forecast.Interval) forecast.Interval {
	r := t.rows.of(name, n.name)
	switch {
	case r.source.IsZero():
		return i
	case !r.when.Exact(): // nobody saw how far ahead its source's clock was
		ahead := t.snapshot.Ahead()
		return forecast.Interval{From: i.From.Add(-ahead), To: i.To.Add(-ahead)}
	}
	// The source's time has whole seconds, so it is up to a second early.
	const half = time.Second / 2
	if ahead := r.when.By.Sub(r.source); ahead < -half || ahead > 3*half {
		i.From, i.To = i.From.Add(ahead-half), i.To.Add(ahead-half)
	}
	return i
}

// readyRounds is how many rounds of its status updates a kubelet is given from
// its first word to Ready: the runtime's check, the network plugin's pod, and
// the report (pkg/kubelet/kubelet_node_status.go).
const readyRounds = 3

func (t *Tracker) forecastReturn(n *node, s *cluster.Snapshot) {
	ready := t.rows.of(view.PhaseReady, n.name)
	booted := t.rows.of(view.PhaseBooted, n.name)
	if !booted.seen() || ready.seen() && !ready.predicted.IsZero() {
		return // with both seen at once the forecast stays the same
	}
	update := s.Settings.StatusUpdate.Value
	if n.last != nil && n.last.Kubelet != nil {
		update = n.last.Kubelet.StatusUpdate
	}
	ready.predicted = forecast.Interval{From: booted.when.After, To: booted.when.By.Add(readyRounds * update)}
}
