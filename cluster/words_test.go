package cluster

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lightsout/internal/text"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func node(name string, change ...func(*Node)) *Node {
	n := &Node{
		Name: name, UID: name, Ready: TriTrue, RenewSeen: t0.Add(-5 * time.Second), Renewed: t0.Add(-5 * time.Second),
		LeaseDuration: 40 * time.Second, CPUMilli: 128000, MaxPods: 110,
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func silentFor(d time.Duration) func(*Node) {
	return func(n *Node) { n.RenewSeen = t0.Add(-d) }
}

func lostFor(d time.Duration) func(*Node) {
	return func(n *Node) {
		n.RenewSeen, n.Ready, n.Reason = t0.Add(-d), TriUnknown, "NodeStatusUnknown"
	}
}

func TestTheStatusOfANodeDistinguishesSilenceFromShuttingDown(t *testing.T) {
	tests := []struct {
		name string
		n    *Node
		want string
	}{
		{"healthy", node("a"), "Ready"},
		{"one renewal late", node("a", silentFor(23*time.Second)), "Ready (silent 23s)"},
		{"marked", node("a", lostFor(52*time.Second)), "NotReady (silent 52s)"},
		{"for long", node("a", lostFor(3*time.Minute+2*time.Second)), "NotReady (silent 3m02s)"},
		{"unknown and no leases to read", node("a", func(n *Node) {
			n.Ready, n.RenewSeen, n.LeaseDuration, n.ReadySince = TriUnknown, time.Time{}, 0, t0.Add(-7*time.Second)
		}), "NotReady (silent 7s)"},
		{"says that it shuts down", node("a", func(n *Node) { n.Ready, n.Reason, n.Message = TriFalse, "KubeletNotReady", "node is shutting down" }),
			"NotReady (shutting down)"},
		{"not ready for another reason", node("a", func(n *Node) { n.Ready, n.Message = TriFalse, "CNI not ready" }), "NotReady"},
		{"cordoned", node("a", func(n *Node) { n.Unschedulable = true }), "Ready,SchedulingDisabled"},
		{"cordoned and silent", node("a", lostFor(52*time.Second), func(n *Node) { n.Unschedulable = true }), "NotReady (silent 52s),SchedulingDisabled"},
		{"never reported", node("a", func(n *Node) { n.Ready = TriNone }), "Unknown"},
		{"deleted", node("a", func(n *Node) { n.Gone = t0 }), "gone"},
	}
	for _, tc := range tests {
		s := NewSnapshot(Contents{At: t0, Nodes: []*Node{tc.n}})
		if got := s.NodeWord(tc.n, t0); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestSilenceIsNotConcludedWhileNothingCanBeHeard(t *testing.T) {
	n := node("a", silentFor(time.Minute))
	for name, c := range map[string]Contents{
		"the server is away":              {Link: Link{State: LinkDisconnected, LastContact: t0.Add(-55 * time.Second)}},
		"the watch of leases is broken":   {HeartbeatsUntil: t0.Add(-50 * time.Second)},
		"the watch was taken up just now": {HeartbeatsSince: t0.Add(-3 * time.Second)},
	} {
		c.Nodes = []*Node{n}
		if got := NewSnapshot(c).NodeWord(n, t0); got != "Ready" {
			t.Errorf("%s: %q, want Ready", name, got)
		}
	}
	known := *n
	known.Overdue = true
	s := NewSnapshot(Contents{Link: Link{State: LinkDisconnected, LastContact: t0.Add(-40 * time.Second)}, Nodes: []*Node{&known}})
	if got := s.NodeWord(&known, t0); got != "Ready (silent 1m00s)" {
		t.Errorf("silence that was concluded before is forgotten: %q", got)
	}
}

// A pod of a node whose object was deleted stays lost after the node has left the screen.
func TestAPodOfADeletedNodeStaysLost(t *testing.T) {
	p := &Pod{Key: Key{"default", "p"}, Node: "deleted", Phase: "Running", Status: "Running"}
	for _, read := range []bool{false, true} {
		s := NewSnapshot(Contents{At: t0, Pods: []*Pod{p}, Access: map[Kind]Access{KindNode: {Synced: read}}})
		if lost := s.PodWord(p, t0) == "lost (was Running)"; lost != read {
			t.Errorf("nodes read: %v, the pod is %q", read, s.PodWord(p, t0))
		}
	}
}

func TestPodWordSaysLostOnADeadNode(t *testing.T) {
	on := func(nodeName string, change ...func(*Pod)) *Pod {
		p := &Pod{Key: Key{"default", "p"}, Node: nodeName, Phase: "Running", Status: "Running"}
		for _, f := range change {
			f(p)
		}
		return p
	}
	tests := []struct {
		name string
		p    *Pod
		want string
	}{
		{"healthy node", on("up"), "Running"},
		{"silent but not marked yet", on("late"), "Running"},
		{"dead node", on("dead"), "lost (was Running)"},
		{"being deleted on a dead node", on("dead", func(p *Pod) { p.Status, p.Deleting = "Terminating", t0 }), "Terminating"},
		{"ended on a dead node", on("dead", func(p *Pod) { p.Phase, p.Status = "Succeeded", "Completed" }), "Completed"},
		{"node object deleted", on("gone"), "lost (was Running)"},
		{"bound to none", on("", func(p *Pod) { p.Phase, p.Status = "Pending", "Pending" }), "Pending"},
		{"deleted", on("up", func(p *Pod) { p.Gone = t0 }), "gone"},
	}
	for _, tc := range tests {
		s := NewSnapshot(Contents{Nodes: []*Node{
			node("up"), node("late", silentFor(30*time.Second)), node("dead", lostFor(time.Minute)),
			node("gone", func(n *Node) { n.Gone = t0 }),
		}, Pods: []*Pod{tc.p}})
		if got := s.PodWord(tc.p, t0); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestDeploymentWords(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    Deployment
		want string
	}{
		{"all there", Deployment{Replicas: 16, Total: 16, Updated: 16, Available: 16}, "Running"},
		{"8 of 16 after two nodes died", Deployment{Replicas: 16, Total: 16, Updated: 16, Available: 8}, "Partly"},
		{"growing", Deployment{Replicas: 16, Total: 8, Updated: 8, Available: 8}, "Partly"},
		{"shrinking", Deployment{Replicas: 2, Total: 4, Updated: 4, Available: 4}, "Scaling"},
		{"rollout", Deployment{Replicas: 6, Total: 7, Updated: 2, Available: 6}, "Updating"},
		{"the last pod of a rollout", Deployment{Replicas: 6, Total: 6, Updated: 6, Available: 5, RollingOut: true}, "Updating"},
		{"rollout just asked for", Deployment{Replicas: 6, Total: 6, Updated: 0, Available: 6}, "Updating"},
		{"none available", Deployment{Replicas: 6, Total: 6, Updated: 6}, "Down"},
		{"scaled to none", Deployment{}, "Stopped"},
		{"deadline exceeded", Deployment{Replicas: 6, Total: 6, Updated: 6, Available: 3, ProgressFailed: true}, "Failed"},
		{"deleted", Deployment{Replicas: 6, Available: 6, Gone: t0}, "gone"},
	} {
		if got := deploymentWord(&tc.d); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add(uint8(1), int64(23), "node is shutting down", true, int64(40))
	f.Add(uint8(3), int64(-5), "\x1b[0m", false, int64(-1))
	f.Fuzz(func(t *testing.T, ready uint8, silence int64, message string, cordoned bool, lease int64) {
		n := node("a", func(n *Node) {
			n.Ready, n.Message, n.Unschedulable = Tri(ready%4), harmless(message), cordoned
			n.RenewSeen, n.LeaseDuration = t0.Add(-time.Duration(silence)), time.Duration(lease)
		})
		p := &Pod{Key: Key{"d", "p"}, Node: "a", Phase: "Running", Status: harmless(message)}
		s := NewSnapshot(Contents{At: t0, Nodes: []*Node{n}, Pods: []*Pod{p}})
		word := s.NodeWord(n, t0)
		if pod := s.PodWord(p, t0); word == "" || word != text.Clean(word, 1<<16) || pod != text.Clean(pod, 1<<16) {
			t.Fatalf("node %q, pod %q", word, s.PodWord(p, t0))
		}
		if since, _ := s.Silent(n, t0); since < 0 {
			t.Fatalf("silent for %v", since)
		}
	})
}

func TestADeploymentIsUpdatingUntilItsRolloutIsComplete(t *testing.T) {
	six := int32(6)
	for _, tc := range []struct {
		revision, reason string
		available        int32
		want             string
	}{
		{"2", "ReplicaSetUpdated", 5, "Updating"}, // the last new pod starts, no old one is left
		{"2", "NewReplicaSetAvailable", 6, "Running"},
		{"2", "NewReplicaSetAvailable", 3, "Partly"}, // a node was lost afterwards
		{"1", "ReplicaSetUpdated", 5, "Partly"},      // it is being made
	} {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"deployment.kubernetes.io/revision": tc.revision}},
			Spec:       appsv1.DeploymentSpec{Replicas: &six},
			Status: appsv1.DeploymentStatus{Replicas: 6, UpdatedReplicas: 6, ReadyReplicas: tc.available, AvailableReplicas: tc.available,
				Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: "True", Reason: tc.reason}}},
		}
		if got := trimDeployment(d).Word; got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

func TestANodesStatusHasAShortForm(t *testing.T) {
	for _, c := range []struct {
		s           NodeStatus
		text, short string
	}{
		{NodeStatus{Word: WordReady, Cordoned: true}, "Ready,SchedulingDisabled", "Ready cordoned"},
		{NodeStatus{Word: WordReady, Silent: true, SilentFor: 23 * time.Second}, "Ready (silent 23s)", "silent 23s"},
		{NodeStatus{Word: WordNotReady, Silent: true, SilentFor: 52 * time.Second}, "NotReady (silent 52s)", "NotReady 52s"},
		{NodeStatus{Word: WordNotReady, Silent: true}, "NotReady (silent)", "NotReady"},
		{NodeStatus{Word: WordUnknown, Silent: true}, "Unknown (silent)", "silent"},
		{NodeStatus{Word: WordNotReady, ShuttingDown: true, SilentFor: time.Minute}, "NotReady (shutting down)", "shutting down"},
	} {
		if c.s.String() != c.text || c.s.Short() != c.short {
			t.Errorf("%q, %q; want %q, %q", c.s.String(), c.s.Short(), c.text, c.short)
		}
	}
}
