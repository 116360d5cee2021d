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
	who := map[string][]string{}
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
			who[what] = append(who[what], a.text(groups[what]))
		}
	}
	for _, what := range all {
		lines = append(lines, "To spare "+strings.Join(who[what], "; ")+": "+what)
	}
	return lines
}

// remedy is the room that the pods without a node need, with what nodes have too little of, or how many are left if some are and those are enough.
// It is empty if neither lets the cluster spare the nodes.
func (r *Report) remedy(l *Loss) string {
	if l.Held || l.counts.Missing.High > 0 || len(l.Broken)+len(l.Budgets) > 0 {
		return ""
	}
	var room, enough []string
	some := true
	for _, w := range l.Workloads {
		if w.enough() || w.Pending.High == 0 {
			continue
		}
		pods := text.Count(w.Pending.High, "more pod", "more pods") + " of " + text.Cells(w.Key.String())
		if len(w.Reasons) > 0 {
			lacks := cluster.Lacks(w.Reasons[0])
			for i, name := range lacks {
				if n, ok := r.requests[w.Key][corev1.ResourceName(name)]; ok {
					lacks[i] = n.String() + " " + name
				}
			}
			if len(lacks) > 0 {
				pods += " (" + text.List(lacks) + text.Noun(w.Pending.High, "", " each") + ")"
			}
			if cluster.RulesBlock(w.Reasons[0]) {
				pods += " where its rules allow them"
			}
		}
		room, enough = append(room, pods), append(enough, fmt.Sprintf("--min %s=%d", text.Cells(w.Key.String()), w.After.Low))
		some = some && w.After.Low > 0
	}
	if !some {
		return "room for " + text.List(room)
	}
	return "room for " + text.List(room) + "; or fewer pods are enough (" + strings.Join(enough, " ") + ")"
}
