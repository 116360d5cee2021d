package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Sum is the outage, or the drain, in one line, the worst first: pods that get no node, deployments that fall
// below their minimum, pods that hang, a budget that blocks a drain, what stops or is evicted, and what is left.
// h is f.Hits(),
// for which the caller may count the workers, and leave out the budgets if there is no drain.
func (f *Forecast) Sum(h Hits) Line {
	left := text.Count(h.ReadyWorkersLeft, "Ready worker left", "Ready workers left")
	if h.Unheard > 0 {
		left += fmt.Sprintf(" (%d not heard yet)", h.Unheard)
	}
	if h.Unread != "" {
		return Line{Text: h.Unread + " · " + left, Warn: true}
	}
	var parts []string
	if n := h.Place.Homeless(); n.High > 0 {
		parts = append(parts, ranged(n)+text.Noun(n.High, " gets no node", " get no node"))
	}
	parts = append(parts, h.short()...)
	if n := len(h.stateful); n > 0 && !f.stopped() {
		parts = append(parts, text.Count(n, "StatefulSet pod hangs", "StatefulSet pods hang"))
	}
	if len(h.Blockings) > 0 {
		b := h.Blockings[0]
		parts = append(parts, "budget "+b.Name+" blocks a drain of "+text.List(b.Nodes))
	}
	bad, goes := len(parts) > 0, text.Count(h.Pods, "pod stops", "pods stop")
	if len(f.drained) > 0 {
		goes = text.Count(h.Pods, "pod is evicted", "pods are evicted")
	}
	return Line{Text: strings.Join(append(parts, goes, left), " · "), Warn: bad}
}

// shortShown bounds the deployments that a sum names.
const shortShown = 3

// short names the deployments that fall below their minimum, those with the smallest share of their pods
// first: "model 0/3", with their namespace if another one on the nodes has the name.
func (h Hits) short() (out []string) {
	below := slices.DeleteFunc(slices.Clone(h.Deployments), func(d Impact) bool { return !d.BelowMinimum })
	slices.SortStableFunc(below, func(a, b Impact) int {
		return cmp.Compare(a.AvailableAfter*max(b.Wanted, 1), b.AvailableAfter*max(a.Wanted, 1))
	})
	for i, d := range below {
		if i == shortShown {
			return append(out, text.Count(len(below)-i, "more deployment short", "more deployments short"))
		}
		name := d.Name
		if slices.ContainsFunc(h.Deployments, func(x Impact) bool { return x.Name == name && x.Namespace != d.Namespace }) {
			name = d.Key.String()
		}
		out = append(out, fmt.Sprintf("%s %d/%d", name, d.AvailableAfter, d.Wanted))
	}
	return out
}

// DrainLines describes the effect of draining the nodes first.
func (h Hits) DrainLines() (out []Line) {
	say := func(format string, args ...any) {
		out = append(out, Line{Text: fmt.Sprintf(format, args...), Warn: true})
	}
	if h.BlockingsUnknown != "" {
		say("whether a disruption budget blocks a drain is unknown: %s", h.BlockingsUnknown)
	}
	for i, b := range h.Blockings {
		if i == impactsShown {
			say("and %d more budgets", len(h.Blockings)-i)
			break
		}
		say("budget %s blocks a drain of %s now: it holds %s", b.Key, text.List(b.Nodes), some(b.Pods))
	}
	if n := len(h.LocalData); n > 0 {
		say("draining deletes the emptyDir data of %s: %s", text.Count(n, "pod", "pods"), some(h.LocalData))
	}
	return out
}

// Holder names the disruption budget that keeps a pod of a node from being evicted now; empty if none is
// known.
func Holder(s *cluster.Snapshot, node string, pod cluster.Key) string {
	if s == nil {
		return ""
	}
	for _, b := range place.Blockings(s, node) {
		if slices.Contains(b.Pods, pod) {
			return b.Name
		}
	}
	return ""
}
