package forecast

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
)

// notes is a cluster of three nodes with a deployment of one pod on a, whose volume one node at
// a time can attach.
func notes(change func(c *cluster.Contents)) *cluster.Snapshot {
	c := cluster.Contents{At: t0, Nodes: []*cluster.Node{node("a"), node("b"), node("c")}, Deployments: []*cluster.Deployment{{Key: key("d", "notes"), Replicas: 1, Available: 1}}}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Objects = []*cluster.Object{
		{Kind: cluster.KindVolume, Key: key("", "pv-notes"), Value: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{AccessModes: once,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "block"}}}}},
		{Kind: cluster.KindClaim, Key: key("d", "notes"), Value: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-notes", AccessModes: once}}},
	}
	spec := &corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "notes"}}}}}
	c.Pods = []*cluster.Pod{{Key: key("d", "notes-1"), Node: "a", Phase: "Running", Ready: true, OwnerKind: "ReplicaSet", OwnerName: "notes-x", Deployment: "notes",
		UnreachableFor: 300 * time.Second, Spec: cluster.NewSpec(spec, "ReplicaSet")}}
	if change != nil {
		change(&c)
	}
	return cluster.NewSnapshot(c)
}

// The question before the switch-off says that the replacement waits for its volume, and what
// frees it.
func TestTheForecastNamesVolumesThatStayAttached(t *testing.T) {
	const advice = "it detaches when the node returns, 6m00s after somebody deletes the old pod by force, or at once with the taint node.kubernetes.io/out-of-service"
	f := Outage(notes(nil), []string{"a"}, nil, t0)
	h := f.Hits()
	got := texts(f.FollowLines(h))
	if want := []string{"the replacement fits on the nodes left",
		"! d/notes: 1 replacement waits in ContainerCreating: volume pv-notes stays attached to a",
		"! volume of a lost node: " + advice + "; a drain before detaches it"}; !slices.Equal(got[2:], want) {
		t.Errorf("%q\nwant %q", got[2:], want)
	}
	if got, want := h.Delayed(key("d", "notes")), "volume pv-notes stays attached to a: "+advice; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	hang := func(c *cluster.Contents) {
		lostFor(400 * time.Second)(c.Nodes[0])
		tainted(t0.Add(-340 * time.Second))(c.Nodes[0])
		c.Pods[0].Deleting = t0.Add(-time.Minute)
	}
	for what, tt := range map[string]struct {
		change func(c *cluster.Contents)
		want   []string
	}{
		"the old pod hangs": {hang, []string{"a is down: 1 pod stays Terminating", "volume pv-notes stays attached to a: " + advice}},
		"out of service": {func(c *cluster.Contents) {
			hang(c)
			c.Nodes[0].Taints = append(c.Nodes[0].Taints, cluster.Taint{Key: cluster.TaintOutOfService, Effect: "NoExecute"})
		}, nil},
	} {
		if got := new(Next).Lines(notes(tt.change), nil, t0); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q\nwant %q", what, got, tt.want)
		}
	}
	forbidden := Outage(notes(func(c *cluster.Contents) {
		c.Access = map[cluster.Kind]cluster.Access{cluster.KindCSIDriver: {Forbidden: true}, cluster.KindPod: {Synced: true}, cluster.KindDeployment: {Synced: true}}
	}), []string{"a"}, nil, t0)
	if got := strings.Join(texts(forbidden.FollowLines(forbidden.Hits())), "\n"); strings.Contains(got, "pv-notes") || !strings.Contains(got, "this forecast is incomplete: the account can't read volume drivers") {
		t.Errorf("the account can't read drivers: %s", got)
	}
}
