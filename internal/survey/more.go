package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// A survey searches for a remedy of so many losses of one sort, and a terminal shows so many.
const (
	remediesTried = 50
	remediesMost  = 3
)

// more says what would let the cluster spare what it can't: nodes that are there already first, then the
// fewest pods; of each sort at most so many. Losses with one remedy, after which the same workloads lack pods, share a line.
func (r *Report) more(most int) (lines []string) {
	who, many := map[string][]string{}, map[string]int{}
	var all, none, unasked []string // the remedies, what has none, and what was not asked for one
	hidden := 0
	for _, a := range r.answers() {
		groups, rest := map[string]some{}, some{}
		for _, l := range a.tooMuch.losses {
			if l.ToSpare == nil {
				rest.add(l)
				continue
			}
			what := r.remedy(l, most) + warning([]*Loss{l}, "\n  then still: %s%s"+may([]*Loss{l}), func(l *Loss) []string { return l.ToSpare.Still })
			g := groups[what]
			g.add(l)
			groups[what] = g
		}
		if g := groups[""]; g.n > 0 {
			none = append(none, a.text(g))
		}
		if rest.n > 0 {
			unasked = append(unasked, a.text(rest))
		}
		delete(groups, "")
		hidden += max(0, len(groups)-most)
		remedies := slices.SortedFunc(maps.Keys(groups), func(x, y string) int {
			x1, y1 := groups[x].losses[0], groups[y].losses[0]
			return cmp.Or(cmp.Compare(x1.ToSpare.news(), y1.ToSpare.news()), x1.counts.Pending.High-y1.counts.Pending.High, groups[y].n-groups[x].n, cmp.Compare(x1.Name, y1.Name))
		})
		for _, what := range remedies[:min(len(remedies), most)] {
			if who[what] == nil {
				all = append(all, what)
			}
			who[what], many[what] = append(who[what], a.text(groups[what])), many[what]+groups[what].n
		}
	}
	for _, what := range all {
		lines = append(lines, strings.Split("To spare"+map[bool]string{true: ", one at a time,"}[many[what] > 1]+" "+strings.Join(who[what], "; ")+": "+what, "\n")...)
	}
	if hidden > 0 {
		lines = append(lines, text.Count(hidden, "more change", "more changes")+": "+text.Self+" survey"+map[bool]string{true: " --pairs"}[r.Pairs > 0]+" -o json")
	}
	if none != nil {
		lines = append(lines, "No change was found that spares "+strings.Join(none, "; "))
	}
	if unasked != nil {
		lines = append(lines, "lightsout did not look for a change that spares "+strings.Join(unasked, "; "))
	}
	return lines
}

// remedy is what lets the cluster spare the nodes, a fact a line, for so many workloads by name; or for which minimums it can spare them as it is.
func (r *Report) remedy(l *Loss, most int) string {
	var ways []string
	few := func(who []string) string { return text.List(text.Few(who, most, "more workloads")) }
	ruled := map[string][]string{} // workloads by the rules to loosen
	for _, key := range slices.SortedFunc(maps.Keys(l.ToSpare.loose), cluster.Key.Compare) {
		rules := text.List(l.ToSpare.loose[key])
		ruled[rules] = append(ruled[rules], key.String())
	}
	for i, nodes := range r.out() {
		does := []string{"bring back ", "bring back and uncordon ", "uncordon "}[i]
		nodes = slices.DeleteFunc(nodes, func(n string) bool { return !slices.Contains(l.ToSpare.Up, n) })
		ways = append(ways, text.Each(nodes[:min(1, len(nodes))], func(string) string { return does + text.List(nodes) })...)
	}
	if n := l.ToSpare.Planes; n > 0 {
		ways = append(ways, text.Count(n, "more control-plane node", "more control-plane nodes"))
	}
	for _, rules := range slices.Sorted(maps.Keys(ruled)) {
		ways = append(ways, "loosen the "+rules+" of "+few(ruled[rules])+" (room on the nodes left does not help)")
	}
	if len(l.ToSpare.Room) > 0 {
		ways = append(ways, "room on other nodes for "+few(l.ToSpare.Room))
	}
	if len(l.ToSpare.Lower) > 0 {
		ways = append(ways, "lower what the budget requires ("+strings.Join(l.ToSpare.Lower, "; ")+")")
	}
	how := strings.Join(ways, "\n  and ")
	for _, n := range l.ToSpare.Add {
		how += map[bool]string{true: "\n  or, instead of looser rules, ", false: "\n  and "}[len(ruled) > 0] + "one more node like " + n + " (in its zone, with its labels and size)"
	}
	if len(l.ToSpare.Min) > 0 {
		until := text.Each(l.homeless(), func(w Workload) string {
			return map[bool]string{true: fmt.Sprintf("; %v until replaced", Left{w.Key, w.Least, w.Wanted})}[w.Least < w.After.Low]
		})
		how += "\n  or fewer pods are enough (--min " + strings.Join(l.ToSpare.Min, " --min ") + strings.Join(until, "") + ")"
	}
	return strings.TrimPrefix(strings.TrimPrefix(how, "\n  or "), "\n  and ")
}

// fewer are the values of --min with which the cluster can spare the nodes as it is, if each workload keeps a pod.
func (l *Loss) fewer() (enough []string) {
	some := !l.Held && l.counts.Missing.High+len(l.Broken)+len(l.Budgets) == 0
	for _, w := range l.homeless() {
		enough, some = append(enough, fmt.Sprintf("%s=%d", w.Key, w.Least)), some && w.Least > 0
	}
	return map[bool][]string{true: enough}[some]
}
