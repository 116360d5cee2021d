package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What lightsout keeps of a volume and its driver tells whether one node at a time can attach it.
func TestWhichVolumesOneNodeAtATimeCanAttach(t *testing.T) {
	no := false
	once, many := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}
	for what, tt := range map[string]struct {
		from  corev1.PersistentVolumeSource
		modes []corev1.PersistentVolumeAccessMode
		alone bool
	}{
		"CSI":                {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, once, true},
		"CSI, two modes":     {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, many, false},
		"CSI, no mode":       {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, nil, false},
		"CSI without attach": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "files"}}, once, false},
		"Cinder":             {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{}}, once, true},
		"vSphere":            {corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{}}, once, true},
		"RBD":                {corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{}}, once, true},
		"iSCSI":              {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}, once, true},
		"Fibre Channel":      {corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{}}, once, true},
		"NFS":                {corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, once, false},
		"local":              {corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}, once, false},
		"host path":          {corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}, once, false},
	} {
		c := Contents{}
		for _, o := range []object{
			trimObject(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tt.from, AccessModes: tt.modes}}),
			trimObject(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "claim"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}),
			trimObject(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "files"}, Spec: storagev1.CSIDriverSpec{AttachRequired: &no}}),
		} {
			c.Objects = append(c.Objects, o.(*Object))
		}
		spec := NewSpec(&corev1.PodSpec{Volumes: []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}}}}, "ReplicaSet")
		s := NewSnapshot(c)
		if got := s.AttachedAlone("d", spec.Decode()); (len(got) == 1 && got[0] == "pv") != tt.alone || len(got) > 1 {
			t.Errorf("%s: %v, want it to wait: %t", what, got, tt.alone)
		}
		if got := s.AttachedAlone("other", spec.Decode()); got != nil {
			t.Errorf("%s: a claim of another namespace: %v", what, got)
		}
	}
}
