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
	wait                   []*Loss // those of partial that are known
}

// some counts losses and names them, unless nobody knows which ones they are.
type some struct {
	n       int
	names   []string
	victims []string // the workloads of which pods may be preempted
}

func (s *some) add(name string, l *Loss) {
	s.n, s.names = s.n+1, append(s.names, name)
	if l == nil {
		return
	}
	for _, v := range l.Victims {
		if key := v.Workload.String(); !slices.Contains(s.victims, key) {
			s.victims = append(s.victims, key)
		}
	}
}

// ends warns that pods may be preempted.
func (s *some) ends() string {
	switch n := len(s.victims); {
	case n == 0:
		return ""
	case n > 3:
		return fmt.Sprintf(" (pods of %d workloads may end)", n)
	}
	slices.Sort(s.victims)
	return " (pods of " + text.List(s.victims) + " may end)"
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
		out[len(out)-1].add(l.Name, l)
	}
	if r.Pairs > 0 {
		out = slices.Insert(out, 1, r.aboutPairs())
	}
	return out
}

func (a *answer) add(name string, l *Loss) {
	a.all++
	switch {
	case l == nil:
		a.free.add(name, nil)
	case l.TooMuch():
		a.tooMuch.add(name, l)
	case l.Partial():
		a.partial.add(name, l)
		a.wait = append(a.wait, l)
	default:
		a.free.add(name, l)
	}
}

// aboutPairs is the answer about pairs. With more nodes than a heat map has, the survey keeps only how many
// it can spare.
func (r *Report) aboutPairs() answer {
	a := answer{sort: Pair}
	if r.mapped() {
		known := r.known()
		for i, one := range r.Names {
			for _, other := range r.Names[i+1:] {
				a.add(pairName(one, other), known[pairName(one, other)])
			}
		}
		return a
	}
	a.all, a.partial.n = r.Pairs, r.PartialPairs
	for _, l := range r.Of(Pair) {
		a.tooMuch.add(l.Name, l)
	}
	a.free.n = r.Pairs - a.partial.n - a.tooMuch.n
	return a
}

func pairName(a, b string) string { return a + " + " + b }

// namedMost is the largest number of losses of one sort that a line names.
const namedMost = 6

// text names losses, or counts them.
func (a *answer) text(s some) string {
	many := a.sort
	if a.sort == Pair || a.sort == Zone || a.sort == Node {
		many += "s"
	}
	switch {
	case a.sort == Pair && s.n == a.all && s.n > 1:
		return fmt.Sprintf("all %d pairs", s.n)
	case len(s.names) != s.n || s.n > namedMost:
		return fmt.Sprintf("%d of %d %s", s.n, a.all, many)
	case a.sort == Node:
		return text.List(s.names)
	}
	return text.Noun(s.n, a.sort, many) + " " + text.List(s.names)
}

// spared is text for losses that the cluster can spare.
func (a *answer) spared(s some) string {
	if s.n == a.all && s.n > 1 {
		return "any " + a.sort
	}
	return a.text(s)
}

// condition is what must be acceptable before the cluster spares the partial losses.
func (a *answer) condition() string {
	var who []string
	may := "wait"
	for _, l := range a.wait {
		if l.unreplaced().High > 0 {
			may = "lack pods"
		}
		for _, w := range l.Workloads {
			if key := w.Key.String(); !w.enough() && !slices.Contains(who, key) {
				who = append(who, key)
			}
		}
	}
	slices.Sort(who)
	switch {
	case len(who) == 0:
		return " only if some pods may wait"
	case len(who) > 3:
		return fmt.Sprintf(" only if %d workloads may %s", len(who), may)
	}
	return " only if " + text.List(who) + " may " + may
}

// Spare names what the cluster can spare, and on which condition: "node-c1; node-a2 only if
// default/database may wait". It is "nothing" if there is no such loss.
func (r *Report) Spare() string {
	var parts []string
	for _, a := range r.answers() {
		if a.free.n > 0 {
			parts = append(parts, a.spared(a.free)+a.free.ends()+r.oneNode(a, a.free))
		}
		if a.partial.n > 0 {
			parts = append(parts, a.spared(a.partial)+a.condition()+a.partial.ends()+r.oneNode(a, a.partial))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// oneNode warns that some of these nodes have all pods of a deployment, which is down until they are replaced.
func (r *Report) oneNode(a answer, s some) string {
	if a.sort != Node {
		return ""
	}
	n := 0
	for _, one := range r.OneNode {
		if slices.Contains(s.names, one.Node) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return ", but " + text.Count(n, "deployment has", "deployments have") + " all pods on one node"
}

// cantSpare names what the cluster can't spare; empty if it can spare all.
func (r *Report) cantSpare() string {
	var parts []string
	for _, a := range r.answers() {
		if a.tooMuch.n > 0 {
			parts = append(parts, a.text(a.tooMuch))
		}
	}
	return strings.Join(parts, "; ")
}

// Headline is the result: a line with what the cluster can spare beside the nodes that are down, one with
// what it can't, and some with what would change that.
func (r *Report) Headline() []string {
	if len(r.Losses) == 0 && len(r.Down) == 0 {
		return []string{"There are no worker nodes to lose."}
	}
	first := "Can spare: " + r.Spare()
	if n := len(r.Down); n > 0 {
		down := text.List(r.Down)
		if n > namedMost {
			down = fmt.Sprintf("%d of %d nodes", n, r.Nodes)
		}
		first = down + text.Noun(n, " is", " are") + " down; "
		if what := r.Spare(); what == "nothing" {
			first += "nothing more can be spared"
		} else {
			first += "can spare: " + what
		}
	}
	lines := []string{first}
	if not := r.cantSpare(); not != "" {
		lines = append(lines, "Can't spare: "+not)
	}
	return append(lines, r.more()...)
}
