package report

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/power"
)

// NodeFacts is what a record shows of one time that a node was down.
type NodeFacts struct {
	Node  string
	Cause cause
	// From is when lightsout asked for it, or when all was well last by the recorder's sign, else
	// when the node was seen down. To is when it was back; zero: it was not when the record ended.
	From, To time.Time
	// What was seen of it; zero: the record does not show it.
	Off, Silent, NotReady, Evicted, Booted, Ready time.Time
	// OffAtEnd: its machine was off when the record ended, and not only silent.
	OffAtEnd bool
	// sign: a sign of the recorder says when it was well last.
	sign bool
	// begun are the spans of it that had begun when the record first shows the node.
	begun []view.NodeSpan
}

// cause is how a node went down.
type cause string

const (
	causeShutdown cause = "shut down by lightsout"
	causeOff      cause = "power cut by lightsout"
	causeAsked    cause = "asked to go off, not seen to go"
	causeSilent   cause = "unplanned: its heartbeats stopped"
	causeDeleted  cause = "unplanned: silent, its Node object was deleted"
	causeNotReady cause = "unplanned: not Ready"
	causeFoundOff cause = "unplanned: its machine was off"
	causeNotBack  cause = "not back after a planned switch-off"
)

// asked reports whether lightsout was asked to switch the machine off.
func (n *NodeFacts) asked() bool {
	return n.Cause == causeShutdown || n.Cause == causeOff || n.Cause == causeAsked
}

// went is when the node was first seen down; zero: it never was.
func (n *NodeFacts) went() (at time.Time) {
	for _, t := range []time.Time{n.Off, n.Silent, n.NotReady} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// gap is the longest time between two spans of one node that count as one: it boots before it is
// heard.
const gap = 5 * time.Second

// shortest is how long a node must be down to count in an outage of which it is no sign.
const shortest = 2 * time.Second

// nodesOf lists the times that nodes went down, in the order of time. Nodes that were only silent
// count if there are no others.
func nodesOf(r *record.Record) []NodeFacts {
	requests := requestsOf(r.Events)
	spans := map[string][]view.NodeSpan{}
	for node := range requests {
		spans[node] = nil
	}
	for _, l := range r.Lanes {
		spans[l.Node] = l.Spans
	}
	var all []NodeFacts
	for node := range spans {
		all = append(all, explained(r, node, downsOf(r, node, spans[node]), requests[node])...)
	}
	began, lost := firstSight(r), apiLost(r)
	all = slices.DeleteFunc(all, func(n NodeFacts) bool {
		if recorded(r) && !n.To.IsZero() && n.To.Before(r.Zero) {
			return true // the past of a recorded outage may have others, with their signs
		}
		return !n.asked() && !n.sign && (!n.From.After(began) || n.byAPI(lost) || recorded(r) && n.apart(r))
	})
	worse := slices.DeleteFunc(slices.Clone(all), func(n NodeFacts) bool {
		return !n.asked() && !n.sign && n.Off.IsZero() && n.NotReady.IsZero()
	})
	if len(worse) > 0 {
		all = worse
	}
	slices.SortFunc(all, func(a, b NodeFacts) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Node, b.Node)) })
	for i := range all {
		again := r.End.Add(gap)
		if j := slices.IndexFunc(all[i+1:], func(n NodeFacts) bool { return n.Node == all[i].Node }); j >= 0 {
			again = all[i+1+j].From
		}
		all[i].follow(r, again)
	}
	return all
}

// downsOf joins a node's spans into the times that it was down. The past before a recorded outage
// is joined with nothing.
func downsOf(r *record.Record, node string, spans []view.NodeSpan) (out []NodeFacts) {
	unplanned := recorded(r)
	past := func(at time.Time) bool { return unplanned && at.Before(r.Zero.Add(-time.Second)) }
	for _, s := range slices.SortedFunc(slices.Values(spans), func(a, b view.NodeSpan) int { return a.From.Compare(b.From) }) {
		last := len(out) - 1
		if last < 0 || !out[last].To.IsZero() && s.From.After(out[last].To.Add(gap)) || past(out[last].From) && !past(s.From) {
			out, last = append(out, NodeFacts{Node: node, From: s.From, To: s.From}), last+1
		}
		n := &out[last]
		*n.since(s.Kind) = s.From
		if s.Begun {
			n.begun = append(n.begun, s)
		}
		switch s.Kind {
		case view.SpanOff:
			n.Cause = causeFoundOff
		case view.SpanNotReady:
			n.Cause = cmp.Or(n.Cause, causeNotReady)
		default:
			n.Cause = cmp.Or(n.Cause, causeSilent)
		}
		switch {
		case !s.To.Before(r.End):
			n.To, n.OffAtEnd = time.Time{}, n.OffAtEnd || s.Kind == view.SpanOff
		case !n.To.IsZero() && s.To.After(n.To):
			n.To = s.To
		}
		if s.Kind == view.SpanNotReady && s.To.Before(r.End) {
			n.Ready = s.To
		}
	}
	return out
}

// since is when spans of a kind were seen to begin.
func (n *NodeFacts) since(kind view.SpanKind) *time.Time {
	switch kind {
	case view.SpanOff:
		return &n.Off
	case view.SpanNotReady:
		return &n.NotReady
	}
	return &n.Silent
}

// begunAt is when a span began that the record does not show from its beginning: a node became
// NotReady by the time of its condition. Zero: unknown.
func begunAt(r *record.Record, s view.NodeSpan) time.Time {
	for _, p := range summaryOf(r).Phases {
		if s.Kind != view.SpanNotReady || p.Name != view.PhaseDetected || p.Subject != s.Node || p.Observed == nil || p.Before {
			continue
		}
		if at := secondsAfter(r, *p.Observed); !at.After(s.From) {
			return at
		}
	}
	return time.Time{}
}

// byAPI reports whether a node was silent only because the API server did not answer: it could not
// renew its Lease.
func (n *NodeFacts) byAPI(lost []unseen) bool {
	return n.Off.IsZero() && !n.To.IsZero() && slices.ContainsFunc(lost, func(s unseen) bool {
		return !s.to.IsZero() && !n.From.Before(s.from.Add(-view.SettlesAfterAPI)) && !n.To.After(s.to.Add(view.SettlesAfterAPI))
	})
}

// apart reports whether a node that was down is no part of a recorded outage: it was down for a
// moment, or by somebody's plan.
func (n *NodeFacts) apart(r *record.Record) bool {
	over := !n.To.IsZero()
	return over && n.To.Sub(n.From) < shortest || slices.ContainsFunc(r.Events, func(e view.Event) bool {
		return e.Code == view.CodePlannedOff && e.Subject == n.Node && !e.At.Before(n.From.Add(-gap)) && (!over || !e.At.After(n.To.Add(gap)))
	})
}

// reason is a request of lightsout to take a machine down, or a sign that the recorder noticed.
type reason struct {
	at    time.Time
	cause cause
	sign  bool
	// failed is when lightsout gave the request up; zero: it did not.
	failed time.Time
}

// signCauses are the ways to go down that the recorder's signs show.
var signCauses = map[view.Sign]cause{view.SignSilent: causeSilent, view.SignNotReady: causeNotReady, view.SignNotBack: causeNotBack}

// requestsOf lists by node the requests to take its machine down, and the recorder's signs.
func requestsOf(events []view.Event) map[string][]reason {
	causes := map[power.Action]cause{power.ActionShutdown: causeShutdown, power.ActionOff: causeOff}
	out := map[string][]reason{}
	for i := range events {
		e := &events[i]
		all := out[e.Subject]
		switch cause := causes[e.Action]; {
		case e.Code == view.CodeOutageSign && signCauses[e.Sign] != "":
			out[e.Subject] = append(all, reason{at: e.At, cause: signCauses[e.Sign], sign: true})
		case e.Code != view.CodePowerOperation || cause == "":
		case e.Stage == power.StageSending:
			out[e.Subject] = append(all, reason{at: e.At, cause: cause})
		case e.Stage == power.StageFailed && len(all) > 0:
			all[len(all)-1].failed = e.At
		}
	}
	return out
}

// explains reports whether the node went down by the request, or with the sign: a poll can find a
// machine off a second before its last heartbeat arrives.
func (q *reason) explains(n *NodeFacts) bool {
	if q.cause == causeNotBack {
		return true
	}
	went := n.went()
	if q.sign {
		went = went.Add(time.Second)
	}
	return !q.at.After(went) && (q.failed.IsZero() || !q.failed.Before(went))
}

// explained gives each time that a node was down the last request or sign before it, and adds the
// deletion of a node that no span shows, and the last request if the node did not go.
func explained(r *record.Record, node string, downs []NodeFacts, requests []reason) []NodeFacts {
	for i := range requests {
		q := &requests[i]
		at := slices.IndexFunc(downs, func(n NodeFacts) bool { return n.To.IsZero() || q.at.Before(n.To) })
		gone := time.Time{}
		if q.cause == causeSilent {
			gone = nodeEvent(r, node, true, q.at)
		}
		switch {
		case at >= 0 && q.explains(&downs[at]):
			n := &downs[at]
			n.Cause, n.From, n.sign = q.cause, q.at, q.sign
			if !gone.IsZero() && gone.Before(n.went()) {
				n.Cause = causeDeleted
			}
		case at < 0 && !gone.IsZero():
			downs = append(downs, NodeFacts{Node: node, Cause: causeDeleted, From: q.at, To: nodeEvent(r, node, false, gone), sign: true})
		}
	}
	if len(requests) == 0 {
		return downs
	}
	q := requests[len(requests)-1]
	down := slices.ContainsFunc(downs, func(n NodeFacts) bool { return n.To.IsZero() || q.at.Before(n.To) })
	if !q.sign && !down && (len(downs) == 0 || q.failed.IsZero()) {
		downs = append(downs, NodeFacts{Node: node, Cause: causeAsked, From: q.at, To: q.at})
	}
	return downs
}

// nodeEvent is when a node was deleted, or created, at that time or later; zero if it was not.
func nodeEvent(r *record.Record, node string, deleted bool, from time.Time) time.Time {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Code == view.CodeNodeNode && e.Subject == node && (e.Cause == cluster.CauseDeleted) == deleted && !e.Seen.Before(from) {
			return e.Seen
		}
	}
	return time.Time{}
}

// follow adds the steps that no span shows, until the node goes down again, and takes away those of
// which it does not show when they came. It may return under a new object.
func (n *NodeFacts) follow(r *record.Record, again time.Time) {
	for _, s := range n.begun {
		if at := n.since(s.Kind); !n.asked() && at.Equal(s.From) {
			*at = begunAt(r, s)
		}
	}
	during := func(at time.Time) bool { return !at.Before(n.From) && at.Before(again) }
	for _, p := range summaryOf(r).Phases {
		if p.Subject != n.Node || p.Observed == nil || p.Before || !during(secondsAfter(r, *p.Observed)) {
			continue
		}
		switch p.Name {
		case view.PhaseEvicted:
			n.Evicted = secondsAfter(r, *p.Observed)
		case view.PhaseBooted:
			n.Booted = secondsAfter(r, *p.Observed)
		}
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Change == cluster.ChangeBoot && e.Subject == n.Node && during(e.Seen) {
			n.Booted = e.Seen
		}
	}
}

// firstSight is when the record first shows the cluster; zero when it does not.
func firstSight(r *record.Record) time.Time {
	for i := range r.Samples {
		if c := r.Samples[i].Cluster; c != nil && len(c.Nodes) > 0 {
			return r.Samples[i].At
		}
	}
	return time.Time{}
}
