package place

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/cluster"
)

// unknown lists the pods and objects to which the rules cannot apply.
func (w *World) unknown(evicted []int) (out []string) {
	for _, x := range []struct {
		text string
		is   func(*pod) bool
	}{
		{"another scheduler places %d of the pods", func(p *pod) bool { return p.spec.SchedulerName != "" }},
		{"%d of the pods claim devices (DRA), which this forecast does not count", func(p *pod) bool { return len(p.spec.ResourceClaims) > 0 }},
		{"%d of the pods are in namespaces with a quota that has scopes, which this forecast does not count", func(p *pod) bool { return w.scoped[p.namespace] }},
	} {
		n := 0
		for _, i := range evicted {
			for _, p := range w.nodes[i].pods {
				if x.is(p) {
					n++
				}
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf(x.text, n))
		}
	}
	for _, kind := range cluster.PlaceKinds {
		if w.s.Access[kind].Forbidden {
			out = append(out, unreadable[kind])
		}
	}
	return slices.Compact(out)
}

// unreadable holds the consequence when the account cannot read a kind.
var unreadable = map[cluster.Kind]string{
	cluster.KindVolume: "the account can't read volumes", cluster.KindClaim: "the account can't read volume claims",
	cluster.KindStorageClass: "the account can't read storage classes",
	cluster.KindCSIDriver:    "the account can't read volume drivers, so lightsout cannot tell which volumes stay attached to a lost node",
	cluster.KindQuota:        "the account can't read quotas", cluster.KindJob: "the account can't read jobs", cluster.KindBudget: "the account can't read disruption budgets",
	cluster.KindNamespace: "the account can't read namespaces", cluster.KindNeighbour: "the account can't read pods of other namespaces, which use room on nodes",
}

// message returns the reason why no node takes a pod of the class, in the format of the
// PodScheduled condition, and Workload.Rules.
func (r *run) message(c *class) (_ string, rules []string) {
	if c.spec.SchedulerName != "" {
		return "another scheduler places it: " + c.spec.SchedulerName, nil
	}
	if len(c.spec.SchedulingGates) > 0 {
		return "Scheduling is blocked due to non-empty scheduling gates", nil
	}
	u, n := r.rulesOf(c), len(r.nodes)
	if u.never != "" {
		return fmt.Sprintf("0/%d nodes are available: %s.", n, u.never), nil
	}
	counts, ruled := map[string]int{}, map[string]bool{}
	for i := range r.nodes {
		why := r.why(c, u, i)
		if why != insufficient {
			counts[why]++
		} else {
			for _, one := range r.short(c, i) {
				counts[one]++
			}
			why = r.ruled(u, i)
		}
		if rule, known := ruleOf[why]; known {
			ruled[rule] = true
		}
	}
	delete(counts, "")
	if !ruled[""] {
		rules = sortedKeys(ruled)
	}
	if len(counts) == 0 {
		return fmt.Sprintf("0/%d nodes are available.", n), nil
	}
	var parts []string
	for why, k := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", k, why))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", n, strings.Join(parts, ", ")), rules
}

// short names the resources of which a node has too little.
func (r *run) short(c *class, node int) (out []string) {
	n := r.nodes[node]
	if r.load[node].pods >= n.maxPods {
		out = append(out, tooManyPods)
	}
	for _, a := range c.requests {
		if a.n > n.capacity[a.resource]-r.used[node*len(r.names)+a.resource] {
			out = append(out, insufficient+r.names[a.resource])
		}
	}
	return out
}
