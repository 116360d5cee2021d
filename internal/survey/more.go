package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// remediesMost is the largest number of remedies for losses of one sort.
const remediesMost = 3

// more says what would let the cluster spare what it can't: the fewest pods first. Losses with one remedy share a line.
func (r *Report) more() (lines []string) {
	who, sum := map[string][]string{}, map[string]int{}
	var all []string // the remedies
	for _, a := range r.answers() {
		groups := map[string]some{}
		for _, l := range a.tooMuch.losses {
			what := r.remedy(l)
			g := groups[what]
			g.add(l)
			groups[what] = g
		}
		delete(groups, "")
		remedies := slices.SortedFunc(maps.Keys(groups), func(x, y string) int {
			x1, y1 := groups[x].losses[0], groups[y].losses[0]
			return cmp.Or(x1.counts.Pending.High-y1.counts.Pending.High, groups[y].n-groups[x].n, cmp.Compare(x1.Name, y1.Name))
		})
		for _, what := range remedies[:min(len(remedies), remediesMost)] {
			if who[what] == nil {
				all = append(all, what)
			}
			who[what], sum[what] = append(who[what], a.text(groups[what])), sum[what]+groups[what].n
		}
	}
	for _, what := range all {
		one := map[bool]string{true: "one of "}[sum[what] > 1]
		lines = append(lines, "To spare "+one+strings.Join(who[what], "; ")+": "+what)
	}
	return lines
}

// remedy is what the pods without a node need: nodes uncordoned, room with what nodes have too little of, or other rules where room does
// not help; and how many are left if some are and those are enough. It is empty if nothing of that lets the cluster spare the nodes.
func (r *Report) remedy(l *Loss) string {
	if len(l.Uncordon) > 0 {
		return "uncordon " + text.List(l.Uncordon)
	}
	if l.Held || l.counts.Missing.High > 0 || len(l.Broken)+len(l.Budgets) > 0 {
		return ""
	}
	var room, needs, enough []string
	some := true
	for _, w := range l.Workloads {
		if w.enough() || w.Pending.High == 0 {
			continue
		}
		key := text.Cells(w.Key.String())
		if len(w.Rules) > 0 {
			needs = append(needs, "change the "+text.List(w.Rules)+" of "+key+" (more room on the present nodes does not help)")
		} else {
			room = append(room, text.Count(w.Pending.High, "more pod", "more pods")+" of "+key+r.lacks(w))
		}
		enough, some = append(enough, fmt.Sprintf("--min %s=%d", key, w.After.Low)), some && w.After.Low > 0
	}
	if len(room) > 0 {
		needs = append([]string{"room for " + text.List(room)}, needs...)
	}
	if !some {
		return text.List(needs)
	}
	return text.List(needs) + "; or fewer pods are enough (" + strings.Join(enough, " ") + ")"
}

// lacks is what each pod of a workload needs of what nodes have too little of, and whether rules keep it from some nodes.
func (r *Report) lacks(w Workload) (out string) {
	lacks := cluster.Lacks(w.Reasons[0])
	for i, name := range lacks {
		if n, ok := r.requests[w.Key][corev1.ResourceName(name)]; ok {
			lacks[i] = n.String() + " " + name
		}
	}
	if len(lacks) > 0 {
		out = " (" + text.List(lacks) + text.Noun(w.Pending.High, "", " each") + ")"
	}
	if cluster.RulesBlock(w.Reasons[0]) {
		out += " where its rules allow them"
	}
	return out
}
