package report

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// causes are the facts of a record that say why Kubernetes did something then.
type causes struct {
	r     *record.Record
	all   []Facts
	nodes []NodeFacts // of all outages
	// phases are those of nodes by the summary, those that it lacks, and when workloads had all their pods again.
	phases []view.Phase
	// taints is the taint of each node by which its pods went, if it was seen; shutdowns are the nodes
	// whose kubelets reported their own shutdown.
	taints    map[string]string
	shutdowns map[string]bool
}

func causesOf(r *record.Record, all []Facts) *causes {
	c := &causes{r: r, all: all, nodes: nodesIn(all), taints: map[string]string{}, shutdowns: map[string]bool{}}
	c.phases = slices.DeleteFunc(phasesIn(r, c.nodes), func(p view.Phase) bool { return p.Name == view.PhaseRestored })
	nodes := unheard(r)
	all[0].pods.evict(r, nodes)
	c.nodes = append(c.nodes, nodes...)
	for _, n := range c.nodes {
		c.seen(view.PhaseDetected, n.Node, n.Since(outage.SpanNotReady))
		c.seen(view.PhaseEvicted, n.Node, n.Evicted)
		c.seen(view.PhaseBooted, n.Node, n.Booted)
		c.seen(view.PhaseReady, n.Node, n.Ready())
		for _, span := range n.NotReady() { // Ready for a while
			if !span.To.IsZero() && span.To.Before(n.Ready()) {
				c.phases = append(c.phases, view.Phase{Name: view.PhaseReady, Subject: n.Node, Observed: new(span.To.Sub(base(r)).Seconds())})
			}
		}
	}
	for i := range all {
		c.recovered(all[i].Workloads)
	}
	for i := range r.Events {
		switch e := &r.Events[i]; {
		case past(r, e.Seen):
		case e.Change == cluster.ChangeTaint && cluster.Evicts(e.To) && !c.returned(e.Subject, e.Seen): // a node that boots has another
			c.taints[e.Subject] = cmp.Or(c.taints[e.Subject], strings.TrimSuffix(e.To, ":NoExecute"))
			c.seen(view.PhaseTainted, e.Subject, e.When().By)
		case e.Change == cluster.ChangeEndpoints && e.Kind == string(cluster.KindNode) && e.To == "0":
			c.seen(view.PhaseEndpointsOut, e.Subject, e.When().By)
		case e.Code == view.CodeNodeStatus && e.Cause == cluster.CauseShutdown:
			c.shutdowns[e.Subject] = true
		}
	}
	return c
}

// in are the causes with the nodes and phases of outage number i alone.
func (c *causes) in(i int) *causes {
	own := *c
	own.nodes, own.phases = c.all[i].Nodes, slices.DeleteFunc(slices.Clone(c.phases), func(p view.Phase) bool {
		return p.Observed != nil && outageAt(c.all, secondsAfter(c.r, *p.Observed)) != i
	})
	return &own
}

// seen adds when a phase of a node was seen, unless the summary has that.
func (c *causes) seen(phase, node string, at time.Time) {
	for _, n := range c.nodes {
		known := func(p view.Phase) bool {
			return p.Name == phase && p.Subject == node && (p.Before || p.Observed != nil && n.holds(secondsAfter(c.r, *p.Observed)))
		}
		if n.Node == node && n.holds(at) && !slices.ContainsFunc(c.phases, known) {
			c.phases = append(c.phases, view.Phase{Name: phase, Subject: node, Observed: new(at.Sub(base(c.r)).Seconds())})
		}
	}
}

// awaited is the node that was Ready last when the pods of a workload had found nodes, if they had to wait for one; else
// empty.
func (c *causes) awaited(p view.Phase) string {
	f := &c.all[outageAt(c.all, secondsAfter(c.r, *p.Observed))]
	for _, w := range f.Workloads {
		if n, ready := c.awaiting(&w, f.pods); w.Key.String() == p.Subject && n > 0 && ready != nil {
			return ready.Subject
		}
	}
	return ""
}

// recovered adds when workloads had all their pods again: on other nodes if no node had returned.
func (c *causes) recovered(workloads []Workload) {
	for _, w := range workloads {
		for _, l := range w.lacks {
			if l.to.IsZero() {
				continue
			}
			at := l.to.Sub(base(c.r)).Seconds()
			known := func(p view.Phase) bool {
				return p.Name == view.PhaseReplaced && p.Subject == w.Key.String() && p.Observed != nil && math.Abs(*p.Observed-at) < 2
			}
			p := view.Phase{Name: view.PhaseRestored, Subject: w.Key.String(), Observed: &at}
			if c.follows(view.PhaseReady, "", at) == nil || slices.ContainsFunc(c.phases, known) {
				p.Name = view.PhaseReplaced
			}
			c.phases = append(slices.DeleteFunc(c.phases, known), p)
		}
	}
}

// returned reports whether a node had booted before a time at which it was still down.
func (c *causes) returned(node string, at time.Time) bool {
	return slices.ContainsFunc(c.nodes, func(n NodeFacts) bool {
		return n.Node == node && !n.Booted.IsZero() && !at.Before(n.Booted) && (n.To.IsZero() || !at.After(n.To))
	})
}

// The names of settings that make Kubernetes wait.
const (
	gracePeriod   = "node-monitor-grace-period"
	monitorPeriod = "node-monitor-period"
	evictionRate  = "node-eviction-rate"
	unhealthyZone = "unhealthy-zone-threshold"
	statusUpdate  = "nodeStatusUpdateFrequency"
	shutdownGrace = "shutdownGracePeriod"
	tolerationOf  = "tolerationSeconds of "
)

// setting is a setting with its value and whether that is assumed.
func (c *causes) setting(name string) string {
	all := summaryOf(c.r).Settings
	i := slices.IndexFunc(all, func(s record.Setting) bool { return s.Name == name })
	if i < 0 {
		return name + " (unknown)"
	}
	return name + " " + all[i].Value + map[bool]string{true: " (assumed)"}[all[i].Source == cluster.Assumed]
}

// why is why Kubernetes did something then: the cause of a phase of that subject.
func (c *causes) why(p view.Phase) string {
	subject := p.Subject
	switch p.Name {
	case view.PhaseDetected:
		if c.shutdowns[subject] {
			return "its kubelet reported that it shuts down: " + c.setting(shutdownGrace)
		}
		return "no heartbeat for " + c.setting(gracePeriod) + ", checked every " + c.setting(monitorPeriod)
	case view.PhaseEndpointsOut:
		return "readiness: the pods of a NotReady node are not ready, and Services send requests only to ready pods"
	case view.PhaseTainted: // node lifecycle controller, pkg/controller/nodelifecycle, ReducedQPSFunc and handleDisruption
		return "one node after the other, by " + c.setting(evictionRate) + " a second, or fewer while many of a zone are not Ready: " + c.setting(unhealthyZone)
	case view.PhaseEvicted:
		if c.taints[subject] == "" {
			return "its pods' tolerationSeconds; lightsout did not see the taint come"
		}
		return c.setting(tolerationOf + c.taints[subject])
	case view.PhaseReplaced:
		if node := c.awaited(p); node != "" {
			return "its pods found no node until " + clean(node) + " was Ready"
		}
		return "readiness: a new pod counts once it is scheduled, started and ready (readinessProbe, minReadySeconds)"
	case view.PhaseReady:
		return "its kubelet reports a new state at once, else every " + c.setting(statusUpdate)
	}
	return "readiness: a pod counts once it is ready (readinessProbe, minReadySeconds)"
}

// endsWithin is for how many seconds at most a client waits for a pod that is lost; errors that last longer have
// another reason.
const endsWithin = 10.0

// errors is why requests failed for so long: Services learn of lost pods late, and a request to one fails later still, or
// the API server was silent too; empty if they had another reason.
func (c *causes) errors(f *Facts) string {
	x := &f.Clients
	out, seen := lastSeen(c.phases, view.PhaseEndpointsOut)
	sent := ""
	if seen && len(x.Windows) == 1 && x.Windows[0].From < out && slices.ContainsFunc(f.Nodes, func(n NodeFacts) bool { return n.holds(secondsAfter(c.r, x.Windows[0].From+1)) }) {
		sent = "Services sent requests to the lost pods until " + clock(secondsAfter(c.r, out)) + text.Noun(len(c.shutdowns)+1, ", as Kubernetes waits for "+c.setting(gracePeriod), "")
	}
	for _, w := range f.Workloads {
		if w.Key == c.r.Deployment() && 2*w.none.Seconds() > x.ErrorTime && len(x.Windows) > 0 {
			return strings.TrimPrefix(sent+", and then no pod"+w.of()+" was available for "+lasted(w.least(), w.none.Seconds()), ", and then ")
		}
	}
	if c.unreached(f) {
		return "the API server gave no answer then either: most likely the way to both failed, or their host" + c.host()
	}
	switch {
	case sent == "" || x.Windows[0].To-out >= endsWithin:
		return ""
	case x.Windows[0].To <= out:
		return sent
	}
	why := classes(x.last)
	for _, e := range c.r.Events {
		if e.Code == view.CodeRequestsFail && x.last[e.Class] > 0 {
			why = cmp.Or(clean(e.Reported), why)
		}
	}
	return sent + ", and the last of these failed " + lasted("", apart(out, x.Windows[0].To)) + " later (" + why + ")"
}

// host is the node of the control plane that requests go to, with the word for that; empty: another host.
func (c *causes) host() string {
	to, _ := url.Parse(lastRun(c.r).URL)
	for _, n := range nodesShown(c.r) {
		if to != nil && n.ControlPlane && slices.Contains(n.Addresses, to.Hostname()) {
			return ", the control-plane node " + clean(n.Name)
		}
	}
	return ""
}

// unreached reports whether the API server gave no answer for most of the time in which requests failed.
func (c *causes) unreached(f *Facts) bool {
	return slices.ContainsFunc(apiLost(c.r), func(s interval) bool {
		return slices.ContainsFunc(f.Clients.Windows, func(w record.Span) bool {
			both := earliest(secondsAfter(c.r, w.To), cmp.Or(s.to, f.over)).Sub(latest(secondsAfter(c.r, w.From), s.from))
			return 2*both.Seconds() > f.Clients.ErrorTime
		})
	})
}

// sinceWords are the words for the moment from which a node's detection counts.
var sinceWords = map[cause]string{
	causeShutdown: "the request to shut down", causeOff: "the request to cut the power", causeFoundOff: "it was found off",
	causeSilent: "its heartbeat was overdue", causeDeleted: "its last heartbeat",
}

// wait is how long subjects of an act waited, in seconds, the shortest and the longest wait, and
// since what moment; without a moment it is unknown.
type wait struct {
	since       string
	least, most float64
}

func (w *wait) text() string {
	if w.since == "" {
		return none
	}
	length, most := seconds(w.least), seconds(w.most)
	if length != most {
		length = strings.TrimSuffix(length, " s") + "–" + most
	}
	return length + " after " + w.since
}

// waited is how long a phase came after the one that it follows, or after the node went down.
func (c *causes) waited(p view.Phase, after, since string) wait {
	at := *p.Observed
	last := c.follows(after, p.Subject, at)
	if after == "" {
		last, since = c.fell(p.Subject, at)
	}
	if last == nil || last.HiddenFrom != nil || p.HiddenFrom != nil {
		return wait{}
	}
	length := apart(*last.Observed, at)
	return wait{since: since, least: length, most: length}
}

// fell is when a node went down the last time before it was detected, with the words for that.
func (c *causes) fell(node string, until float64) (from *view.Phase, since string) {
	for _, n := range c.nodes {
		s := n.From.Sub(base(c.r)).Seconds()
		words := sinceWords[n.Cause]
		if n.Reason.Kind == outage.ByAnother {
			words = "it went off"
		}
		if n.Node != node || s > until || words == "" {
			continue
		}
		from, since = &view.Phase{Observed: &s}, words
		if n.Reason.Kind == outage.Noticed && n.Cause == causeSilent {
			since = "its last heartbeat"
		}
	}
	return from, since
}

// follows is when a phase was observed the last time until then, in the same outage: of the subject, if it
// has that phase, as a node waits for what happened to itself. hidden: a blind span hid that.
func (c *causes) follows(phase, subject string, until float64) (last *view.Phase) {
	own := slices.ContainsFunc(c.phases, func(p view.Phase) bool { return p.Name == phase && p.Subject == subject })
	began := c.all[outageAt(c.all, secondsAfter(c.r, until))].began.Sub(base(c.r)).Seconds()
	for i := range c.phases {
		p := &c.phases[i]
		mine := p.Name == phase && (!own || p.Subject == subject) && p.Observed != nil && *p.Observed >= began && *p.Observed <= until
		if mine && (last == nil || *p.Observed > *last.Observed) {
			last = p
		}
	}
	return last
}
