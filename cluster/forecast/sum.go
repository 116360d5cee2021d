package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Sum is the outage, or the drain, in one line, the worst first: pods that get no node, workloads that lack pods
// as long as the nodes stay away, deployments that fall below their minimum until then, what stops or is evicted, and what is left. h is f.Hits(), for which the caller may count the workers.
func (f *Forecast) Sum(h Hits) Line {
	left := text.Count(h.ReadyWorkersLeft, "Ready worker left", "Ready workers left")
	if h.Unread != "" {
		return Line{Text: h.Unread + " · " + left, Warn: true}
	}
	parts := h.short()
	if n := h.Place.Homeless(); n.High > 0 {
		parts = slices.Insert(parts, 0, []string{NoNode(n)})
	}
	goes := text.Count(h.Pods, "pod stops", "pods stop")
	if len(f.drained) > 0 {
		goes = text.Count(h.Pods, "pod is evicted", "pods are evicted")
	}
	l := naming(" · ", append(parts, []string{goes}, []string{left})...)
	l.Warn = len(parts)+len(h.Place.Blockings) > 0
	return l
}

// short names the workloads that lack pods for good, and the deployments that fall further, below their minimum,
// until their pods are replaced.
func (h Hits) short() [][]string {
	lasting := slices.DeleteFunc(slices.Clone(h.Place.Workloads), func(w place.Workload) bool { return !w.Lacks() })
	var passing []place.Workload
	for _, d := range h.Deployments {
		if w := h.Place.Of(d.Key); d.BelowMinimum && (!w.Lacks() || d.AvailableAfter < w.After.Low) {
			passing = append(passing, place.Workload{Key: d.Key, After: place.Range{Low: d.AvailableAfter, High: d.AvailableAfter}, Wanted: d.Wanted})
		}
	}
	return slices.DeleteFunc([][]string{h.shares("lasting: ", lasting), h.shares("until replaced: ", passing)}, func(n []string) bool { return n == nil })
}

// shares lists what workloads have left, the smallest share first: "lasting: model 0/3", with the namespace if
// another one that the outage hits has the name. It is empty if there are none.
func (h Hits) shares(title string, all []place.Workload) (names []string) {
	slices.SortStableFunc(all, func(a, b place.Workload) int {
		return cmp.Compare(a.After.Low*max(b.Wanted, 1), b.After.Low*max(a.Wanted, 1))
	})
	for _, w := range all {
		name := w.Name
		if slices.ContainsFunc(h.Place.Workloads, func(x place.Workload) bool { return x.Name == name && x.Namespace != w.Namespace }) {
			name = w.Key.String()
		}
		names, title = append(names, fmt.Sprintf("%s%s %v/%d", title, name, w.After, w.Wanted)), ""
	}
	return names
}

// BudgetLines name the disruption budgets that the outage breaks, or that block the drain, and the data that the
// drain deletes.
func (h Hits) BudgetLines() (out []Line) {
	say := func(format string, args ...any) {
		out = append(out, Line{Text: fmt.Sprintf(format, args...), Of: "budgets", Warn: true})
	}
	if h.BlockingsUnknown != "" {
		say("whether a disruption budget blocks the drain is unknown: %s", h.BlockingsUnknown)
	}
	for _, b := range h.Place.Budgets {
		say("budget %s requires %s, %v %s left", b.Key, text.Count(b.Required, "healthy pod", "healthy pods"), b.Healthy, text.Noun(b.Healthy.High, "is", "are"))
	}
	for _, b := range h.Place.Blockings {
		if always := b.Expected > 0 && b.Required >= b.Expected; b.Evicted == 0 {
			say("budget %s blocks the drain %s: it holds %s", b.Key, map[bool]string{true: fmt.Sprintf("always, as it requires %d of %s", b.Required, text.Count(b.Expected, "pod", "pods")), false: "now"}[always], some(b.Pods))
			continue
		}
		say("budget %s will block the drain: it allows %d of %d evictions, and their replacements find no node", b.Key, b.Evicted, b.Evicted+len(b.Pods))
	}
	if n := len(h.LocalData); n > 0 {
		out = append(out, Line{Text: fmt.Sprintf("draining deletes the emptyDir data of %s: %s", text.Count(n, "pod", "pods"), some(h.LocalData)), Warn: true})
	}
	return out
}

// Holder names the disruption budget that keeps a pod from being evicted now; empty if none is known.
func Holder(s *cluster.Snapshot, pod cluster.Key) string {
	if s == nil || s.Pod(pod) == nil {
		return ""
	}
	for _, k := range place.Holding(s, s.Pod(pod)) {
		return k.Name
	}
	return ""
}
