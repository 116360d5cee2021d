package report

import (
	"fmt"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// shorterOf lists changes that would have shortened a recorded outage, with a forecast for each
// change beside the observation.
func shorterOf(r *record.Record, c *causes, all []Facts) section {
	t := section{ID: "shorter", Title: "Changes that would have shortened it"}
	if r.Summary == nil || len(all) == 0 || r.Summary.Unplanned == nil && len(all[0].Workloads) == 0 {
		return t
	}
	t.columns("change", "then")
	t.figures("forecast", "observed")
	s := r.Summary
	at := func(phase string) (float64, bool) {
		if p := lastSeen(s, phase); p != nil {
			return *p, true
		}
		return 0, false
	}
	add := func(change, then string, forecast, observed float64) {
		if observed-forecast >= 1 {
			t.row(change, then, offset(max(forecast, 0)), offset(observed))
		}
	}
	lost := lostMost(all)
	detected, seen := at(view.PhaseDetected)
	if out, ok := at(view.PhaseEndpointsOut); ok && seen && noticed(s, all) && lost.Lowest > 0 {
		add("halve "+c.setting(gracePeriod), "Services send no requests to the lost pods any more", out-(detected-c.lastFall(detected))/2, out)
	}
	tainted, marked := at(view.PhaseTainted)
	evicted, deleted := at(view.PhaseEvicted)
	replaced, moved := at(view.PhaseReplaced)
	if marked && deleted && moved {
		add("set "+tolerationOf+c.taint()+" to 0", "all pods are available on other nodes", tainted+max(replaced-evicted, 0), replaced)
	}
	restored, back := at(view.PhaseRestored)
	ready, known := at(view.PhaseReady)
	if deleted && back && known && !moved && lost.Pending > 0 {
		add("keep room for "+text.Count(lost.Pending, "more pod", "more pods")+" on other nodes", "all pods are available on other nodes", evicted+restored-ready, restored)
	}
	if len(t.Rows) == 0 {
		t.Items = append(t.Items, cell{Text: "lightsout knows of no setting of Kubernetes that would have shortened it."})
		return t
	}
	t.say(plain, fmt.Sprintf("Forecasts from the observed times; a shorter %s also marks nodes NotReady that are only slow.", gracePeriod))
	return t
}

// noticed reports whether clients may have noticed the first outage.
func noticed(s *record.Summary, all []Facts) bool {
	if s.Unplanned != nil {
		return s.Unplanned.Severity != record.SeverityUnnoticed
	}
	return all[0].Clients.Failed+all[0].Clients.Hung > 0
}

// lastFall is when the last node went down before a time, in seconds from base; 0 if none did.
func (c *causes) lastFall(before float64) (last float64) {
	for _, n := range c.nodes {
		if s := n.From.Sub(base(c.r)).Seconds(); s <= before {
			last = max(last, s)
		}
	}
	return last
}

// lostMost is the workload that lost most pods in the first outage. Those that stayed can receive
// the requests that the lost ones receive no more.
func lostMost(all []Facts) (w Workload) {
	if len(all[0].Workloads) > 0 {
		w = all[0].Workloads[0]
	}
	return w
}

// taint is the taint by which the pods of the outage went.
func (c *causes) taint() string {
	for _, n := range c.nodes {
		if t := c.taints[n.Node]; t != "" && !n.Evicted.IsZero() {
			return t
		}
	}
	return unreachable
}

// lastSeen is when a phase was seen of the last of its subjects, unless a blind span hid that.
func lastSeen(s *record.Summary, phase string) (at *float64) {
	for _, p := range s.Phases {
		switch {
		case p.Name != phase || p.Before:
		case p.HiddenFrom != nil:
			return nil
		case p.Observed != nil && (at == nil || *p.Observed > *at):
			at = p.Observed
		}
	}
	return at
}
