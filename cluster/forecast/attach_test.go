package forecast

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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
		"! d/notes: its replacement waits in ContainerCreating: volume pv-notes stays attached to a",
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
		"the old pod hangs": {hang, []string{"1 pod of a stays Terminating until it returns", "volume pv-notes stays attached to a: " + advice}},
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

// A quota delays pods for as long as it counts those that hang.
func TestTheForecastSaysUntilWhenAQuotaDelaysPods(t *testing.T) {
	grace := func(d time.Duration) *corev1.PodSpec {
		s := int64(d / time.Second)
		return &corev1.PodSpec{TerminationGracePeriodSeconds: &s}
	}
	const why = " min after the eviction (it counts a pod that hangs for twice its grace period, and is recounted every 5 min by default)"
	for what, tt := range map[string]struct {
		spec *corev1.PodSpec
		hard int64
		want string
	}{
		"the default grace period": {&corev1.PodSpec{}, 1, "! a quota keeps 1 pod from being created until about 1–11" + why},
		"5 minutes":                {grace(5 * time.Minute), 1, "! a quota keeps 1 pod from being created until about 10–22" + why},
		"room":                     {&corev1.PodSpec{}, 2, "the replacement fits on the nodes left"},
		"for good":                 {&corev1.PodSpec{}, 0, "! a quota keeps 1 pod from being created"},
	} {
		s := notes(func(c *cluster.Contents) {
			c.Pods[0].Spec = cluster.NewSpec(tt.spec, "ReplicaSet")
			amount := func(n int64) corev1.ResourceList {
				return corev1.ResourceList{"pods": *resource.NewQuantity(n, resource.DecimalSI)}
			}
			c.Objects = append(c.Objects, &cluster.Object{Kind: cluster.KindQuota, Key: key("d", "q"), Value: &corev1.ResourceQuota{
				Spec: corev1.ResourceQuotaSpec{Hard: amount(tt.hard)}, Status: corev1.ResourceQuotaStatus{Used: amount(1)}}})
		})
		f := Outage(s, []string{"a"}, nil, t0)
		if got := texts(f.FollowLines(f.Hits())); len(got) != 3 || got[2] != tt.want {
			t.Errorf("%s: %q\nwant %q", what, got, tt.want)
		}
		if got := f.Hits().Delayed(key("d", "notes")); (got != "") != strings.Contains(tt.want, "until") || got != "" && tt.want != "! "+got {
			t.Errorf("%s: delayed: %q", what, got)
		}
	}
}
