package survey

import (
	"fmt"
	"slices"
	"strings"

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

// ends warns that pods may be preempted in some of the losses, if the cluster can spare them.
func ends(losses ...*Loss) string {
	var victims []string
	n := 0
	for _, l := range losses {
		if l.TooMuch() || len(l.Victims) == 0 {
			continue
		}
		n++
		for _, v := range l.Victims {
			victims = append(victims, v.Workload.String())
		}
	}
	where := ""
	if n < len(losses) {
		where = fmt.Sprintf("for %d of them, ", n)
	}
	if n == 0 {
		return ""
	}
	return " (" + where + "pods of " + briefly(victims) + " may end)"
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
	if a.sort == Pair || a.sort == Zone || a.sort == Node {
		many += "s"
	}
	switch {
	case all && a.tooMuch.n == 0:
		return "any " + a.sort + ends(s.losses...)
	case a.sort == Pair && all:
		return fmt.Sprintf("all %d pairs", s.n)
	case len(s.losses) != s.n || s.n > namedMost:
		return fmt.Sprintf("%d of %d %s", s.n, a.all, many) + ends(s.losses...)
	}
	names := text.Each(s.losses, func(l *Loss) string { return l.Name + ends(l) })
	if a.sort == Node {
		return text.List(names)
	}
	return text.Noun(s.n, a.sort, many) + " " + text.List(names)
}

// condition is what must be acceptable before the cluster spares the partial losses.
func (a *answer) condition() string {
	var who []string
	may := "wait"
	for _, l := range a.partial.losses {
		if l.unreplaced().High > 0 {
			may = "lack pods"
		}
		for _, w := range l.Workloads {
			if !w.enough() {
				who = append(who, w.Key.String())
			}
		}
	}
	if len(who) == 0 {
		return " only if some pods may wait"
	}
	return " only if " + briefly(who) + " may " + may
}

// Spare names what the cluster can spare, and on which condition: "Can spare, one at a time: node-c1; node-a2 only if
// default/database may wait". It is "Can spare: nothing" if there is no such loss.
func (r *Report) Spare() string {
	var parts []string
	for _, a := range r.answers() {
		if a.free.n > 0 {
			parts = append(parts, a.text(a.free)+r.oneNode(a, a.free))
		}
		if a.partial.n > 0 {
			parts = append(parts, a.text(a.partial)+a.condition()+r.oneNode(a, a.partial))
		}
	}
	can := "Can spare, one at a time: " + strings.Join(parts, "; ")
	if len(parts) == 0 {
		can = "Can spare: nothing"
	}
	if len(r.waiting) > 0 {
		can += fmt.Sprintf(" (not counted: %s of %s, which %s for a node already)", text.Count(r.Waiting, "pod", "pods"), briefly(r.waiting), text.Noun(r.Waiting, "waits", "wait"))
	}
	return can
}

// oneNode warns that some of these nodes have all pods of a deployment, which is down until they are replaced.
func (r *Report) oneNode(a answer, s some) string {
	if a.sort != Node {
		return ""
	}
	var who []string
	for _, one := range r.OneNode {
		if slices.ContainsFunc(s.losses, func(l *Loss) bool { return l.Name == one.Node }) {
			who = append(who, one.Deployment.String())
		}
	}
	if len(who) == 0 {
		return ""
	}
	return ", but " + briefly(who) + text.Noun(len(who), " has", " have") + " all pods on one node"
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
func (r *Report) Headline(most int) []string {
	if len(r.Losses) == 0 && len(r.Down) == 0 {
		return []string{"There are no worker nodes to lose."}
	}
	var lines []string
	for i, nodes := range [][]string{r.Down, r.Cordoned} {
		who, n := text.List(nodes), len(nodes)
		if n > namedMost {
			who = fmt.Sprintf("%d of %d nodes", n, r.Nodes)
		}
		if n > 0 {
			lines = append(lines, who+text.Noun(n, " is ", " are ")+[]string{"down", "cordoned"}[i])
		}
	}
	lines = append(lines, r.Spare())
	if not := r.cantSpare(); not != "" {
		lines = append(lines, "Can't spare: "+not)
	}
	return append(lines, r.more(most)...)
}
