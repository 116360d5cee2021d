package forecast

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Line is one sentence of a forecast.
type Line struct {
	Text string
	// Short is Text with few names, if it may have many; Of is what the line describes one of many of, as "deployments".
	Short, Of string
	// Warn: it is something to think about before saying yes.
	Warn bool
}

// namesShown is how many names stand in a sentence that has room for few.
const namesShown = 3

// naming is a line of lists, with all their names and with few.
func naming(between string, lists ...[]string) Line {
	say := func(most int) string {
		return strings.Join(text.Each(lists, func(names []string) string { return strings.Join(text.Few(names, most, "more"), ", ") }), between)
	}
	return Line{Text: say(math.MaxInt), Short: say(namesShown)}
}

// Lines describes the impact of the outage, without its sum.
func (h Hits) Lines() (out []Line) {
	if h.Unread != "" {
		return nil
	}
	switch {
	case h.UnwatchedUnknown != "":
		out = append(out, Line{Text: "pods of namespaces that lightsout does not watch stop too; their number is unknown: " + h.UnwatchedUnknown, Warn: true})
	case h.Unwatched > 0:
		out = append(out, Line{Text: text.Count(h.Unwatched, "pod", "pods") + " of namespaces that lightsout does not watch " + text.Noun(h.Unwatched, "stops", "stop") + " too", Warn: true})
	}
	for _, d := range h.Deployments {
		l := Line{Text: fmt.Sprintf("%s: %d → %d available", d.Key, d.AvailableBefore, d.AvailableAfter), Of: "deployments"}
		if d.already() {
			l.Text = fmt.Sprintf("%s: stays at %d of %d available", d.Key, d.AvailableBefore, d.Wanted)
		}
		if d.CapacityBefore != d.CapacityAfter {
			l.Text += fmt.Sprintf(", capacity %d → %d", d.CapacityBefore, d.CapacityAfter)
		}
		if d.BelowMinimum {
			of := map[bool]string{true: ", below minScale %d (Knative)", false: ", below the %d that its rolling update keeps"}
			l.Warn, l.Text = true, l.Text+fmt.Sprintf(of[d.Knative != nil && d.Knative.MinScale == d.Minimum], d.Minimum)
		}
		l.knative(d.Knative)
		out = append(out, l)
	}
	return out
}

// knative adds what the operator should know of the Knative service behind a deployment:
// that it is not Ready even now, and that only some of its requests come here.
func (l *Line) knative(k *cluster.Knative) {
	if k == nil {
		return
	}
	if percent, known := k.Share(); known && percent < 100 {
		l.Text += fmt.Sprintf(", gets %d%% of the requests to %s", percent, k.Service)
	}
	for _, part := range []struct {
		what  string
		ready cluster.Readiness
	}{{"its Knative service", k.ServiceReady}, {"its revision", k.RevisionReady}} {
		if part.ready.NotReady() {
			l.Warn, l.Text = true, l.Text+", "+part.what+" is not Ready now"
			if why := part.ready.Why(); why != "" {
				l.Text += " (" + text.Clean(why, 120) + ")"
			}
			return
		}
	}
}

// Room states in one sentence what becomes of the replacement pods if they all get nodes.
func (h Hits) Room() Line {
	o := h.Place
	switch {
	case o.Missing.High > 0:
		return Line{Text: "a quota keeps " + o.Missing.Count("pod", "pods") + " from being created", Warn: true}
	case o.Moving.High == 0:
		return Line{Text: "nothing to replace"}
	case o.Pending.High > 0:
		return Line{Text: fmt.Sprintf("all replacements fit on the nodes left, beside %s already", pods(o.Waiting, "that waits", "that wait"))}
	case o.Moving.High == 1:
		return Line{Text: "the replacement fits on the nodes left"}
	}
	return Line{Text: fmt.Sprintf("all %v replacements fit on the nodes left", o.Moving)}
}

// placeLines name the pods that get no node, with the scheduler's own reasons, and list
// the other consequences of the placement.
func (h Hits) placeLines() (out []Line) {
	o := h.Place
	if n := len(h.Already); n > 0 {
		out = append(out, Line{Text: text.List(text.Few(h.Already, namesShown, "more")) + text.Noun(n, " counts as down already: its pods need", " count as down already: their pods need") + " a place as well"})
	}
	warn := func(format string, args ...any) {
		out = append(out, Line{Text: text.Clean(fmt.Sprintf(format, args...), 400), Warn: true})
	}
	by := map[string][]string{} // by reason
	for _, w := range o.Workloads {
		if w.Homeless().High > 0 {
			by[w.Reasons[0]] = append(by[w.Reasons[0]], fmt.Sprintf("%s%s: %s", w.Key, w.Already(), w.Homeless().Count("pod", "pods")))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(by)) {
		l := naming(" Pending: ", by[why], []string{text.Clean(why, 300)})
		l.Of, l.Warn = "reasons for Pending pods", true
		out = append(out, l)
	}
	out = append(out, attachLines(o)...)
	if o.Missing.High > 0 && o.Homeless().High > 0 {
		warn("a quota keeps %s from being created", o.Missing.Count("pod", "pods"))
	}
	var ends []string
	for _, w := range o.Workloads {
		if w.Preempted.High > 0 {
			ends = append(ends, place.Victim{Workload: w.Key, Pods: w.Preempted, By: w.By}.String())
		}
	}
	if len(ends) > 0 {
		warn("preemption %s", strings.Join(ends, "; "))
	}
	if o.Over.High > 0 {
		warn("a Job fails, because it exceeds its backoffLimit: %s end with it", o.Over.Count("pod", "pods"))
	}
	for _, u := range o.Unknown {
		warn("this forecast is incomplete: %s", u)
	}
	return out
}

// FollowLines forecasts the actions of the control plane after the nodes have fallen
// silent, with the settings in force, or of its drain; h is f.Hits().
func (f *Forecast) FollowLines(h Hits) (out []Line) {
	grace, period := f.s.Settings.GracePeriod, f.s.Settings.MonitorPeriod.Value
	source := cluster.Assumed
	if grace.Source != cluster.Assumed && grace.Source != "" {
		source = "from " + grace.Source
	}
	found := slices.DeleteFunc(slices.Clone(f.Nodes), func(n Node) bool { return !n.Detected.IsZero() || n.NoDetection != "" })
	if len(found) < len(f.Nodes) {
		out = append(out, Line{Text: fmt.Sprintf("NotReady %s–%s after the last heartbeat (grace period %s, %s)",
			text.Span(grace.Value), text.Span(grace.Value+2*period), text.Span(grace.Value), source)})
	}
	for _, n := range found {
		out = append(out, Line{Text: n.Node + " is NotReady since " + f.s.Node(n.Node).ReadySince.Add(-f.s.Ahead()).Local().Format(time.TimeOnly)})
	}
	if len(found) > 0 {
		out = append(out, Line{Text: "pods on a machine that is proven off run nowhere: :delete has the commands that force their deletion, and StatefulSets move"})
	}
	if h.evicted > 0 && !f.stopped() {
		when := text.Span(h.most)
		if h.least != h.most {
			when = text.Span(h.least) + " to " + when
		}
		out = append(out, Line{Text: text.Noun(len(f.Nodes), "its", "their") + " pods are evicted " + when + " later (from each pod's own toleration)"})
	}
	if len(f.drained) > 0 {
		out = nil // nobody goes down
	}
	if h.Unread != "" {
		return out
	}
	if h.Place.Homeless().High == 0 { // otherwise Sum counts them
		out = append(out, h.Room())
	}
	return append(out, h.placeLines()...)
}

// stopped: in some zone nothing is evicted.
func (f *Forecast) stopped() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(f.limits)), func(l *limit) bool { return l.why != "" })
}

// WontLines lists, one sentence each, events that somebody may hope for but that will
// not happen: pods are not replaced, not evicted, not protected, or do not move back; of a drain, those that it leaves. h
// is f.Hits().
func (f *Forecast) WontLines(h Hits) (out []Line) {
	if len(f.Nodes)+len(f.drained) == 0 || h.Unread != "" {
		return nil
	}
	say := func(text string) { out = append(out, Line{Text: text, Warn: true}) }
	each := func(who []cluster.Key, one, many string) {
		switch {
		case len(who) == 1:
			say(who[0].String() + " " + one)
		case len(who) > 1:
			say(fmt.Sprintf("%d pods %s: %s", len(who), many, some(who)))
		}
	}
	if len(f.drained) > 0 {
		silent := slices.DeleteFunc(slices.Clone(f.drained), func(n string) bool { _, silent := f.s.Silent(f.s.Node(n), f.At); return !silent })
		if len(silent) > 0 {
			say(text.List(silent) + text.Noun(len(silent), " is silent: its pods stay Terminating until it returns", " are silent: their pods stay Terminating until they return") + "; for one of them, :delete has the commands that force that")
		}
		each(h.bare, "is not evicted: no controller owns it", "are not evicted, as no controller owns them")
		return out
	}
	stopped := f.stopped()
	if f.ZoneRule != "" {
		say(f.ZoneRule)
	}
	if !stopped {
		each(h.stateful, "will hang in Terminating and not be replaced until its node returns (StatefulSet)",
			"of StatefulSets will hang in Terminating and not be replaced until their node returns")
		each(h.bare, "will be deleted and not be replaced: no controller owns it",
			"will be deleted and not be replaced, as no controller owns them")
	}
	each(h.forever, "will not be evicted: it tolerates an unreachable node for ever",
		"will not be evicted, as they tolerate an unreachable node for ever")
	if h.staying > 0 {
		out = append(out, Line{Text: fmt.Sprintf("%d DaemonSet %s", h.staying, text.Noun(h.staying,
			"or static pod stays where it is and is not replaced", "and static pods stay where they are and are not replaced"))})
	}
	if h.evicted > 0 && !stopped {
		out = append(out, Line{Text: "PodDisruptionBudgets protect pods from a drain, not from a machine that goes off"})
	}
	if moved := h.Place.Moved; moved > 0 && !stopped {
		say(pods(moved, "that moves stays where it is", "that move stay where they are") + " when the nodes return: a rollout restart spreads them again")
	}
	return out
}

// some names few of a list.
func some(list []cluster.Key) string {
	return text.List(text.Few(text.Each(list, cluster.Key.String), namesShown, "more"))
}
