package place

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	schedule "k8s.io/component-helpers/scheduling/corev1"

	"lightsout/cluster"
)

// Reasons why a node does not take a pod, in the scheduler's words.
const (
	unschedulable   = "node(s) were unschedulable"
	taints          = "node(s) had untolerated taint(s)"
	nodeAffinity    = "node(s) didn't match Pod's node affinity/selector"
	hostPorts       = "node(s) didn't have free ports for the requested pod ports"
	tooManyPods     = "Too many pods"
	volumeElsewhere = "node(s) didn't match PersistentVolume's node affinity"
	volumeGone      = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
	unevenSpread    = "node(s) didn't match pod topology spread constraints"
	noSpreadLabel   = unevenSpread + " (missing required label)"
	affinity        = "node(s) didn't match pod affinity rules"
	antiAffinity    = "node(s) didn't match pod anti-affinity rules"
	existingAnti    = "node(s) didn't satisfy existing pods anti-affinity rules"

	insufficient = "Insufficient "
)

// ruleOf names the rule of a workload behind a reason; of none, no rule.
var ruleOf = map[string]string{"": "", nodeAffinity: "node affinity or selector", hostPorts: "host ports", volumeElsewhere: "place of the volumes",
	unevenSpread: "topology spread constraint", noSpreadLabel: "topology spread constraint",
	affinity: "pod affinity", antiAffinity: "pod anti-affinity"}

// rules are the compiled rules of a class, checked node by node.
type rules struct {
	// before and after are the checks ahead of and behind the resources: the reason why
	// a node takes no pod of the class whatever else runs on it; empty where it may
	// take one.
	before, after []string // by node; nil: every node may
	// never is the whole message when no node takes the pod.
	never     string
	tolerates bool // tolerates the NoSchedule taint of a node that is down
	ports     []blocker
	spreads   []spread
	affinity  []*counter
	alone     bool // it satisfies its own affinity
	anti      []blocker

	soft        []spread
	preferences []weighted
	preferred   []int64 // by node
	reluctant   []int64 // by node: untolerated PreferNoSchedule taints
}

// rulesOf returns the rules of a class, which it compiles once.
func (w *World) rulesOf(c *class) *rules {
	if c.rules != nil {
		return c.rules
	}
	c.labelSet()
	r := &rules{}
	c.rules = r
	r.tolerates = tolerates(c.spec.Tolerations, corev1.Taint{Key: cluster.TaintUnreachable, Effect: corev1.TaintEffectNoSchedule}) &&
		tolerates(c.spec.Tolerations, corev1.Taint{Key: cluster.TaintUnreachable, Effect: corev1.TaintEffectNoExecute})
	loose, unfit := w.Loose[c.workload], w.unselected(c)
	if slices.Contains(loose, ruleOf[nodeAffinity]) {
		unfit = nil
	}
	note := func(i int, why string) {
		if r.before == nil {
			r.before = make([]string, len(w.nodes))
		}
		r.before[i] = why
	}
	for i, n := range w.nodes {
		switch {
		case n.api.Spec.Unschedulable && !tolerates(c.spec.Tolerations, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
			note(i, unschedulable)
		case untoleratedTaint(n.api, c.spec):
			note(i, taints)
		case at(unfit, i):
			note(i, nodeAffinity)
		}
	}
	r.ports, r.anti, r.spreads = w.portBlocker(c), w.antiBlockers(c), w.spreads(c, false)
	r.affinity, r.alone = w.affinityCounters(c)
	for _, rule := range loose {
		switch rule {
		case ruleOf[hostPorts]:
			r.ports = nil
		case ruleOf[unevenSpread]:
			r.spreads, r.soft = nil, r.spreads
		case ruleOf[affinity]:
			r.affinity = nil
		}
	}
	w.volumesOf(c, r)
	w.score(c, r)
	return r
}

// score collects the preferences of the class.
func (w *World) score(c *class, r *rules) {
	r.soft = slices.Concat(r.soft, w.spreads(c, true), w.defaultSpreads(c))
	r.preferences = w.preferences(c)
	var terms *nodeaffinity.PreferredSchedulingTerms
	if a := c.spec.Affinity; a != nil && a.NodeAffinity != nil {
		terms, _ = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if terms != nil {
		r.preferred = make([]int64, len(w.nodes))
		for i, n := range w.nodes {
			r.preferred[i] = terms.Score(n.api)
		}
	}
	for i, n := range w.nodes {
		for _, t := range n.api.Spec.Taints {
			if t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(c.spec.Tolerations, t) {
				if r.reluctant == nil {
					r.reluctant = make([]int64, len(w.nodes))
				}
				r.reluctant[i]++
			}
		}
	}
}

func tolerates(list []corev1.Toleration, t corev1.Taint) bool {
	return schedule.TolerationsTolerateTaint(klog.Logger{}, list, &t, false)
}

func untoleratedTaint(n *corev1.Node, spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(spec.Tolerations, t)
	})
}

// at returns the element of a node; list may be nil.
func at[T any](list []T, node int) (none T) {
	if list == nil {
		return none
	}
	return list[node]
}
