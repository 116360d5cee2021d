package survey

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// answer divides the losses of one sort by whether the cluster can spare them.
type answer struct {
	sort                   string
	all                    int
	free, partial, tooMuch some
}

// some counts losses and lists them, unless nobody knows which ones they are.
type some struct {
	n      int
	losses []*Loss
}

func (s *some) add(l *Loss) {
	s.n, s.losses = s.n+1, append(s.losses, l)
}

// warned says what happens in some of the losses, if the cluster can spare them: deployments have too few pods until these are
// replaced, and pods may be preempted.
func warned(losses ...*Loss) string {
	losses = slices.DeleteFunc(slices.Clone(losses), (*Loss).TooMuch)
	return warning(losses, " (%s%s until replaced)", func(l *Loss) []string { return text.Each(l.Until, Left.String) }) +
		warning(losses, " (%spods of %s may end)", func(l *Loss) []string {
			return text.Each(l.Victims, func(v place.Victim) string { return v.Workload.String() })
		})
}

// warning is the format with for which losses it holds, unless for all, and which workloads it names.
func warning(losses []*Loss, format string, what func(*Loss) []string) string {
	var who, where []string
	for _, l := range losses {
		if these := what(l); len(these) > 0 {
			who, where = append(who, these...), append(where, l.Title())
		}
	}
	in := ""
	if n := len(where); n == 0 {
		return ""
	} else if n < len(losses) && n > 3 {
		in = fmt.Sprintf("for %d of them, ", n)
	} else if n < len(losses) {
		in = "for " + text.List(where) + ", "
	}
	return fmt.Sprintf(format, in, briefly(who))
}

// briefly lists workloads, or counts more than three.
func briefly(who []string) string {
	slices.Sort(who)
	who = slices.Compact(who)
	if len(who) > 3 {
		return fmt.Sprintf("%d workloads", len(who))
	}
	return text.List(who)
}

// answers are those about nodes, about pairs if the survey tried them, and about each sort of groups.
func (r *Report) answers() (out []answer) {
	for i := range r.Losses {
		l := &r.Losses[i]
		switch n := len(out); {
		case l.Sort == Pair:
			continue
		case n == 0 || out[n-1].sort != l.Sort:
			out = append(out, answer{sort: l.Sort})
		}
		out[len(out)-1].add(l)
	}
	if r.Pairs > 0 {
		a := answer{sort: Pair}
		for _, l := range r.Of(Pair) {
			a.add(l)
		}
		a.all, a.partial.n, a.free.n = r.Pairs, r.PartialPairs, r.Pairs-r.PartialPairs-a.tooMuch.n // many have no names
		out = slices.Insert(out, 1, a)
	}
	return out
}

func (a *answer) add(l *Loss) {
	a.all++
	switch {
	case l.TooMuch():
		a.tooMuch.add(l)
	case l.Partial():
		a.partial.add(l)
	default:
		a.free.add(l)
	}
}

func pairName(a, b string) string { return a + " + " + b }

// namedMost is the largest number of losses of one sort that a line names.
const namedMost = 6

// text names losses, or counts them; those that the cluster can spare with the pods that may be preempted.
func (a *answer) text(s some) string {
	many, all := a.sort, s.n == a.all && s.n > 1
	if slices.Contains([]string{Node, Pair, Zone}, a.sort) {
		many += "s"
	}
	switch {
	case all && a.tooMuch.n == 0:
		return "any " + a.sort + warned(s.losses...)
	case a.sort == Pair && all:
		return fmt.Sprintf("all %d pairs", s.n)
	case len(s.losses) != s.n || s.n > namedMost:
		return fmt.Sprintf("%d of %d %s", s.n, a.all, many) + warned(s.losses...)
	}
	names := text.Each(s.losses, func(l *Loss) string { return l.Name + warned(l) })
	if a.sort == Node {
		return text.List(names)
	}
	return text.Noun(s.n, a.sort, many) + " " + text.List(names)
}

// conditions are the partial losses, each with what must be acceptable before the cluster spares it; with more than namedMost
// different conditions, all have one.
func (a *answer) conditions() (out []string) {
	var groups []some
	for _, l := range a.partial.losses {
		i := slices.IndexFunc(groups, func(g some) bool { return condition(g.losses[0]) == condition(l) })
		if i < 0 {
			i, groups = len(groups), append(groups, some{})
		}
		groups[i].add(l)
	}
	if len(a.partial.losses) < a.partial.n || len(groups) > namedMost {
		groups = []some{a.partial}
	}
	return text.Each(groups, func(g some) string { return a.text(g) + condition(g.losses...) })
}

func condition(losses ...*Loss) string {
	who := slices.Concat(text.Each(losses, (*Loss).waiting)...)
	if len(who) == 0 {
		return " only if some pods may wait"
	}
	return " only if " + briefly(who) + may(losses)
}

// may says what the workloads do of which pods are away with their nodes.
func may(losses []*Loss) string {
	lack := slices.ContainsFunc(losses, func(l *Loss) bool { return l.unreplaced().High > 0 })
	return map[bool]string{true: " may lack pods", false: " may wait"}[lack]
}

// Spare names what the cluster can spare, and on which condition: "Can spare, one at a time: node-c1; node-a2 only if
// default/database may wait". It is "Can spare: nothing" if there is no such loss.
func (r *Report) Spare() string {
	var parts []string
	for _, a := range r.answers() {
		if a.free.n > 0 {
			parts = append(parts, a.text(a.free))
		}
		if a.partial.n > 0 {
			parts = append(parts, a.conditions()...)
		}
	}
	can := "Can spare" + map[bool]string{true: ", one at a time"}[len(r.Losses) > 1] + ": " + strings.Join(parts, "; ")
	if len(parts) == 0 {
		can = "Can spare: nothing"
	}
	if len(r.waiting) > 0 {
		can += fmt.Sprintf(" (not counted: %s of %s, which %s for a node already)", text.Count(r.Waiting, "pod", "pods"), briefly(r.waiting), text.Noun(r.Waiting, "waits", "wait"))
	}
	return can
}

// cantSpare names what the cluster can't spare of these sorts; none: of any. It is empty if it can spare all.
func (r *Report) cantSpare(sorts ...string) string {
	var parts []string
	for _, a := range r.answers() {
		if a.tooMuch.n > 0 && (len(sorts) == 0 || slices.Contains(sorts, a.sort)) {
			parts = append(parts, a.text(a.tooMuch))
		}
	}
	return strings.Join(parts, "; ")
}

// Headline is the result: lines with the nodes that take no pods, one with what the cluster can spare beside, one with
// what it can't, and some with what would change that: of each sort at most so many.
func (r *Report) Headline(most int) (lines []string) {
	if len(r.Losses) == 0 && len(r.Down) == 0 {
		return []string{"There are no worker nodes to lose."}
	}
	for i, nodes := range r.out() {
		who, n := text.List(nodes), len(nodes)
		if n > namedMost {
			who = fmt.Sprintf("%d of %d nodes", n, r.Nodes)
		}
		if n > 0 {
			lines = append(lines, who+text.Noun(n, " is ", " are ")+[]string{"down", "down and cordoned", "cordoned"}[i])
		}
	}
	lines = append(lines, r.Spare())
	if not := r.cantSpare(); not != "" {
		lines = append(lines, "Can't spare: "+not)
	}
	return append(lines, r.more(most)...)
}
