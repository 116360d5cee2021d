package report

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// NodeFacts is what a record shows of one time that a node was down.
type NodeFacts struct {
	outage.Down
	Cause cause
	// Evicted, Booted and Proven, of its machine to be off, are when that was seen, and OnAsked when lightsout first asked for
	// its power-on; zero: the record does not show it.
	Evicted, Booted, Proven, OnAsked time.Time
	// drained is when somebody first drained or cordoned it, to switch it off; else From.
	drained time.Time
}

// cause is how a node went down.
type cause = view.HowDown

var (
	causeShutdown = cause{Text: "shut down by lightsout", One: "was shut down", Several: "were shut down"}
	causeOff      = cause{Text: "power cut by lightsout", One: "was switched off", Several: "were switched off"}
	causeAsked    = cause{Text: "asked to go off, not seen to go", One: "was asked to go off, and lightsout did not see it go,", Several: "were asked to go off, and lightsout did not see them go,"}
	causeSilent   = view.SignSilent.Down()
	causeDeleted  = cause{Text: "unplanned: silent, its Node object was deleted", One: "was deleted after its last heartbeat", Several: "were deleted after their last heartbeats"}
	causeNotReady = view.SignNotReady.Down()
	causeFoundOff = cause{Text: "unplanned: its machine was off", One: "was found off", Several: "were found off"}
)

// asked reports whether lightsout was asked to switch the machine off.
func (n *NodeFacts) asked() bool { return n.Reason.Kind == outage.Requested }

// requestCauses are the ways to go down that lightsout asks for.
var requestCauses = map[power.Action]cause{power.ActionShutdown: causeShutdown, power.ActionOff: causeOff}

// causeOf puts the reason of an outage into words.
func causeOf(r *record.Record, d *outage.Down) cause {
	switch {
	case len(d.Spans) == 0, !d.Reason.Until.IsZero() && d.Reason.Begins() && d.First(outage.SpanOff) == nil:
		return causeAsked
	case d.Reason.Kind == outage.Requested:
		return requestCauses[r.Events[d.Reason.Event].Action]
	case d.Reason.Kind == outage.ByAnother:
		who := "switched off by another operator (" + clean(r.Events[d.Reason.Event].Name) + ")"
		return cause{Text: who, One: "was " + who, Several: "were " + who}
	case d.Spans[0].Kind == outage.SpanGone:
		return causeDeleted
	case d.Reason.Kind == outage.Noticed:
		return r.Events[d.Reason.Event].Sign.Down()
	case d.First(outage.SpanOff) != nil:
		return causeFoundOff
	case d.Spans[0].Kind == outage.SpanNotReady:
		return causeNotReady
	}
	return causeSilent
}

// nodesOf lists the times that nodes went down, in the order of time. Nodes that were only silent
// count if there are no others.
func nodesOf(r *record.Record) []NodeFacts {
	all := downsOf(r, func(n *NodeFacts) bool { return n.counts(r) })
	worse := slices.DeleteFunc(slices.Clone(all), func(n NodeFacts) bool {
		return !n.Reason.Begins() && n.First(outage.SpanOff) == nil && n.First(outage.SpanNotReady) == nil
	})
	if len(worse) > 0 {
		return worse
	}
	return all
}

// downsOf lists the times that nodes were down that are wanted, in the order of time.
func downsOf(r *record.Record, wanted func(*NodeFacts) bool) (all []NodeFacts) {
	reasons, lanes := reasonsOf(r), map[string][]outage.Span{}
	for node := range reasons {
		lanes[node] = nil
	}
	for _, l := range r.Lanes {
		lanes[l.Node] = l.Spans
	}
	lost := silences(r)
	for node, spans := range lanes {
		all = append(all, text.Each(outage.Downs(node, spans, slices.Concat(reasons[node], lost)), func(d outage.Down) NodeFacts { return NodeFacts{Down: d, Cause: causeOf(r, &d)} })...)
	}
	slices.SortFunc(all, func(a, b NodeFacts) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Node, b.Node)) })
	for i := range all {
		all[i].follow(r, all[i+1:])
	}
	return slices.DeleteFunc(all, func(n NodeFacts) bool { return !wanted(&n) })
}

// planned lists the times that nodes were off during a recorded outage because another operator had switched
// their machines off: they are no part of it, and took room from its pods.
func planned(r *record.Record) []NodeFacts {
	return downsOf(r, func(n *NodeFacts) bool { return r.Unplanned() && n.Reason.Kind == outage.ByAnother && !n.over(r) })
}

// unheard lists the times that nodes were NotReady only because the API server answered nobody: they could not renew
// their Leases.
func unheard(r *record.Record) []NodeFacts {
	return downsOf(r, func(n *NodeFacts) bool {
		return n.Reason.Kind == outage.Unanswered && n.First(outage.SpanNotReady) != nil && !past(r, n.From) && !n.Brief()
	})
}

// over reports whether it had ended before the record's zero.
func (n *NodeFacts) over(r *record.Record) bool { return !n.To.IsZero() && n.To.Before(r.Zero) }

// holds reports whether a time lies in that in which it was down.
func (n *NodeFacts) holds(at time.Time) bool {
	return !at.Before(n.From) && (n.To.IsZero() || !at.After(n.To.Add(atZero)))
}

// counts reports whether it is one of the outages that a record is about: not one that was there before,
// or is in the past of a recorded one, which may have others with their signs.
func (n *NodeFacts) counts(r *record.Record) bool {
	switch unplanned := r.Unplanned(); {
	case unplanned && n.over(r), n.Reason.Kind == outage.Unanswered:
		return false
	case n.Reason.Begins():
		return true
	case unplanned && (n.Reason.Kind == outage.ByAnother || n.Brief()):
		return false
	}
	return n.From.After(r.Start) && !n.Spans[0].After.IsZero()
}

// reasonsOf lists by node the requests to take its machine down, the recorder's signs, and what other
// operators did.
func reasonsOf(r *record.Record) map[string][]outage.Reason {
	out := map[string][]outage.Reason{}
	for i := range r.Events {
		e := &r.Events[i]
		all := out[e.Subject]
		switch asked := e.Code == view.CodePowerOperation && requestCauses[e.Action].Text != ""; {
		case e.Sign == view.SignSwitchedOff: // its request is the reason
		case e.Code == view.CodeOutageSign && e.Sign.OfNode():
			out[e.Subject] = append(all, outage.Reason{Kind: outage.Noticed, At: e.At, Event: i})
		case e.Code == view.CodePlannedOff:
			out[e.Subject] = append(all, outage.Reason{Kind: outage.ByAnother, At: e.At, Event: i})
		case asked && e.Stage == power.StageSending:
			out[e.Subject] = append(all, outage.Reason{Kind: outage.Requested, At: e.At, Event: i})
		case asked && e.Stage == power.StageFailed && len(all) > 0:
			all[len(all)-1].Until = e.At
		}
	}
	return out
}

// silences are the times in which no node could renew its Lease.
func silences(r *record.Record) (out []outage.Reason) {
	for _, s := range apiLost(r) {
		if !s.to.IsZero() {
			out = append(out, outage.Reason{Kind: outage.Unanswered, At: s.from.Add(-view.SettlesAfterAPI), Until: s.to.Add(view.SettlesAfterAPI)})
		}
	}
	return out
}

// phasesIn are the phases of a summary, with the times that the lanes show of nodes. That no request was on its way hides
// an error window.
func phasesIn(r *record.Record, nodes []NodeFacts) []view.Phase {
	phases := slices.Clone(summaryOf(r).Phases)
	for i := range phases {
		p := &phases[i]
		if p.Name == view.PhaseErrors && p.Observed == nil && !clientsOf(r, wholeRecord(r), 0).asked() {
			p.HiddenFrom = new(float64)
		}
		for _, n := range nodes {
			at := map[string]time.Time{view.PhaseOff: n.Since(outage.SpanOff), view.PhaseDetected: n.Since(outage.SpanNotReady), view.PhaseBooted: n.Booted, view.PhaseReady: n.Ready()}[p.Name]
			if n.Node == p.Subject && p.Observed != nil && !p.Before && p.HiddenFrom == nil && !at.IsZero() && n.holds(secondsAfter(r, *p.Observed)) {
				p.Observed = new(at.Sub(base(r)).Seconds())
			}
		}
	}
	return phases
}

// follow reads the steps that no span shows, until the node goes down again. It may return under a new
// object.
func (n *NodeFacts) follow(r *record.Record, later []NodeFacts) {
	again := slices.IndexFunc(later, func(x NodeFacts) bool { return x.Node == n.Node })
	during := func(at time.Time) bool { return !at.Before(n.From) && (again < 0 || at.Before(later[again].From)) }
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
	n.drained = n.From
	for i := range r.Events {
		switch e := &r.Events[i]; {
		case e.Subject != n.Node:
		case e.Action == power.ActionOn && e.Stage == power.StageSending && n.OnAsked.IsZero() && during(e.At):
			n.OnAsked = e.At
		case e.Code == view.CodeMachineState && e.To == power.Off.String() && e.Proof == power.Proven && during(e.Seen):
			n.Proven = e.Seen
		case e.Change == cluster.ChangeBoot && during(e.Seen):
			n.Booted = e.Seen
		case !e.When().By.Before(n.From):
		case e.Change == cluster.ChangeCordon && e.To == "schedulable":
			n.drained = n.From
		case e.Code == view.CodeDrainBegun || e.Change == cluster.ChangeCordon:
			n.drained = earliest(n.drained, e.When().By)
		}
	}
}
