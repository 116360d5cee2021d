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

// shorterOf lists changes that would have shortened outage number i, with a forecast for each
// change beside the observation. Its Brief has the first ones. The causes are those of the outage alone.
func shorterOf(r *record.Record, c *causes, i int) section {
	f := &c.all[i]
	t := section{ID: strings.TrimSuffix(fmt.Sprintf("shorter-%d", i), "-0"), Title: "Changes that would have shortened it"}.columns("change", "then", "#forecast", "#observed")
	t.Title += map[bool]string{true: ": the outage of " + instant(r, f.From)}[len(c.all) > 1]
	if r.Summary == nil || r.Summary.Unplanned == nil && len(f.Workloads) == 0 {
		return t
	}
	var brief []string // the changes, each once
	help := func(change string) string {
		if !slices.Contains(brief, change) {
			brief = append(brief, change)
		}
		return change
	}
	at := func(phase string) (float64, bool) { return lastSeen(c.phases, phase) }
	worst := f.Workloads // its pods that stayed can receive the requests that the lost ones receive no more
	add := func(change, then string, forecast, observed float64, whom ...string) {
		if observed-forecast >= 1 {
			help(change + f.gain(r, apart(forecast, observed), whom))
			t.row(change, then, offset(max(forecast, 0)), offset(observed))
		}
	}
	movable := slices.DeleteFunc(slices.Clone(worst), func(w Workload) bool { return w.fated(stays) })
	for _, w := range movable {
		if len(w.on) > 1 && len(w.on) == w.Of {
			name := clean(w.Key.String())
			t.row(help("spread the pods of "+name+": topologySpreadConstraints, or a rollout restart after each return"), "some of them stay: all were on "+named(w.on), none, none)
		}
	}
	detected, seen := at(view.PhaseDetected)
	if out, ok := at(view.PhaseEndpointsOut); ok && seen && !c.unreached(f) && (severityUnknown(r) || f.Clients.Failed+f.Clients.Hung > 0) && slices.ContainsFunc(worst, func(w Workload) bool { return w.Lowest > 0 }) {
		add("halve "+c.setting(gracePeriod), "Services send no requests to the lost pods any more", out-(detected-c.lastFall(detected))/2, out, "clients")
	}
	if c.unreached(f) {
		t.Items = append(t.Items, cell{Text: text.Capital(help("give requests a way that does not go through the host of the API server, and the API server more than one host")) + "."})
	}
	tainted, marked := at(view.PhaseTainted)
	evicted, deleted := at(view.PhaseEvicted)
	replaced, moved := at(view.PhaseReplaced)
	if ready := c.follows(view.PhaseReady, "", evicted); ready != nil {
		tainted = max(tainted, *ready.Observed)
	}
	if taint := c.taint(); marked && deleted && moved && taint != "" && len(c.replaced()) > 0 {
		add("set "+tolerationOf+taint+" to 0", availableOf(c.replaced()), tainted+max(replaced-evicted, 0), replaced, c.replaced()...)
	}
	for _, w := range worst {
		n, ready := c.awaiting(&w, f.pods)
		short, change := cluster.Lacks(w.reported), "keep room for %s of %s (%s) on other nodes"
		switch {
		case cluster.RulesBlock(w.reported):
			short, change = cluster.Rules(w.reported), "let %s of %s run on other nodes: loosen their %s"
		case len(short) == 0: // the nodes that are left are no place for them
			short, change = []string{"another worker"}, "keep room for %s of %s on %s"
		}
		name := clean(w.Key.String())
		change, then := fmt.Sprintf(change, text.Count(n, "more pod", "more pods"), name, text.List(short)), availableOf([]string{name})
		switch restored := w.To.Sub(base(r)).Seconds(); {
		case n == 0 || len(short) == 0 || w.Pending == 0 || len(f.unheard) > 0:
		case ready == nil:
			t.row(help(change), then, none, none)
		case deleted:
			add(change, then, evicted+restored-*ready.Observed, restored, name)
		}
	}
	for _, fate := range []string{hangs, kept, awaits, multiAttach, stays} {
		if names := withFate(worst, fate); len(names) > 0 && len(f.Nodes) > 0 {
			t.Items = append(t.Items, cell{Text: text.Capital(help(fmt.Sprintf(advices[fate], text.List(few(names, "more")))+map[string]string{kept: c.room(worst)}[fate])) + "."})
		}
	}
	nodes := slices.DeleteFunc(slices.Clone(f.Nodes), func(n NodeFacts) bool { // shut down without a drain
		return n.Cause != causeShutdown || n.drained.Before(n.From) || c.shutdowns[n.Node]
	})
	if len(nodes) > 0 && len(movable) > 0 && movable[0].lost() > 0 {
		change := "drain " + named(nodes) + " before the shutdown: new pods" + movable[0].of() + " then come while the node still runs" + c.room(worst)
		t.Items = append(t.Items, cell{Text: text.Capital(help(change)) + ". " +
			"With " + shutdownGrace + " in the kubelet's configuration, Services learn of a shutdown at once."})
	}
	switch partly := len(unseenIn(r)) > 0 || !seen; {
	case partly:
		t.Items = append(t.Items, cell{"lightsout did not see all of this outage: other changes may have shortened it.", warning})
	case len(t.Rows)+len(t.Items) == 0:
		t.Items = append(t.Items, cell{Text: "lightsout knows of no setting of Kubernetes that would have shortened it."})
	}
	if len(t.Rows) > 0 {
		t.say(plain, "Forecasts from the observed times. A shorter "+gracePeriod+" also marks nodes NotReady that are only slow; with a toleration of 0, pods leave a node at each short loss of contact.")
	}
	t.Brief = joined(brief[:min(len(brief), briefMost)]...)
	return t
}

// gain is what a change makes of the time for which pods of the first of the workloads that it helps were missing, if it
// makes something come so many seconds sooner; of no workload, it is when Services know. Empty: unknown.
func (f *Facts) gain(r *record.Record, less float64, whom []string) string {
	i := slices.IndexFunc(f.Workloads, func(w Workload) bool { return slices.Contains(whom, clean(w.Key.String())) })
	if i < 0 {
		return " (Services stop sending requests to the lost pods " + lasted("", less) + " sooner)"
	}
	was, known := f.Workloads[i].lasted(r)
	if !known || was < less {
		return ""
	}
	least := f.Workloads[i].least()
	return " (pods" + f.Workloads[i].of() + " are missing for " + lasted(least, was-less) + " instead of " + lasted(least, was) + ")"
}

// briefMost is the largest number of changes in a Brief.
const briefMost = 3

// replaced names the workloads whose pods were replaced on other nodes, and waited for none of them.
func (c *causes) replaced() (names []string) {
	for _, p := range c.phases {
		if p.Name == view.PhaseReplaced && p.Observed != nil && !p.Before && c.awaited(p) == "" {
			names = append(names, clean(p.Subject))
		}
	}
	return names
}

// room is the condition for new pods to have a node sooner, by the forecast and by how many waited for one; empty: all fit.
func (c *causes) room(all []Workload) string {
	n, most := summaryOf(c.r).PendingForecast, 0
	known := n != nil || len(c.replaced()) > 0
	for _, w := range all {
		most, known = most+w.Pending, known && w.reported == ""
	}
	if n != nil {
		most = max(most, n[1])
	}
	switch {
	case most > 0:
		return ", if there is another worker, or room for " + text.Count(most, "more pod", "more pods")
	case !known:
		return ", if other nodes have room"
	}
	return ""
}

func availableOf(workloads []string) string {
	return "all pods of " + strings.Join(few(workloads, "more"), ", ") + " are available on other nodes"
}

// advices say what to do about workloads whose lost pods had a fate.
var advices = map[string]string{
	hangs: "new pods of %s come while the node is down if it has the taint " + cluster.TaintOutOfService +
		" once its machine is certainly off (where it is planned, a drain before does the same): unless their volumes keep them on it",
	kept:  "with shorter tolerationSeconds for its taints, new pods of %s come before the node is back",
	stays: "the volumes of %s keep its pods on their nodes: only volumes that other nodes can reach, or a replica elsewhere, make up for such a node while it is down",
	multiAttach: "a volume of %s stays attached to a silent node while the old pod hangs there: a drain before, or the taint " +
		cluster.TaintOutOfService + " on a node whose machine is certainly off, frees it at once",
	awaits: "with shorter tolerationSeconds for its taints, new pods of %s come sooner: by how much was not seen, as the record ended before",
}

// withFate names the workloads whose lost pods had a fate. A StatefulSet gets no new pods sooner by deleting old ones.
func withFate(all []Workload, fate string) (names []string) {
	for _, w := range all {
		if w.fated(fate) && (fate != kept || w.Kind == cluster.KindDeployment) {
			names = append(names, clean(w.Key.String()))
		}
	}
	return names
}

// fated reports whether a fate is why its pods lacked, or keeps them on their nodes by what the scheduler reported later.
func (w *Workload) fated(fate string) bool {
	if cluster.Pinned(w.reported) {
		return fate == stays
	}
	return strings.Contains(w.held, fate)
}

// awaiting counts the pods of a workload that had no node until a node was Ready again, with the last of those before the
// workload had all; nil: none was. A pod that waits for a node before that gets one elsewhere.
func (c *causes) awaiting(w *Workload, all *pods) (n int, ready *view.Phase) {
	back := func(at time.Time) *view.Phase { return c.follows(view.PhaseReady, "", at.Sub(base(c.r)).Seconds()) }
	for _, p := range all.lives {
		if workloadOf(p.Pod) == w.Ref && !p.waits.IsZero() && back(p.waits) == nil && (p.placed.IsZero() || back(p.placed) != nil) {
			n++
		}
	}
	return n, back(w.To)
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
