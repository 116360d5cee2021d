package cluster

import (
	"fmt"
	"strings"
)

// WontHappen says, one sentence each, what will not happen after the nodes of r
// have lost power, although it may be hoped for: pods that are not replaced,
// not evicted, not protected, or do not move back. It is empty when nothing is
// to be said. r is Blast's for the same Snapshot.
func WontHappen(s *Snapshot, r Radius) []string {
	var stateful, bare, staying, forever []string
	evicted := 0
	for _, node := range r.Nodes {
		for _, p := range s.PodsOn(node) {
			if p.finished() || !p.Gone.IsZero() || !p.Deleting.IsZero() {
				continue
			}
			_, goes := p.evictable(taintUnreachable)
			if goes {
				evicted++
			}
			switch {
			case p.Static, p.OwnerKind == "DaemonSet":
				staying = append(staying, p.Key.String())
			case !goes:
				forever = append(forever, p.Key.String())
			case p.OwnerKind == "StatefulSet":
				stateful = append(stateful, p.Key.String())
			case p.OwnerKind == "":
				bare = append(bare, p.Key.String())
			}
		}
	}
	stopped := false
	for _, l := range s.limits(r.Zones, nil) {
		stopped = stopped || l.why != ""
	}
	var out []string
	say := func(who []string, one, many string) {
		switch {
		case len(who) == 1:
			out = append(out, who[0]+" "+one)
		case len(who) > 1:
			out = append(out, fmt.Sprintf("%d pods %s: %s", len(who), many, some(who)))
		}
	}
	if r.ZoneRule != "" {
		out = append(out, r.ZoneRule)
	}
	if !stopped {
		say(stateful, "will hang in Terminating and not be replaced until its node returns (StatefulSet)",
			"of StatefulSets will hang in Terminating and not be replaced until their node returns")
		say(bare, "will be deleted and not be replaced: no controller owns it",
			"will be deleted and not be replaced, as no controller owns them")
	}
	say(forever, "will not be evicted: it tolerates a lost node for ever",
		"will not be evicted, as they tolerate a lost node for ever")
	switch n := len(staying); {
	case n == 1:
		out = append(out, "1 DaemonSet or static pod stays where it is and is not replaced")
	case n > 1:
		out = append(out, fmt.Sprintf("%d DaemonSet and static pods stay where they are and are not replaced", n))
	}
	if evicted > 0 && !stopped {
		out = append(out, "PodDisruptionBudgets will not hold anything up: a lost node asks nobody")
	}
	if moved := r.Replacements - r.WillNotFit; moved > 0 && !stopped {
		out = append(out, pods(moved, "that moves", "that move")+" will not move back when the nodes return: a rollout restart spreads them")
	}
	return out
}

// some gives the first three of a list.
func some(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
