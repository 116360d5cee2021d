package place

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/ptr"

	"lightsout/cluster"
)

// claims returns the names of a class's claims, and the specifications of its
// ephemeral volumes.
func (c *class) claims() (names []string, ephemeral []*corev1.PersistentVolumeClaimSpec) {
	for _, v := range c.spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		} else if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			ephemeral = append(ephemeral, &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
	}
	return names, ephemeral
}

// volumeRules adds to rules what the volumes of a class require of a node.
type volumeRules struct {
	*World
	class *class
	rules *rules
}

// add adds the conditions of all volumes of the class.
func (w *volumeRules) add() {
	c, r := w.class, w.rules
	names, ephemeral := c.claims()
	if len(names)+len(ephemeral) == 0 {
		return
	}
	r.after = make([]string, len(w.nodes))
	if access := w.s.Access; access[cluster.KindClaim].Forbidden || access[cluster.KindVolume].Forbidden {
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
			w.pinned(w.volumes[claim.Spec.VolumeName])
		}
	}
	for _, spec := range ephemeral {
		w.unbound(spec)
	}
}

// pinned limits the class to the nodes that can use a volume.
func (w *volumeRules) pinned(v *corev1.PersistentVolume) {
	after := w.rules.after
	for i, n := range w.nodes {
		if after[i] == "" {
			after[i] = unfit(n.api, v)
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
	return ""
}

// unbound adds the condition of a claim without a volume. A class of volumes that binds them when
// a pod has a node is taken to have one on each.
func (w *volumeRules) unbound(claim *corev1.PersistentVolumeClaimSpec) {
	sc := w.storages[ptr.Deref(claim.StorageClassName, "")]
	if sc == nil || ptr.Deref(sc.VolumeBindingMode, "") != storagev1.VolumeBindingWaitForFirstConsumer {
		w.rules.never = "pod has unbound immediate PersistentVolumeClaims"
	}
}

// Attachment is a volume that stays attached to a lost node.
type Attachment struct {
	Volume string `json:"volume"`
	Node   string `json:"node"`
}

// attach collects the volumes for which pods wait.
func (s *sum) attach(r *run) {
	for c, f := range r.fates {
		x, n := s.of[c.workload], r.holder(c)
		if n == nil || f.stuck == 0 || c.kind == "StatefulSet" {
			continue
		}
		for _, v := range c.alone {
			if a := (Attachment{v, n.name}); !slices.Contains(x.Attached, a) {
				x.Attached = append(x.Attached, a)
			}
		}
	}
}
