package report

import (
	"cmp"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/power"
)

// outage is the time from the first node that went down until the last of those
// that were down with it was back.
type outage struct {
	nodes []fallen
	// from is when the first one went down, or was asked to. to is when the last
	// one was back; zero: it was not when the record ended.
	from, to time.Time
}

// fallen is a node that went down: how, and when.
type fallen struct {
	node string
	how  fall
	// from is when lightsout asked for it, else when it went down.
	from, went time.Time
	// to is when it was back; zero: it was not when the record ended.
	to time.Time
	// early: it was down when the record began.
	early bool
	// sign: from is the time of a sign that the recorder noticed.
	sign bool
	// asked: lightsout was asked to switch its machine off.
	asked bool
	// silent: it was nothing worse.
	silent bool
	// off: its machine is off at the end, and not only silent. on: its machine was off
	// and is on again.
	off, on bool
}

// late reports whether lightsout saw much later than it asked for that a machine had lost its
// power: its driver may have taken its time.
func (f fallen) late() bool { return f.how == fallOff && f.went.Sub(f.from) > 5*time.Second }

// fall is how a node went down.
type fall string

const (
	fallShutdown fall = "shutdown"  // lightsout asked the machine to shut down
	fallOff      fall = "off"       // lightsout had its power cut
	fallSilent   fall = "silent"    // nobody asked; its heartbeats stopped
	fallDeleted  fall = "deleted"   // nobody asked; its Node object was deleted before it was silent
	fallNotReady fall = "not ready" // nobody asked; it was not Ready
	fallWentOff  fall = "went off"  // nobody asked; its machine was seen off
	fallNotBack  fall = "not back"  // it did not return after a planned switch-off
	fallAsked    fall = "asked"     // lightsout asked, and it did not go down
)

// outagesOf finds the outages in a record, in the order of time.
func outagesOf(r *record.Record) []outage {
	var out []outage
	for _, f := range fallenOf(r) {
		if n := len(out); n > 0 && (out[n-1].to.IsZero() || !f.from.After(out[n-1].to)) {
			out[n-1].add(f)
			continue
		}
		out = append(out, outage{nodes: []fallen{f}, from: f.from, to: f.to})
	}
	return out
}

func (o *outage) add(f fallen) {
	o.nodes = append(o.nodes, f)
	if f.to.IsZero() || o.to.IsZero() {
		o.to = time.Time{}
	} else if f.to.After(o.to) {
		o.to = f.to
	}
}

// end is when it was over, or the record.
func (o *outage) end(r *record.Record) time.Time {
	if o.to.IsZero() {
		return r.End
	}
	return o.to
}

// began is the earliest time at which the outage may have begun: if nobody asked for it and no
// sign announced it, lightsout sees the node go down only later.
func (o *outage) began() time.Time {
	if len(o.nodes) == 0 || o.nodes[0].asked || o.nodes[0].sign {
		return o.from
	}
	return o.from.Add(-gap)
}

// outageAt is the last outage that had begun at t, else the first; -1 for none.
func outageAt(all []outage, t time.Time) int {
	at := min(len(all), 1) - 1
	for i := range all {
		if !all[i].began().After(t) {
			at = i
		}
	}
	return at
}

// fallenOf lists the nodes that went down during the record, once for each outage, in
// the order of time. Nodes that were only silent count only if all others were deleted.
func fallenOf(r *record.Record) []fallen {
	asked := askedOf(r.Events)
	spans := map[string][]view.NodeSpan{}
	for node := range asked {
		spans[node] = nil
	}
	for _, l := range r.Lanes {
		spans[l.Node] = l.Spans
	}
	var worse, silent []fallen
	for node := range spans {
		all := answer(r, downs(r, node, spans[node]), node, asked[node])
		for _, f := range append(all, deletedOf(r, node, asked[node], all)...) {
			if gone := nodeEvent(r, node, true, f.from); f.sign && f.how == fallSilent && !gone.IsZero() && gone.Before(f.went) {
				f.how = fallDeleted
			}
			if f.silent {
				silent = append(silent, f)
			} else if !f.early {
				worse = append(worse, f)
			}
		}
	}
	if !slices.ContainsFunc(worse, func(f fallen) bool { return f.how != fallDeleted }) {
		worse = append(worse, silent...)
	}
	if !recorded(r) {
		worse = slices.DeleteFunc(worse, func(f fallen) bool { return !f.asked && !f.to.IsZero() && byAPI(r, f) })
	} else { // its past may contain an earlier outage
		worse = slices.DeleteFunc(worse, func(f fallen) bool {
			over := !f.to.IsZero()
			return over && f.to.Before(r.Zero) || !f.sign && (over && (f.to.Sub(f.from) < shortest || byAPI(r, f)) || byPlan(r, f))
		})
	}
	slices.SortFunc(worse, func(a, b fallen) int { return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.node, b.node)) })
	return worse
}

// byPlan reports whether somebody switched a node off by plan, as the recorder noticed.
func byPlan(r *record.Record, f fallen) bool {
	return slices.ContainsFunc(r.Events, func(e view.Event) bool {
		return e.Code == view.CodePlannedOff && e.Subject == f.node && !e.At.Before(f.from.Add(-gap)) && (f.to.IsZero() || !e.At.After(f.to.Add(gap)))
	})
}

// stillDown reports whether a node that somebody switched off by plan was down during the
// outage of the record, and not only before.
func stillDown(r *record.Record, planned *view.Event) bool {
	for _, l := range r.Lanes {
		if l.Node == planned.Subject && slices.ContainsFunc(l.Spans, func(s view.NodeSpan) bool {
			return s.To.After(r.Zero) && !planned.At.Before(s.From.Add(-gap)) && !planned.At.After(s.To)
		}) {
			return true
		}
	}
	return false
}

// byAPI reports whether a node that nobody switched, and without a sign, was down only
// because the API server did not answer: the node could not renew its Lease.
func byAPI(r *record.Record, f fallen) bool {
	if f.how == fallWentOff || f.on || f.off {
		return false // its machine was seen off
	}
	return slices.ContainsFunc(r.Events, func(e view.Event) bool {
		lost := e.Code == view.CodeAPILost || e.Code == view.CodeOutageSign && e.Sign == view.SignAPI
		if !lost || f.from.Before(e.At.Add(-view.SettlesAfterAPI)) {
			return false
		}
		silent := silentAPI(r, e.At)
		return silent > 0 && !f.to.After(e.At.Add(silent+view.SettlesAfterAPI))
	})
}

// request is a request of lightsout to take a machine down.
type request struct {
	at  time.Time
	how fall
	// sign: nobody asked; it is a sign that the recorder noticed.
	sign bool
	// failed is when lightsout gave it up; zero: it did not.
	failed time.Time
}

// late reports whether a node had gone down before the request, so for another reason. A
// sign may follow by a second: a poll can find a machine off before its last heartbeat
// has arrived.
func (q *request) late(went time.Time) bool {
	if q.sign {
		went = went.Add(time.Second)
	}
	return q.how != fallNotBack && q.at.After(went)
}

// before reports whether it is a sign of a node that somebody deleted, and that joined again before
// it went down: the sign is of an earlier time. A node that is not Ready when it joins is not back.
func (q *request) before(r *record.Record, node string, f fallen) bool {
	gone := nodeEvent(r, node, true, q.at)
	if !q.sign || q.how != fallSilent || gone.IsZero() {
		return false
	}
	back := nodeEvent(r, node, false, gone)
	return !back.IsZero() && f.went.After(back.Add(gap))
}

// askedOf lists the requests to take each node's machine down.
func askedOf(events []view.Event) map[string][]request {
	hows := map[power.Action]fall{power.ActionShutdown: fallShutdown, power.ActionOff: fallOff}
	out := map[string][]request{}
	for i := range events {
		e := &events[i]
		if how := signHows[e.Sign]; e.Code == view.CodeOutageSign && how != "" {
			out[e.Subject] = append(out[e.Subject], request{at: e.At, how: how, sign: true})
		}
		if e.Code != view.CodePowerOperation || hows[e.Action] == "" {
			continue
		}
		switch n := len(out[e.Subject]); {
		case e.Stage == power.StageSending:
			out[e.Subject] = append(out[e.Subject], request{at: e.At, how: hows[e.Action]})
		case e.Stage == power.StageFailed && n > 0:
			out[e.Subject][n-1].failed = e.At
		}
	}
	return out
}

// signHows are the ways to go down that the recorder's signs show.
var signHows = map[view.Sign]fall{view.SignSilent: fallSilent, view.SignNotReady: fallNotReady, view.SignNotBack: fallNotBack}

// gap is the longest time between two spans of one node that count as one: it
// boots before it is heard.
const gap = 5 * time.Second

// hows are the ways to go down that spans show.
var hows = map[view.SpanKind]fall{view.SpanOff: fallWentOff, view.SpanSilent: fallSilent, view.SpanNotReady: fallNotReady}

// downs joins a node's spans into the times that it was down.
func downs(r *record.Record, node string, spans []view.NodeSpan) []fallen {
	began := firstSight(r)
	var out []fallen
	for _, s := range slices.SortedFunc(slices.Values(spans), func(a, b view.NodeSpan) int { return a.From.Compare(b.From) }) {
		f := fallen{node: node, how: hows[s.Kind], from: s.From, went: s.From, to: s.To, silent: s.Kind == view.SpanSilent, early: !s.From.After(began)}
		if !s.To.Before(r.End) {
			f.to, f.off = time.Time{}, s.Kind == view.SpanOff
		}
		f.on = s.Kind == view.SpanOff && !f.off
		if n := len(out); n > 0 && (out[n-1].to.IsZero() || !s.From.After(out[n-1].to.Add(gap))) && !(recorded(r) && past(r, out[n-1].from) && !past(r, s.From)) {
			out[n-1].join(f)
			continue
		}
		out = append(out, f)
	}
	return out
}

// past reports whether a time is in the past that the record of an unplanned outage
// begins with, before the last heartbeat of the first node.
func past(r *record.Record, at time.Time) bool { return at.Before(r.Zero.Add(-time.Second)) }

// answer finds the last request before each time that a node went down, and adds the last
// request if the node did not go down at all, or not again.
func answer(r *record.Record, all []fallen, node string, asked []request) []fallen {
	for _, q := range asked {
		next := slices.IndexFunc(all, func(f fallen) bool { return f.to.IsZero() || q.at.Before(f.to) })
		if next < 0 || q.late(all[next].went) || q.before(r, node, all[next]) || !q.failed.IsZero() && q.failed.Before(all[next].went) {
			continue
		}
		all[next].how, all[next].from, all[next].silent = q.how, q.at, false
		all[next].early, all[next].sign, all[next].asked = false, q.sign, !q.sign
	}
	if q := unheeded(all, asked); q != nil {
		all = append(all, fallen{node: node, how: fallAsked, from: q.at, to: q.at, asked: true})
	}
	return all
}

// unheeded is the last request of a node if the node did not go down after it; nil if it did, or
// if lightsout gave up a request to take it down again.
func unheeded(all []fallen, asked []request) *request {
	if len(asked) == 0 || asked[len(asked)-1].sign {
		return nil
	}
	q := &asked[len(asked)-1]
	if len(all) == 0 {
		return q
	}
	last := all[len(all)-1]
	if !q.failed.IsZero() || last.to.IsZero() || q.at.Before(last.to) {
		return nil
	}
	return q
}

// downBefore names the nodes that were down when the record began; empty if there are none.
func downBefore(r *record.Record) string {
	var early []fallen
	for _, l := range r.Lanes {
		for _, f := range downs(r, l.Node, l.Spans) {
			if f.early {
				early = append(early, f)
			}
		}
	}
	if len(early) == 0 {
		return ""
	}
	return named(early) + " " + text.Noun(len(early), "was", "were") + " down before"
}

// wentDown lists the nodes that went down as fallenOf does, without those that were only asked to.
func wentDown(r *record.Record) []fallen {
	return slices.DeleteFunc(fallenOf(r), func(f fallen) bool { return f.how == fallAsked })
}

// deletedOf finds the signs of a node that somebody deleted before it was seen silent: no
// span shows them. Such a node is down until it joins again.
func deletedOf(r *record.Record, node string, asked []request, all []fallen) (out []fallen) {
	for _, q := range asked {
		seen := slices.ContainsFunc(append(slices.Clone(all), out...), func(f fallen) bool {
			return (f.to.IsZero() || !q.at.After(f.to)) && !q.before(r, node, f)
		})
		gone := nodeEvent(r, node, true, q.at)
		if !q.sign || q.how != fallSilent || seen || gone.IsZero() {
			continue
		}
		out = append(out, fallen{node: node, how: fallDeleted, from: q.at, went: q.at, to: nodeEvent(r, node, false, gone), sign: true})
	}
	return out
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

// join adds a span that begins before the last one is over.
func (f *fallen) join(g fallen) {
	if g.how == fallWentOff || f.how == fallNotReady {
		f.how = g.how
	}
	f.off, f.on, f.silent = f.off || g.off, f.on || g.on, f.silent && g.silent
	if g.to.IsZero() || !f.to.IsZero() && g.to.After(f.to) {
		f.to = g.to
	}
}

// shortest is how long a node must be down to count in an outage of which it is no sign.
const shortest = 2 * time.Second

// firstSight is when the record first shows the cluster; zero when it does not.
func firstSight(r *record.Record) time.Time {
	for i := range r.Samples {
		if c := r.Samples[i].Cluster; c != nil && len(c.Nodes) > 0 {
			return r.Samples[i].At
		}
	}
	return time.Time{}
}
