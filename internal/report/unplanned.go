package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	boots "lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// SignsIn returns the events by which the recorder noticed the outage of a record, in the
// order of notice, without those of earlier outages in its past. Other records have none.
func SignsIn(r *record.Record) (out []view.Event) {
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodeOutageSign && !e.At.Before(r.Zero.Add(-gap)) {
			out = append(out, *e)
		}
	}
	return out
}

// recorded reports whether the recorder wrote a record, and not a trial or a session.
func recorded(r *record.Record) bool { return len(SignsIn(r)) > 0 }

// SoFar is a sentence on an outage that is still being recorded: on its signs, and what clients
// notice, if anything is known of that.
func SoFar(signs []view.Event, clients string) string {
	r := &record.Record{Events: signs}
	var parts []string
	var o outage
	for _, e := range SignsIn(r) {
		same := func(f fallen) bool { return f.node == e.Subject }
		if how := signHows[e.Sign]; how != "" && !slices.ContainsFunc(o.nodes, same) {
			o.nodes = append(o.nodes, fallen{node: e.Subject, how: how, from: e.At})
		}
	}
	if len(o.nodes) > 0 {
		parts = append(parts, who(&o))
	}
	parts = append(parts, otherSigns(r)...)
	if clients != "" {
		parts = append(parts, clients)
	}
	said := sentence(parts...)
	if len(o.nodes) == 0 {
		said = text.Capital(said)
	}
	return text.Clean(said, 2*textMost)
}

// otherSigns describes the signs that are not about nodes, each kind once, but not those
// that another sentence describes.
func otherSigns(r *record.Record, but ...view.Sign) (out []string) {
	told := map[view.Sign]bool{}
	for _, s := range but {
		told[s] = true
	}
	for _, e := range SignsIn(r) {
		if told[e.Sign] {
			continue
		}
		told[e.Sign] = true
		at := clock(e.At) + " UTC"
		switch e.Sign {
		case view.SignAPI:
			s := "the API server stopped answering at " + at
			if d := silentAPI(r, e.At); d > 0 {
				s = "the API server gave lightsout no answer for " + lasted(d) + " from " + at
			}
			out = append(out, s)
		case view.SignEndpoints:
			out = append(out, "service "+clean(e.Subject)+" lost its last ready endpoint at "+at)
		case view.SignPending:
			out = append(out, "pods found no node from "+at)
		case view.SignRequests:
			out = append(out, "requests began to fail after "+at)
		}
	}
	return out
}

// silentAPI is how long the API server did not answer from that moment; 0 if it did not
// answer again.
func silentAPI(r *record.Record, from time.Time) time.Duration {
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodeAPIAnswers && e.Seen.After(from) {
			return e.Seen.Sub(from)
		}
	}
	return 0
}

// apiSilence is a time in which the API server did not answer; to is zero if it did not answer
// again.
type apiSilence struct{ from, to time.Time }

// apiLost lists by the timeline when the API server did not answer.
func apiLost(r *record.Record) (out []apiSilence) {
	for i := range r.Events {
		if e := &r.Events[i]; e.Code == view.CodeAPILost {
			s := apiSilence{from: e.At}
			if d := silentAPI(r, e.At); d > 0 {
				s.to = e.At.Add(d)
			}
			out = append(out, s)
		}
	}
	return out
}

// severities are the words of a recorded outage, in the place of a verdict.
var severities = map[record.Severity]cell{
	record.SeverityDown: {"DOWN", bad}, record.SeverityDegraded: {"DEGRADED", warning},
	record.SeverityUnnoticed: {"UNNOTICED", good}, record.SeverityUnknown: {"UNKNOWN", warning},
}

// judged is the verdict of a trial, or the severity of a recorded outage.
func judged(s *record.Summary) cell {
	if s.Unplanned == nil {
		return verdictOf(s.Verdict)
	}
	if c, ok := severities[s.Unplanned.Severity]; ok {
		return c
	}
	return cell{text.Clean(string(s.Unplanned.Severity), 40), warning}
}

// severityMeans explains the severity of a recorded outage.
func severityMeans(s *record.Summary) string {
	switch s.Unplanned.Severity {
	case record.SeverityDown:
		return "several requests in a row failed"
	case record.SeverityDegraded:
		return "some requests failed"
	case record.SeverityUnnoticed:
		return "no request failed"
	case record.SeverityUnknown:
		return whyUnknown(s) + ": what clients noticed is unknown"
	}
	return ""
}

// whyUnknown is why nobody knows what clients noticed of an outage.
func whyUnknown(s *record.Summary) string {
	var all loadgen.Counts
	sent, hung := 0, 0
	for _, l := range s.Load {
		all.Add(l.Counts)
		sent += l.Sent
		if l.Hung != nil {
			hung += l.Hung.Cancelled
		}
	}
	stood := slices.ContainsFunc(s.Blind, func(b record.Blind) bool { return b.StoodStill })
	var parts []string
	if sent > 0 && stood {
		parts = append(parts, "lightsout did not send requests all the time")
	}
	if all.Unsent > 0 && all.ManyUnsent() {
		parts = append(parts, fmt.Sprintf("lightsout did not send %d of the %s", all.Unsent, text.Count(all.Scheduled, "request that was due", "requests that were due")))
	}
	switch {
	case hung > 0:
		parts = append(parts, waiting{hung: hung}.String())
	case all.Cancelled > 0 && all.OK == 0:
		parts = append(parts, "lightsout ended "+text.Count(all.Cancelled, "request", "requests")+", and none was ok")
	}
	if all.Failed > 0 {
		parts = append(parts, NeverAnswered)
	}
	if len(parts) == 0 && all.InFlight > 0 {
		parts = append(parts, waiting{open: all.InFlight}.String())
	}
	switch {
	case len(parts) > 0:
		return text.List(parts)
	case sent == 0:
		return "lightsout sent no requests"
	}
	return "lightsout did not send requests all the time"
}

// zeroOf names the zero of the clock.
func zeroOf(r *record.Record) string {
	if all := SignsIn(r); len(all) > 0 {
		return all[0].Sign.LastGood(clean(all[0].Subject))
	}
	return "the first power-off request"
}

// signsOf lists the signs of a recorded outage, and what the recorder did not see.
func signsOf(r *record.Record) section {
	s := r.Summary
	t := section{ID: "signs", Title: "How the recorder noticed it"}
	if s.Unplanned == nil {
		return t
	}
	t.columns("sign")
	t.figures("at", "noticed", "after")
	for _, x := range s.Unplanned.Signs {
		t.row(x.Kind.LastGood(x.Subject), offset(x.At.Sub(s.Zero).Seconds()), offset(x.Noticed.Sub(s.Zero).Seconds()), seconds(x.Noticed.Sub(x.At).Seconds()))
	}
	t.Items = append(t.Items, returnsOf(r)...)
	for _, u := range s.Unplanned.Unseen {
		t.Items = append(t.Items, cell{clean(fmt.Sprintf("Not seen: %s.", u)), warning})
	}
	for _, p := range s.Unplanned.Planned {
		t.Items = append(t.Items, cell{Text: clean("Switched off by plan meanwhile: " + p + ".")})
	}
	return t
}

// bootSeen reports whether a phase of the record is a boot of the node.
func bootSeen(r *record.Record, node string) bool {
	return slices.ContainsFunc(summaryOf(r).Phases, func(p view.Phase) bool {
		return p.Name == view.PhaseBooted && p.Subject == node && p.Observed != nil
	})
}

// bootID is the boot ID that a node reports from a time on.
type bootID struct {
	from time.Time
	id   string
}

// bootIDsOf finds by the samples the newest boot ID of each node, if it proves anything.
func bootIDsOf(r *record.Record) map[string]bootID {
	newest := map[string]bootID{}
	for i := range r.Samples {
		x := &r.Samples[i]
		if x.Cluster == nil {
			continue
		}
		for _, n := range x.Cluster.Nodes {
			if n == nil {
				continue
			}
			if old, known := newest[n.Name]; !known || old.id != n.BootID {
				newest[n.Name] = bootID{x.At, n.BootID}
			}
		}
	}
	var ids []string
	for _, b := range newest {
		ids = append(ids, b.id)
	}
	prove := boots.Proving(ids)
	maps.DeleteFunc(newest, func(_ string, b bootID) bool { return !prove[b.id] })
	return newest
}

// returnsOf tells the nodes that booted from those whose machines most likely ran on: these report
// the boot ID that they had before they were seen down. One that the record first shows while the
// node is down may be new.
func returnsOf(r *record.Record) (out []cell) {
	var booted, ran []fallen
	ids := bootIDsOf(r)
	for _, f := range fallenOf(r) {
		boot := func(e view.Event) bool {
			return e.Change == cluster.ChangeBoot && e.Subject == f.node && e.Seen.After(f.from)
		}
		switch {
		case slices.ContainsFunc(r.Events, boot), bootSeen(r, f.node): // a new node object has no change of its boot
			booted = append(booted, f)
		case !f.to.IsZero() && !f.off && !f.on && f.how != fallOff && f.how != fallWentOff: // otherwise its return was not seen
			if b := ids[f.node]; b.id != "" && b.from.Before(f.went) {
				ran = append(ran, f)
			}
		}
	}
	if n := len(booted); n > 0 {
		out = append(out, cell{Text: named(booted) + " booted again: " + text.Noun(n, "the machine", "the machines") + " went down."})
	}
	if n := len(ran); n > 0 {
		failed := "the kubelet or the network"
		if len(summaryOf(r).Blind) > 0 {
			failed = "the kubelet, the network or the API server"
		}
		out = append(out, cell{Text: named(ran) + " returned with the boot ID of before: most likely " + text.Noun(n, "the machine", "the machines") +
			" ran on, and " + failed + " failed."})
	}
	return out
}

// Somebody's change counts as one that an outage may come from if it is at most this long
// before the first sign, or after.
const (
	changedBefore = time.Minute
	changedAfter  = 10 * time.Second
)

// scaled is how many pods the deployment should have before and after the first sign of
// an outage.
func scaled(r *record.Record) (from, to int) {
	targets := targetsOf(r)
	for i := 1; i < len(targets); i++ {
		if at := targets[i].at; at.After(r.Zero) && at.Before(r.Zero.Add(changedAfter)) {
			return targets[i-1].replicas, targets[i].replicas
		}
	}
	return 0, 0
}

// apiAway describes the longest time in which the API server did not answer during a trial
// or a session; recorded outages have a sign for it.
func apiAway(r *record.Record) string {
	var longest apiSilence
	var most time.Duration
	for _, s := range apiLost(r) {
		end := s.to
		if end.IsZero() {
			end = r.End
		}
		if d := end.Sub(s.from); d > most {
			longest, most = s, d
		}
	}
	from := clock(longest.from) + " UTC"
	switch {
	case recorded(r) || most < apiAwayLeast:
		return ""
	case longest.to.IsZero():
		return "the API server gave lightsout no answer from " + from + " until the record ended"
	}
	return "the API server gave lightsout no answer for " + lasted(most) + " from " + from
}

// apiAwayLeast is how long the API server must be away to be named.
const apiAwayLeast = 2 * time.Second

// doneIn describes changes by others around the first sign of an outage.
func doneIn(r *record.Record) string {
	if !recorded(r) {
		return ""
	}
	var parts []string
	for i := range r.Events {
		e := &r.Events[i]
		if e.Change == cluster.ChangeCordon && e.To == "SchedulingDisabled" && e.Seen.After(r.Zero.Add(-changedBefore)) && e.Seen.Before(r.Zero.Add(changedAfter)) {
			parts = append(parts, "somebody cordoned "+clean(e.Subject)+" at "+clock(e.Seen)+" UTC")
		}
	}
	if from, to := scaled(r); from < to {
		parts = append(parts, fmt.Sprintf("the deployment was scaled from %d to %d pods about then", from, to))
	}
	return strings.Join(parts, "; ")
}

// podsWithout describes the pods in an outage without a node.
func podsWithout(r *record.Record) string {
	if from, to := scaled(r); from != to {
		return ""
	}
	return podsOf(r, &outage{from: r.Zero, to: r.End})
}
