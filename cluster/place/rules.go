package place

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
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
	onceOnly        = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	tooManyVolumes  = "node(s) exceed max volume count"
	noVolume        = "node(s) didn't find available persistent volumes to bind"
	volumeElsewhere = "node(s) didn't match PersistentVolume's node affinity"
	volumeGone      = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
	volumeZone      = "node(s) had no available volume zone"
	unevenSpread    = "node(s) didn't match pod topology spread constraints"
	noSpreadLabel   = unevenSpread + " (missing required label)"
	affinity        = "node(s) didn't match pod affinity rules"
	antiAffinity    = "node(s) didn't match pod anti-affinity rules"
	existingAnti    = "node(s) didn't satisfy existing pods anti-affinity rules"

	insufficient = "Insufficient "
	// attachable is the prefix of a resource that the World adds for each volume
	// driver: the number of its volumes that a node can attach.
	attachable = "attachable "
)

// rules are the compiled rules of a class, checked node by node.
type rules struct {
	// before and after are the checks ahead of and behind the resources: the reason why
	// a node takes no pod of the class whatever else runs on it; empty where it may
	// take one.
	before, after []string // by node; nil: every node may
	// never is the whole message when no node takes the pod.
	never     string
	tolerates bool // tolerates the NoSchedule taint of a lost node
	ports     []blocker
	once      []blocker
	spreads   []spread
	affinity  []*counter
	alone     bool // it satisfies its own affinity
	anti      []blocker
	// volumes lists, by name, the free volumes to which one of its claims can be bound;
	// nil without such a claim.
	volumes []*corev1.PersistentVolume
	binds   bool

	soft        []spread
	preferences []weighted
	preferred   []int64 // by node
	reluctant   []int64 // by node: untolerated PreferNoSchedule taints
	depends     bool    // the result depends on which nodes are lost
}

// rulesOf returns the rules of a class.
func (w *World) rulesOf(c *class) *rules {
	if c.rules != nil && !c.rules.depends {
		return c.rules
	}
	c.labelSet()
	r := &rules{}
	c.rules = r
	r.tolerates = tolerates(c.spec.Tolerations, corev1.Taint{Key: cluster.TaintUnreachable, Effect: corev1.TaintEffectNoSchedule}) &&
		tolerates(c.spec.Tolerations, corev1.Taint{Key: cluster.TaintUnreachable, Effect: corev1.TaintEffectNoExecute})
	required := c.required(c.pod)
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
		case n.tainted && untoleratedTaint(n.api, c.spec):
			note(i, taints)
		case required != nil:
			if fits, _ := required.Match(n.api); !fits {
				note(i, nodeAffinity)
			}
		}
	}
	r.ports, r.anti, r.spreads = w.portBlocker(c), w.antiBlockers(c), w.spreads(c, false)
	r.affinity, r.alone = w.affinityCounters(c)
	w.bindVolumes(c, r)
	w.score(c, r)
	for _, t := range c.spec.TopologySpreadConstraints {
		r.depends = r.depends || t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	}
	return r
}

// score collects the preferences of the class.
func (w *World) score(c *class, r *rules) {
	r.soft = append(w.spreads(c, true), w.defaultSpreads(c)...)
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

// untolerated reports whether the class does not tolerate a node's taints, including
// those of the outage.
func (w *World) untolerated(c *class, i int) bool {
	r := c.rules
	return w.dead[i] && (r == nil || !r.tolerates) || untoleratedTaint(w.nodes[i].api, c.spec)
}

// claimsOf returns the names of a class's claims, and the specifications of its
// ephemeral volumes.
func (w *World) claimsOf(c *class) (names []string, ephemeral []*corev1.PersistentVolumeClaimSpec) {
	for _, v := range c.spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		} else if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			ephemeral = append(ephemeral, &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
	}
	return names, ephemeral
}

// bindVolumes adds the conditions of the class's volumes.
func (w *World) bindVolumes(c *class, r *rules) {
	names, ephemeral := w.claimsOf(c)
	if len(names)+len(ephemeral) == 0 {
		return
	}
	r.after = make([]string, len(w.nodes))
	if w.unread(cluster.KindClaim) || w.unread(cluster.KindVolume) {
		return
	}
	for _, name := range names {
		claim := w.claims[cluster.Key{Namespace: c.namespace, Name: name}]
		switch {
		case claim == nil:
			r.never = `persistentvolumeclaim "` + name + `" not found`
		case claim.DeletionTimestamp != nil:
			r.never = `persistentvolumeclaim "` + name + `" is being deleted`
		case claim.Spec.VolumeName == "":
			ephemeral = append(ephemeral, &claim.Spec)
		default:
			w.pinned(r, w.volumes[claim.Spec.VolumeName])
			if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
				r.once = append(r.once, blocker{w.newCounter(w.everywhere(), false, nil, func(x *class) bool {
					others, _ := w.claimsOf(x)
					return x.namespace == c.namespace && slices.Contains(others, name)
				}), onceOnly})
			}
		}
	}
	for _, spec := range ephemeral {
		w.unbound(r, spec)
	}
}

// pinned limits the class to the nodes that can use a volume.
func (w *World) pinned(r *rules, v *corev1.PersistentVolume) {
	for i, n := range w.nodes {
		if r.after[i] == "" {
			r.after[i] = unfit(n.api, v)
		}
	}
}

// unfit returns the reason why a node cannot use a volume; empty when it can.
func unfit(n *corev1.Node, v *corev1.PersistentVolume) string {
	if v == nil {
		return volumeGone
	}
	if a := v.Spec.NodeAffinity; a != nil && a.Required != nil {
		if fits, err := schedule.MatchNodeSelectorTerms(n, a.Required); err != nil || !fits {
			return volumeElsewhere
		}
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		zone, ok := v.Labels[key]
		at, labelled := n.Labels[key]
		if ok && (labelled || n.Labels[corev1.LabelTopologyRegion] != "" || n.Labels[corev1.LabelTopologyZone] != "") &&
			!slices.Contains(strings.Split(zone, "__"), at) {
			return volumeZone
		}
	}
	return ""
}

// unbound limits the class to the nodes where a volume exists or can be provisioned.
func (w *World) unbound(r *rules, claim *corev1.PersistentVolumeClaimSpec) {
	name := ""
	if claim.StorageClassName != nil {
		name = *claim.StorageClassName
	}
	sc := w.storages[name]
	if sc == nil || sc.VolumeBindingMode == nil || *sc.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		r.never = "pod has unbound immediate PersistentVolumeClaims"
		return
	}
	if sc.Provisioner == "kubernetes.io/no-provisioner" {
		r.binds = true
		want := claim.Resources.Requests[corev1.ResourceStorage]
		for _, v := range sortedKeys(w.volumes) {
			pv := w.volumes[v]
			size := pv.Spec.Capacity[corev1.ResourceStorage]
			if pv.Spec.StorageClassName == name && pv.Spec.ClaimRef == nil && size.Cmp(want) >= 0 &&
				!slices.ContainsFunc(claim.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(pv.Spec.AccessModes, m) }) {
				r.volumes = append(r.volumes, pv)
			}
		}
		return
	}
	for i, n := range w.nodes {
		if r.after[i] == "" && len(sc.AllowedTopologies) > 0 && !slices.ContainsFunc(sc.AllowedTopologies, func(t corev1.TopologySelectorTerm) bool {
			return !slices.ContainsFunc(t.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
				return !slices.Contains(e.Values, n.api.Labels[e.Key])
			})
		}) {
			r.after[i] = noVolume
		}
	}
}

// attach counts the class's volumes as a resource where their driver limits the number
// of volumes per node.
func (w *World) attach(c *class) {
	if len(c.spec.Volumes) == 0 {
		return
	}
	drivers := map[string]int64{}
	names, ephemeral := w.claimsOf(c)
	for _, name := range names {
		claim := w.claims[cluster.Key{Namespace: c.namespace, Name: name}]
		if claim == nil || slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
			continue // many pods share one volume: it is attached once
		}
		if v := w.volumes[claim.Spec.VolumeName]; v != nil && v.Spec.CSI != nil {
			drivers[v.Spec.CSI.Driver]++
		}
	}
	for _, spec := range ephemeral {
		if spec.StorageClassName != nil && w.storages[*spec.StorageClassName] != nil {
			drivers[w.storages[*spec.StorageClassName].Provisioner]++
		}
	}
	for _, d := range sortedKeys(drivers) {
		if i, limited := w.resources[attachable+d]; limited {
			own := *c.needs
			own.requests = append(slices.Clone(own.requests), amount{i, drivers[d]})
			c.needs = &own
		}
	}
}

// unread reports whether the account cannot read a kind.
func (w *World) unread(kind cluster.Kind) bool { return w.s.Access[kind].Forbidden }
