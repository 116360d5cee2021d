package survey

import (
	"bytes"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"lightsout/cluster"
)

// A pod that waits for the volume of a lost node has no certain replacement.
func TestTheSurveyNamesVolumesThatStayAttached(t *testing.T) {
	c := cluster.Contents{At: t0}
	for _, name := range []string{"a", "b", "c"} {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, CPUMilli: 4000, MemoryBytes: 8 << 30, MaxPods: 110, RenewSeen: t0, Renewed: t0, LeaseDuration: 40 * time.Second})
	}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Objects = []*cluster.Object{
		{Kind: cluster.KindVolume, Key: cluster.Key{Name: "pv-notes"}, Value: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{AccessModes: once,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}}}},
		{Kind: cluster.KindClaim, Key: cluster.Key{Namespace: "d", Name: "notes"}, Value: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-notes", AccessModes: once}}},
	}
	spec := &corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "notes"}}}}}
	c.Pods = []*cluster.Pod{{Key: cluster.Key{Namespace: "d", Name: "notes-1"}, Node: "a", Phase: "Running", Ready: true, OwnerKind: "ReplicaSet", OwnerName: "notes-x", Deployment: "notes",
		UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(spec, "ReplicaSet")}}
	r := make_(t, cluster.NewSnapshot(c), Options{Pairs: true})
	if got, want := headline(r), "Can spare, one at a time: b and c; a only if d/notes may wait; pair b + c; pairs a + b and a + c only if d/notes may wait"; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	want := []string{"a", "partial", "-", "-", "1", "-", "-", "-", "d/notes: 0 of 1 left, 1 waits for its volume: volume pv-notes stays attached to a"}
	if got := r.Losses[0].Cells(); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A redacted file gives the same answer about volumes, also by the object of their driver.
func TestARedactedFileKeepsTheDriversOfVolumes(t *testing.T) {
	s := cluster.NewSnapshot(cluster.Contents{At: t0, Objects: []*cluster.Object{
		{Kind: cluster.KindVolume, Key: cluster.Key{Name: "pv"}, Value: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "nfs"}}}}},
		{Kind: cluster.KindCSIDriver, Key: cluster.Key{Name: "nfs"}, Value: &storagev1.CSIDriver{}},
	}})
	var b bytes.Buffer
	if err := Save(&b, s, true); err != nil {
		t.Fatal(err)
	}
	got, err := Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	volume := got.Objects(cluster.KindVolume)[0].Value.(*corev1.PersistentVolume)
	if d := got.Objects(cluster.KindCSIDriver); len(d) != 1 || d[0].Name != volume.Spec.CSI.Driver || d[0].Name == "nfs" {
		t.Errorf("%+v has the driver %q", d, volume.Spec.CSI.Driver)
	}
}
