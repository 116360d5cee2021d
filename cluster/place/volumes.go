package place

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/ptr"

	"lightsout/cluster"
)

// volumesOf adds to the rules of a class what its volumes require of a node. A class of volumes that
// binds them when a pod has a node is taken to have one on each.
func (w *World) volumesOf(c *class, r *rules) {
	if len(c.spec.Volumes) == 0 {
		return
	}
	r.after = make([]string, len(w.nodes))
	if access := w.s.Access; access[cluster.KindClaim].Forbidden || access[cluster.KindVolume].Forbidden {
		return
	}
	for _, v := range c.spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			if e := v.Ephemeral; e != nil && e.VolumeClaimTemplate != nil {
				w.unbound(&e.VolumeClaimTemplate.Spec, r)
			}
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim := object[corev1.PersistentVolumeClaim](w, cluster.KindClaim, c.namespace, name)
		switch {
		case claim == nil:
			r.never = `persistentvolumeclaim "` + name + `" not found`
			return
		case claim.DeletionTimestamp != nil:
			r.never = `persistentvolumeclaim "` + name + `" is being deleted`
			return
		case claim.Spec.VolumeName == "":
			w.unbound(&claim.Spec, r)
		default:
			volume := object[corev1.PersistentVolume](w, cluster.KindVolume, "", claim.Spec.VolumeName)
			for i, n := range w.nodes {
				r.after[i] = cmp.Or(r.after[i], unfit(n.api, volume))
			}
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

// BoundTo returns the claim of a pod whose volume only the pod's node can use; empty if there is none, or the
// account cannot read it.
func BoundTo(s *cluster.Snapshot, p *cluster.Pod) string {
	for _, v := range p.Spec.Decode().Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim, _ := s.Object(cluster.KindClaim, cluster.Key{Namespace: p.Namespace, Name: name}).(*corev1.PersistentVolumeClaim)
		if claim == nil {
			continue
		}
		volume, _ := s.Object(cluster.KindVolume, cluster.Key{Name: claim.Spec.VolumeName}).(*corev1.PersistentVolume)
		if volume != nil && !slices.ContainsFunc(s.Nodes(), func(n *cluster.Node) bool {
			return n.Name != p.Node && unfit(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: ParseLabels(n.Labels)}}, volume) == ""
		}) {
			return name
		}
	}
	return ""
}

// unbound adds the condition of a claim without a volume.
func (w *World) unbound(claim *corev1.PersistentVolumeClaimSpec, r *rules) {
	sc := object[storagev1.StorageClass](w, cluster.KindStorageClass, "", ptr.Deref(claim.StorageClassName, ""))
	if sc == nil || ptr.Deref(sc.VolumeBindingMode, "") != storagev1.VolumeBindingWaitForFirstConsumer {
		r.never = "pod has unbound immediate PersistentVolumeClaims"
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
