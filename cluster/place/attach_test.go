package place

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"lightsout/cluster"
)

// claiming adds a volume, its claim and its driver, and returns a pod that uses it.
func claiming(c *cluster.Contents, from corev1.PersistentVolumeSource, modes ...corev1.PersistentVolumeAccessMode) *corev1.PodSpec {
	add := func(kind cluster.Kind, namespace, name string, v any) {
		c.Objects = append(c.Objects, &cluster.Object{Kind: kind, Key: cluster.Key{Namespace: namespace, Name: name}, Value: v})
	}
	name := fmt.Sprintf("pv-%d", len(c.Objects))
	add(cluster.KindVolume, "", name, &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{AccessModes: modes, PersistentVolumeSource: from}})
	add(cluster.KindClaim, "d", "claim-"+name, &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: modes}})
	if from.CSI != nil {
		no := from.CSI.Driver != "nfs"
		add(cluster.KindCSIDriver, "", from.CSI.Driver, &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: &no}})
	}
	spec := asking("cpu", "1")
	spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim-" + name}}}}
	return spec
}

// A volume that one node at a time can attach stays attached to a lost node, where the old
// pod hangs: the replacement gets a node, and does not start.
func TestAReplacementWaitsForItsVolume(t *testing.T) {
	csi := func(driver string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "h"}}
	}
	for what, tt := range map[string]struct {
		from  corev1.PersistentVolumeSource
		modes []corev1.PersistentVolumeAccessMode
		stuck int
		kind  string
		taint string
	}{
		"ReadWriteOnce":                  {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, stuck: 1},
		"a driver without an object":     {from: csi(""), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, stuck: 1},
		"a cloud's disk":                 {from: corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{}}, modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, stuck: 1},
		"of a Job":                       {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, kind: "Job", stuck: 1},
		"attachRequired false":           {from: csi("nfs"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
		"NFS":                            {from: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
		"ReadWriteMany":                  {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}},
		"out of service":                 {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, taint: cluster.TaintOutOfService},
		"of a StatefulSet":               {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, kind: "StatefulSet", stuck: 1},
		"out of service, a StatefulSet":  {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, kind: "StatefulSet", taint: cluster.TaintOutOfService},
		"out of service, used by no two": {from: csi("block"), modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, taint: cluster.TaintOutOfService},
	} {
		c := tiny(3)
		put(c, "notes", "a", claiming(c, tt.from, tt.modes...))
		if tt.kind != "" {
			c.Pods[0].OwnerKind = tt.kind
		}
		if tt.taint != "" {
			c.Nodes[0].Taints = []cluster.Taint{{Key: tt.taint, Effect: "NoExecute"}}
		}
		w := New(cluster.NewSnapshot(*c))
		left, fits := w.Fits("a")
		o := w.Lose([]string{"a"}, Options{})
		want := Range{tt.stuck, tt.stuck}
		if o.Stuck != want || o.Pending.High > 0 || o.Workloads[0].After != (Range{1 - tt.stuck, 1 - tt.stuck}) || fits && left != tt.stuck {
			t.Errorf("%s: stuck %v, Fits says %d (%t), %+v", what, o.Stuck, left, fits, o.Workloads)
		}
		var attached []Attachment
		if tt.stuck > 0 && tt.kind != "StatefulSet" {
			attached = []Attachment{{"pv-0", "a"}}
		}
		if got := o.Workloads[0].Attached; !slices.Equal(got, attached) {
			t.Errorf("%s: attached %v, want %v", what, got, attached)
		}
	}
}

// The account that cannot read drivers learns that, and nothing wrong.
func TestAnUnreadableDriverIsNamed(t *testing.T) {
	c := tiny(2)
	put(c, "notes", "a", claiming(c, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, corev1.ReadWriteOnce))
	c.Access = map[cluster.Kind]cluster.Access{cluster.KindCSIDriver: {Forbidden: true}}
	if o := lose(c, "a"); o.Stuck.High > 0 || !slices.Equal(o.Unknown, []string{"the account can't read volume drivers, so lightsout cannot tell which volumes stay attached to a lost node"}) {
		t.Errorf("%+v", o)
	}
}

// A pod that found no node before waits for its volume as well, once it gets one.
func TestAWaitingPodWaitsForItsVolumeToo(t *testing.T) {
	c := tiny(3)
	spec := claiming(c, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, corev1.ReadWriteOnce)
	put(c, "notes", "a", spec)
	put(c, "notes", "", spec)
	c.Nodes[0].Ready, c.Pods[0].Deleting = cluster.TriUnknown, t0
	if o := lose(c, "b"); o.Stuck != (Range{1, 1}) || o.Pending.High > 0 || !slices.Equal(o.Workloads[0].Attached, []Attachment{{"pv-0", "a"}}) {
		t.Errorf("%+v", o)
	}
}

// A budget does not count a pod that waits for its volume.
func TestABudgetDoesNotCountAPodThatWaitsForItsVolume(t *testing.T) {
	c := tiny(2)
	put(c, "notes", "a", claiming(c, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}, corev1.ReadWriteOnce))
	guard(c, "notes", 1, 1)
	if o := lose(c, "a"); len(o.Budgets) != 1 || o.Budgets[0].Healthy != (Range{0, 0}) {
		t.Errorf("%+v", o.Budgets)
	}
}
