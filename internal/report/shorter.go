package report

import (
	"fmt"
	"strings"
	"time"

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
	at := func(phase string) (float64, bool) { return lastSeen(c.phases, phase) }
	add := func(change, then string, forecast, observed float64) {
		if observed-forecast >= 1 {
			t.row(change, then, offset(max(forecast, 0)), offset(observed))
		}
	}
	worst := all[0].Workloads // its pods that stayed can receive the requests that the lost ones receive no more
	detected, seen := at(view.PhaseDetected)
	if out, ok := at(view.PhaseEndpointsOut); ok && seen && noticed(s, all) && len(worst) > 0 && worst[0].Lowest > 0 {
		add("halve "+c.setting(gracePeriod), "Services send no requests to the lost pods any more", out-(detected-c.lastFall(detected))/2, out)
	}
	tainted, marked := at(view.PhaseTainted)
	evicted, deleted := at(view.PhaseEvicted)
	replaced, moved := at(view.PhaseReplaced)
	if taint := c.taint(); marked && deleted && moved && taint != "" {
		add("set "+tolerationOf+taint+" to 0", availableOf(c.replaced()), tainted+max(replaced-evicted, 0), replaced)
	}
	ready, known := at(view.PhaseReady)
	if n, of, until := c.roomless(all, secondsAfter(r, ready)); deleted && known && n > 0 {
		restored := until.Sub(base(r)).Seconds()
		add("keep room for "+text.Count(n, "more pod", "more pods")+" on other nodes", availableOf(of), evicted+restored-ready, restored)
	}
	switch partly := len(unseenIn(r)) > 0 || !seen; {
	case len(t.Rows) == 0 && partly:
		t.Items = append(t.Items, cell{Text: "lightsout did not see enough of this outage to tell whether a setting of Kubernetes would have shortened it."})
		return t
	case len(t.Rows) == 0:
		t.Items = append(t.Items, cell{Text: "lightsout knows of no setting of Kubernetes that would have shortened it."})
		return t
	case partly:
		t.Items = append(t.Items, cell{"lightsout did not see all of this outage: other settings may have shortened it as well.", warning})
	}
	t.say(plain, fmt.Sprintf("Forecasts from the observed times; a shorter %s also marks nodes NotReady that are only slow.", gracePeriod))
	return t
}

// replaced names the workloads whose pods were replaced on other nodes.
func (c *causes) replaced() (names []string) {
	for _, p := range c.phases {
		if p.Name == view.PhaseReplaced && p.Observed != nil && !p.Before {
			names = append(names, clean(p.Subject))
		}
	}
	return names
}

func availableOf(workloads []string) string {
	return "all pods of " + strings.Join(few(workloads, "more"), ", ") + " are available on other nodes"
}

// roomless counts the pods of the first outage that had no node until a node was Ready again, with their
// workloads and when the last one was available. A pod that waits for a node before that gets one elsewhere.
func (c *causes) roomless(all []Facts, ready time.Time) (n int, of []string, until time.Time) {
	placed := func(w *Workload) bool {
		first, _ := c.follows(view.PhaseReady, "", w.PendingTo.Sub(base(c.r)).Seconds())
		return !w.PendingTo.IsZero() && first == nil
	}
	for _, w := range all[0].Workloads {
		if w.Pending > 0 && w.To.After(ready) && !placed(&w) {
			n, of, until = n+w.Pending, append(of, clean(w.Key.String())), latest(until, w.To)
		}
	}
	return n, of, until
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

// taint is the taint by which the pods of the outage went; empty: it was not seen.
func (c *causes) taint() string {
	for _, n := range c.nodes {
		if t := c.taints[n.Node]; t != "" && !n.Evicted.IsZero() {
			return t
		}
	}
	return ""
}

// lastSeen is when a phase was seen of the last of its subjects, unless a blind span hid that.
func lastSeen(phases []view.Phase, phase string) (at float64, seen bool) {
	for _, p := range phases {
		switch {
		case p.Name != phase || p.Before:
		case p.HiddenFrom != nil:
			return 0, false
		case p.Observed != nil && (!seen || *p.Observed > at):
			at, seen = *p.Observed, true
		}
	}
	return at, seen
}
