package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
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
	for _, w := range all[0].Workloads {
		if w.only != "" {
			t.row("spread the pods of "+w.Key.String()+": topologySpreadConstraints, or a rollout restart after each return", "only a part of them goes with one node: all were on "+w.only, none, none)
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
	if ready, _ := c.follows(view.PhaseReady, "", evicted); ready != nil {
		tainted = max(tainted, *ready)
	}
	if taint := c.taint(); marked && deleted && moved && taint != "" && len(c.replaced()) > 0 {
		add("set "+tolerationOf+taint+" to 0", availableOf(c.replaced()), tainted+max(replaced-evicted, 0), replaced)
	}
	ready, known := at(view.PhaseReady)
	for rules, change := range []string{"keep room for %s (%s) on other nodes", "let %s run on other nodes: loosen their %s"} {
		if l := c.roomless(all, secondsAfter(r, ready), rules > 0); deleted && known && l.pods > 0 {
			restored := l.until.Sub(base(r)).Seconds()
			add(fmt.Sprintf(change, text.Count(l.pods, "more pod", "more pods"), text.List(l.lacks)), availableOf(l.of), evicted+restored-ready, restored)
		}
	}
	for _, fate := range []string{hangs, kept} {
		if names := withFate(all[0].Workloads, fate); len(names) > 0 {
			t.Items = append(t.Items, cell{Text: fmt.Sprintf(advices[fate], text.List(few(names, "more")))})
		}
	}
	switch partly := len(unseenIn(r)) > 0 || !seen; {
	case partly && len(t.Rows) == 0:
		t.Items = append(t.Items, cell{Text: "lightsout did not see enough of this outage to tell whether a setting of Kubernetes would have shortened it."})
	case partly:
		t.Items = append(t.Items, cell{"lightsout did not see all of this outage: other settings may have shortened it as well.", warning})
	case len(t.Rows)+len(t.Items) == 0:
		t.Items = append(t.Items, cell{Text: "lightsout knows of no setting of Kubernetes that would have shortened it."})
	}
	if len(t.Rows) > 0 {
		t.say(plain, fmt.Sprintf("Forecasts from the observed times; a shorter %s also marks nodes NotReady that are only slow.", gracePeriod))
	}
	return t
}

// replaced names the workloads whose pods were replaced on other nodes, and waited for none of them.
func (c *causes) replaced() (names []string) {
	for _, p := range c.phases {
		if p.Name == view.PhaseReplaced && p.Observed != nil && !p.Before && c.awaited(p) == "" {
			names = append(names, clean(p.Subject))
		}
	}
	return names
}

func availableOf(workloads []string) string {
	return "all pods of " + strings.Join(few(workloads, "more"), ", ") + " are available on other nodes"
}

// advices say what to do about workloads whose lost pods had a fate.
var advices = map[string]string{
	hangs: "New pods of %s come while the node is down if it is drained before, or if a node whose machine is certainly off has the taint " +
		cluster.TaintOutOfService + ": unless their volumes keep them on it.",
	kept: "New pods of %s come before the node is back if they tolerate its taints for less time, and if other nodes have room.",
}

// withFate names the workloads whose lost pods had a fate. A StatefulSet gets no new pods sooner by deleting old ones.
func withFate(all []Workload, fate string) (names []string) {
	for _, w := range all {
		if strings.Contains(w.Why, fate) && (fate == hangs || w.Kind == cluster.KindDeployment) {
			names = append(names, clean(w.Key.String()))
		}
	}
	return names
}

// lack is how many pods lacked room, of which workloads, what they lacked, and when the last workload had all.
type lack struct {
	pods      int
	of, lacks []string
	until     time.Time
}

// roomless counts the pods of the first outage that had no node until a node was Ready again, for want of room
// or, where rules is true, by their rules, as the scheduler said. A pod that waits for a node before that gets one elsewhere; one whose volume keeps it on its
// node needs no room.
func (c *causes) roomless(all []Facts, ready time.Time, rules bool) (l lack) {
	returned := func(at time.Time) bool {
		first, _ := c.follows(view.PhaseReady, "", at.Sub(base(c.r)).Seconds())
		return first != nil || at.After(all[0].over)
	}
	pods := all[0].pods
	for _, w := range all[0].Workloads {
		why := pods.reported(c.r, w.Ref, all[0].From, ready)
		short := cluster.Lacks(why)
		if rules {
			short = cluster.Rules(why)
		}
		if len(short) == 0 || rules != cluster.RulesBlock(why) || !w.To.After(ready) {
			continue
		}
		n := l.pods
		for _, p := range pods.lives {
			if workloadOf(p.Pod) == w.Ref && !p.waits.IsZero() && !returned(p.waits) && (p.placed.IsZero() || returned(p.placed)) {
				l.pods++
			}
		}
		if l.pods == n {
			continue
		}
		l.of, l.lacks, l.until = append(l.of, clean(w.Key.String())), append(l.lacks, short...), latest(l.until, w.To)
	}
	slices.Sort(l.lacks)
	l.lacks = slices.Compact(l.lacks)
	return l
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
