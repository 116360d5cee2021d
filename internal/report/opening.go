package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// outagesMost is the largest number of outages in the opening.
const outagesMost = 3

// Opening is what a person would say of a record, as plain lines for a terminal,
// at most 100 columns wide.
func Opening(r *record.Record) (lines []string) {
	for _, s := range opening(r) {
		lines = append(lines, wrap(s, "")...)
	}
	return lines
}

// opening has a sentence for each outage of a record: which nodes went down and when,
// the clients' errors, and the lost and returned pods. It uses only the record's facts.
// If a record breaks off, a last sentence names the unknown part.
func opening(r *record.Record) []string {
	if r.Start.IsZero() {
		return []string{"The record is empty: what happened is unknown."}
	}
	all := outagesOf(r)
	var out []string
	for i := range all[:min(len(all), outagesMost)] {
		out = append(out, tell(r, all, i))
	}
	if n := len(all) - outagesMost; n > 0 {
		out = append(out, fmt.Sprintf("%s of %s followed: see the timeline.", text.Count(n, "more outage", "more outages"), named(eachOnce(all[outagesMost:]))))
	}
	if also := unansweredElse(r, all); also != "" {
		out = append(out, text.Capital(sentence(also)))
	}
	var told []view.Sign
	if len(all) > 0 {
		told = []view.Sign{view.SignRequests, view.SignPending} // in their sentences
	}
	switch signs := otherSigns(r, told...); {
	case len(all) == 0 && len(signs) > 0:
		out = append(out, text.Capital(sentence(append(signs, clientsOf(r, all, -1), podsWithout(r))...)))
	case len(signs) > 0:
		out = append(out, text.Capital(sentence(signs...)))
	case len(all) == 0:
		out = append(out, sentence("No node went down between "+clock(r.Start)+" and "+clock(r.End)+" UTC", downBefore(r), clientsOf(r, all, -1)))
	}
	if l := summaryOf(r).Ledger; l.ManyUnsent() {
		n := l.Unsent
		out = append(out, fmt.Sprintf("lightsout did not send %s: whether the service would have answered is unknown.", text.Count(n, "request that was due", "requests that were due")))
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodePlannedOff && recorded(r) && stillDown(r, e) {
			out = append(out, fmt.Sprintf("%s switched %s off by plan, noticed at %s UTC.", clean(e.Name), clean(e.Subject), clock(e.At)))
		}
	}
	for _, also := range slices.Concat([]string{apiAway(r), doneIn(r)}, changesOf(r, all)) {
		if also != "" {
			out = append(out, text.Capital(sentence(also)))
		}
	}
	switch {
	case r.Recording:
		out = append(out, "lightsout is still recording: this is what it knew at "+clock(r.End)+" UTC.")
	case broken(r):
		out = append(out, "The record breaks off at "+clock(r.End)+" UTC: what happened later is unknown, and so is how the requests in flight ended.")
	}
	for i := range out {
		out[i] = text.Clean(out[i], 2*textMost)
	}
	return out
}

// stoodStill reports whether lightsout did not run, and sent no requests, for a part of
// the record.
func stoodStill(r *record.Record) bool {
	return slices.ContainsFunc(summaryOf(r).Blind, func(b record.Blind) bool { return b.StoodStill })
}

// broken reports whether the program ended before its record did.
func broken(r *record.Record) bool { return r.Summary == nil && len(r.Torn) > 0 }

// tell is the sentence of one outage.
func tell(r *record.Record, all []outage, i int) string {
	o := &all[i]
	return sentence(who(o), queuedIn(r, o), clientsOf(r, all, i), podsOf(r, o), still(r, o))
}

// sentence joins the parts that there are.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ") + "."
}

// clock is a time of the day, in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// saidOf says of one or of several nodes how they went down.
var saidOf = map[fall][2]string{
	fallShutdown: {"was shut down", "were shut down"}, fallOff: {"lost power", "lost power"}, fallWentOff: {"was found off", "were found off"},
	fallSilent: {"fell silent", "fell silent"}, fallDeleted: {"was deleted after its last heartbeat", "were deleted after their last heartbeats"}, fallNotReady: {"became NotReady", "became NotReady"},
	fallAsked: {"was asked to go off", "were asked to go off"}, fallNotBack: {"was due back from a planned switch-off", "were due back from a planned switch-off"},
}

// namesMost is how many nodes of a sentence are named.
const namesMost = 4

// who names the nodes, how they went down and when.
func who(o *outage) string {
	type cause struct {
		node string
		how  fall
	}
	times := map[cause]int{}
	var nodes []fallen // each once
	for _, f := range o.nodes {
		times[cause{f.node, f.how}]++
		if times[cause{f.node, f.how}] == 1 {
			nodes = append(nodes, f)
		}
	}
	var parts []string
	for i := 0; i < len(nodes); {
		f := nodes[i]
		n, j := times[cause{f.node, f.how}], i+1
		for j < len(nodes) && nodes[j].how == f.how && times[cause{nodes[j].node, f.how}] == n && nodes[j].from.Sub(f.from) < 2*time.Second && nodes[j].late() == f.late() {
			j++
		}
		at := " at "
		if n > 1 {
			at = fmt.Sprintf(" %d times, first at ", n)
		}
		if f.late() && n == 1 {
			at = " between " + clock(f.from) + " and "
			f.from = f.went
			for _, g := range nodes[i+1 : j] {
				f.from = latest(f.from, g.went)
			}
		}
		parts = append(parts, named(nodes[i:j])+" "+saidOf[f.how][min(j-i, 2)-1]+at+clock(f.from))
		if i == 0 {
			parts[0] += " UTC"
		}
		if f.how == fallAsked {
			parts[len(parts)-1] += ", and lightsout did not see " + text.Noun(j-i, "it", "them") + " go"
		}
		i = j
	}
	return text.List(parts)
}

// named names nodes, or counts them where there are many.
func named(nodes []fallen) string {
	var names []string
	for _, f := range nodes {
		names = append(names, clean(f.node))
	}
	slices.Sort(names)
	names = slices.Compact(names) // a node may go down several times
	if n := len(names) - namesMost; n > 1 {
		names = append(names[:namesMost], fmt.Sprintf("%d more nodes", n))
	}
	return text.List(names)
}

// eachOnce returns the nodes of several outages, each of them once.
func eachOnce(all []outage) (nodes []fallen) {
	for i := range all {
		for _, f := range all[i].nodes {
			if !slices.ContainsFunc(nodes, func(x fallen) bool { return x.node == f.node }) {
				nodes = append(nodes, f)
			}
		}
	}
	return nodes
}

// atEnd is when lightsout saw the cluster last: at the record's end, or before if the API
// server did not answer any more.
func atEnd(r *record.Record) string {
	if all := apiLost(r); len(all) > 0 && all[len(all)-1].to.IsZero() {
		return "when lightsout last saw the cluster, at " + clock(all[len(all)-1].from)
	}
	return "when the record ended"
}

// still names the nodes that were down when the record ended.
func still(r *record.Record, o *outage) string {
	down := slices.DeleteFunc(slices.Clone(o.nodes), func(f fallen) bool { return !f.to.IsZero() })
	if len(down) == 0 {
		return ""
	}
	all := func(is func(f fallen) bool) bool {
		return !slices.ContainsFunc(down, func(f fallen) bool { return !is(f) })
	}
	was := text.Noun(len(down), "was", "were") + " still down"
	switch {
	case all(func(f fallen) bool { return f.off }):
		return named(down) + " " + text.Noun(len(down), "was", "were") + " still off when the record ended" // by the power API
	case all(func(f fallen) bool { return f.on && !f.off }):
		was = text.Noun(len(down), "was", "were") + " on again, but not yet Ready,"
	}
	return named(down) + " " + was + " " + atEnd(r)
}
