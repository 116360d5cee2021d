package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// TaintOutOfService is the taint that an operator puts on a node whose machine is off. The
// control plane then deletes the node's pods, and detaches its volumes, at once.
const TaintOutOfService = corev1.TaintNodeOutOfService

// OutOfService reports whether the node has TaintOutOfService.
func (n *Node) OutOfService() bool {
	return slices.ContainsFunc(n.Taints, func(t Taint) bool { return t.Key == TaintOutOfService })
}

// AttachedAlone names the volumes of a pod's specification that one node at a time can
// attach, in the order of the specification. While a pod that uses one of them exists, the
// volume stays attached to its node, and a pod on another node does not start: a pod that
// hangs in Terminating counts. The rules are those of pkg/controller/volume/attachdetach
// and IsMultiAttachAllowed in pkg/volume/util. Volumes that the account cannot read are
// missing.
func (s *Snapshot) AttachedAlone(namespace string, spec *corev1.PodSpec) (out []string) {
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue // an ephemeral volume is its pod's own
		}
		claim, _ := s.Object(KindClaim, Key{namespace, v.PersistentVolumeClaim.ClaimName}).(*corev1.PersistentVolumeClaim)
		if claim == nil {
			continue
		}
		name := claim.Spec.VolumeName
		if pv, _ := s.Object(KindVolume, Key{Name: name}).(*corev1.PersistentVolume); pv != nil && s.attaches(pv) && oneNode(pv) {
			out = append(out, name)
		}
	}
	return out
}

// Object returns the value of one of Objects; nil if there is none.
func (s *Snapshot) Object(kind Kind, k Key) any {
	x := &Object{Kind: kind, Key: k}
	if o := s.objects.first(func(o *Object) bool { return !o.less(x) }); o != nil && o.Kind == kind && o.Key == k {
		return o.Value
	}
	return nil
}

// attaches reports whether the control plane attaches a volume to a node before a pod there
// can use it.
func (s *Snapshot) attaches(pv *corev1.PersistentVolume) bool {
	if csi := pv.Spec.CSI; csi != nil {
		driver, _ := s.Object(KindCSIDriver, Key{Name: csi.Driver}).(*storagev1.CSIDriver)
		// A driver without such an object is attached.
		return !s.Access[KindCSIDriver].Forbidden && (driver == nil || driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired)
	}
	return attachedInTree(pv.Spec.PersistentVolumeSource) != corev1.PersistentVolumeSource{}
}

// attachedInTree keeps of a source which of the kinds it is that the control plane attaches,
// beside CSI; disks of public clouds are not known.
func attachedInTree(from corev1.PersistentVolumeSource) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Cinder: from.Cinder, VsphereVolume: from.VsphereVolume, RBD: from.RBD, ISCSI: from.ISCSI, FC: from.FC}
}

// oneNode reports whether only one node at a time can attach a volume.
func oneNode(pv *corev1.PersistentVolume) bool {
	return len(pv.Spec.AccessModes) > 0 && !slices.ContainsFunc(pv.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
}
