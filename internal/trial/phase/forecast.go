package phase

import (
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/internal/clock"
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
	if !t.unforecast {
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
		last = clock.Latest(last, t.nodes[name].off())
	}
	soon := forecast.Outage(t.snapshot, down, t.off, last)
	late := forecast.Outage(t.snapshot, down, t.off, last.Add(every))
	for _, name := range down {
		a, _ := soon.Node(name)
		b, _ := late.Node(name)
		for _, o := range outlooks {
			r := t.nodes[name].rows.of(o.name)
			if !r.first.IsZero() || r.before {
				continue
			}
			i, why := o.of(a)
			if most, _ := o.of(b); !i.IsZero() {
				i.To = clock.Latest(i.To.Add(every), most.To)
			}
			r.predicted = forecast.Interval{}
			t.foretell(t.nodes[name], o.name, i, why, a.NeverEvicted, soon.Assumed)
			r.first = r.predicted
		}
	}
	if v := t.service(); v.pods != nil {
		v.forecastFirst(t)
	}
	t.forecastErrors()
	t.failures.row.first = t.failures.row.predicted
	t.forecast = time.Time{}
}

// foretell sets the forecast of a phase of a node that the control plane decides on, or why there is
// none. A kubelet that reports its own shutdown may do so at any time after the request.
func (t *Tracker) foretell(n *node, name string, i forecast.Interval, why string, never, assumed bool) {
	r, evicted := n.rows.of(name), name == view.PhaseEvicted
	switch {
	case why != "":
		r.predicted = forecast.Interval{}
	case !i.IsZero():
		if n.graceful > 0 && !evicted && i.From.After(n.off()) {
			i.From = n.off()
		}
		r.predicted = i
		if assumed && !evicted {
			r.explain("assumed timings")
		}
	}
	r.why, r.never = why, evicted && never
}

// renewForecasts renews the forecasts of events that have not been observed yet.
func (t *Tracker) renewForecasts(s *cluster.Snapshot) {
	down := slices.DeleteFunc(t.down(), func(name string) bool { return t.nodes[name].returned() })
	o := forecast.Outage(s, down, t.off, t.zero)
	for _, name := range down {
		if no, ok := o.Node(name); ok {
			t.forecastOutage(t.nodes[name], no, o.Assumed)
		}
	}
	for _, name := range t.names {
		t.forecastReturn(t.nodes[name], s)
	}
	t.service().renewForecasts(t, s)
	t.forecastErrors()
}

// returned reports whether the node is up again, so that nothing more of the
// outage is to come.
func (n *node) returned() bool { return n.rows.seen(view.PhaseBooted) || n.rows.seen(view.PhaseReady) }

func (t *Tracker) forecastOutage(n *node, no forecast.Node, assumed bool) {
	for _, o := range outlooks {
		r := n.rows.of(o.name)
		if r.seen() {
			continue
		}
		i, why := o.of(no)
		if !i.IsZero() {
			switch o.name {
			case view.PhaseDetected:
			case view.PhaseEvicted:
				i = t.since(view.PhaseTainted, n, i)
			default:
				i = t.since(view.PhaseDetected, n, i)
				i.From = clock.Latest(i.From, n.rows.of(view.PhaseDetected).when.After)
			}
		}
		t.foretell(n, o.name, i, why, no.NeverEvicted, assumed)
	}
	if n.graceful > 0 {
		n.rows.of(view.PhaseDetected).explain(fmt.Sprintf("the kubelet reports its own shutdown (shutdownGracePeriod %s)", text.Span(n.graceful)))
	}
}

// since moves a forecast that was worked out from the control plane's own time of an earlier phase
// to lightsout's clock.
func (t *Tracker) since(name string, n *node, i forecast.Interval) forecast.Interval {
	if n.rows.of(name).source.IsZero() {
		return i
	}
	return forecast.Interval{From: t.own(i.From), To: t.own(i.To)}
}

// readyRounds is how many rounds of its status updates a kubelet is given from
// its first word to Ready: the runtime's check, the network plugin's pod, and
// the report (pkg/kubelet/kubelet_node_status.go).
const readyRounds = 3

func (t *Tracker) forecastReturn(n *node, s *cluster.Snapshot) {
	ready := n.rows.of(view.PhaseReady)
	booted := n.rows.of(view.PhaseBooted)
	if !booted.seen() || ready.seen() && !ready.predicted.IsZero() {
		return // with both seen at once the forecast stays the same
	}
	update := s.Settings.StatusUpdate.Value
	if n.last != nil && n.last.Kubelet != nil {
		update = n.last.Kubelet.StatusUpdate
	}
	ready.predicted = forecast.Interval{From: booted.when.After, To: booted.when.By.Add(readyRounds * update)}
}
