package forecast

import (
	"fmt"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// Line is one sentence of a forecast.
type Line struct {
	Text string
	// Warn: it is something to think about before saying yes.
	Warn bool
}

// impactsShown bounds the deployments that are named.
const impactsShown = 8

// Lines says what the outage hits.
func (h Hits) Lines() []Line {
	left := text.Noun(h.ReadyWorkersLeft, "worker", "workers")
	out := []Line{{Text: fmt.Sprintf("%s, %d Ready %s left", text.Count(h.Pods, "pod", "pods"), h.ReadyWorkersLeft, left)}}
	for i, d := range h.Deployments {
		if i == impactsShown {
			return append(out, Line{Text: fmt.Sprintf("and %d more deployments", len(h.Deployments)-impactsShown)})
		}
		l := Line{Text: fmt.Sprintf("%s: %d → %d available", d.Key, d.AvailableBefore, d.AvailableAfter)}
		if d.CapacityBefore > 0 {
			l.Text += fmt.Sprintf(", capacity %d → %d", d.CapacityBefore, d.CapacityAfter)
		}
		if d.BelowMinimum {
			l.Warn, l.Text = true, l.Text+fmt.Sprintf(", below %s", d.minimum())
		}
		out = append(out, l)
	}
	return out
}

// minimum says which minimum it is that counts.
func (d Impact) minimum() string {
	if d.MinScale {
		return fmt.Sprintf("minScale %d (Knative)", d.Minimum)
	}
	return fmt.Sprintf("the %d that its rolling update keeps (replicas less maxUnavailable)", d.Minimum)
}

// Room says whether the replacements fit on the nodes left.
func (h Hits) Room() Line {
	switch {
	case h.Replacements == 0:
		return Line{Text: "nothing to replace"}
	case h.WillNotFit > 0:
		return Line{Text: noRoom(h.WillNotFit), Warn: true}
	case h.Replacements == 1:
		return Line{Text: "the replacement fits on the nodes left"}
	}
	return Line{Text: fmt.Sprintf("all %d replacements fit on the nodes left", h.Replacements)}
}

// FollowLines says what the control plane will do after the nodes have fallen
// silent, by the settings in force; h is f.Hits().
func (f *Forecast) FollowLines(h Hits) []Line {
	grace, period := f.s.Settings.GracePeriod, f.s.Settings.MonitorPeriod.Value
	source := cluster.Assumed
	if grace.Source != cluster.Assumed && grace.Source != "" {
		source = "from " + grace.Source
	}
	out := []Line{{Text: fmt.Sprintf("NotReady %s–%s after the last heartbeat (grace period %s, %s)",
		text.Span(grace.Value), text.Span(grace.Value+2*period), text.Span(grace.Value), source)}}
	if h.evicted > 0 && !f.stopped() {
		when := text.Span(h.most)
		if h.least != h.most {
			when = text.Span(h.least) + " to " + when
		}
		out = append(out, Line{Text: "its pods are evicted " + when + " later (from each pod's own toleration)"})
	}
	return append(out, h.Room())
}

// stopped: in some zone nothing is evicted.
func (f *Forecast) stopped() bool {
	for _, l := range f.limits {
		if l.why != "" {
			return true
		}
	}
	return false
}

// WontLines says, one sentence each, what will not happen although it may be
// hoped for: pods that are not replaced, not evicted, not protected, or do not
// move back. It is empty when nothing is to be said. h is f.Hits().
func (f *Forecast) WontLines(h Hits) []Line {
	if len(f.Nodes) == 0 {
		return nil
	}
	var out []Line
	say := func(text string) { out = append(out, Line{Text: text, Warn: true}) }
	each := func(who []cluster.Key, one, many string) {
		switch {
		case len(who) == 1:
			say(who[0].String() + " " + one)
		case len(who) > 1:
			say(fmt.Sprintf("%d pods %s: %s", len(who), many, some(who)))
		}
	}
	stopped := f.stopped()
	if f.zoneRule != "" {
		say(f.zoneRule)
	}
	if !stopped {
		each(h.stateful, "will hang in Terminating and not be replaced until its node returns (StatefulSet)",
			"of StatefulSets will hang in Terminating and not be replaced until their node returns")
		each(h.bare, "will be deleted and not be replaced: no controller owns it",
			"will be deleted and not be replaced, as no controller owns them")
	}
	each(h.forever, "will not be evicted: it tolerates a lost node for ever",
		"will not be evicted, as they tolerate a lost node for ever")
	if h.staying > 0 {
		say(fmt.Sprintf("%d DaemonSet %s", h.staying, text.Noun(h.staying,
			"or static pod stays where it is and is not replaced", "and static pods stay where they are and are not replaced")))
	}
	if h.evicted > 0 && !stopped {
		say("PodDisruptionBudgets do not protect here: they only apply to drains")
	}
	if moved := h.Replacements - h.WillNotFit; moved > 0 && !stopped {
		say(pods(moved, "that moves stays where it is", "that move stay where they are") + " when the nodes return: a rollout restart spreads them again")
	}
	return out
}

// DrainLines says what draining the nodes first would cost.
func (h Hits) DrainLines() []Line {
	if len(h.LocalData) == 0 {
		return nil
	}
	return []Line{{Text: fmt.Sprintf("draining deletes the emptyDir data of %s: %s", text.Count(len(h.LocalData), "pod", "pods"), some(h.LocalData)), Warn: true}}
}

// some gives the first three of a list.
func some(list []cluster.Key) string {
	const most = 3
	var names []string
	for _, k := range list[:min(len(list), most)] {
		names = append(names, k.String())
	}
	out := strings.Join(names, ", ")
	if n := len(list) - most; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}
