package survey

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// remediesMost is the largest number of lines on what would let the cluster spare more.
const remediesMost = 3

// more says what would let the cluster spare nodes and zones that it can't: those with one remedy share a line, the most first.
func (r *Report) more() (lines []string) {
	type group struct {
		remedy string
		all    answer
		some
	}
	var groups []*group
	for _, l := range slices.Concat(r.Of(Node), r.Of(Zone)) {
		what := l.remedy()
		i := slices.IndexFunc(groups, func(g *group) bool { return g.remedy == what && g.all.sort == l.Sort })
		switch {
		case what == "":
			continue
		case i < 0:
			i, groups = len(groups), append(groups, &group{what, answer{sort: l.Sort, all: len(r.Of(l.Sort))}, some{}})
		}
		groups[i].add(l.Name, nil)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return b.n - a.n })
	for _, g := range groups[:min(len(groups), remediesMost)] {
		lines = append(lines, "To spare "+g.all.text(g.some)+": "+g.remedy)
	}
	return lines
}

// remedy is the room that the pods without a node need, or how many are left if some are and those are enough.
// It is empty if neither lets the cluster spare the nodes.
func (l *Loss) remedy() string {
	if !l.TooMuch() || l.Held || l.counts.Missing.High > 0 || len(l.Broken)+len(l.Budgets) > 0 {
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
			if lacks := cluster.Lacks(w.Reasons[0]); len(lacks) > 0 {
				pods += " (" + text.List(lacks) + ")"
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
