package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watching is a Watcher that runs against a server, with all its transitions.
type watching struct {
	*Watcher
	t  *testing.T
	mu sync.Mutex
	ts []Transition
}

func watchFake(t *testing.T, f *fakeAPI, namespaces ...string) *watching {
	cfg, err := LoadConfig(Options{Path: f.kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	return watchConfig(t, cfg, namespaces...)
}

func watchConfig(t *testing.T, cfg *Config, namespaces ...string) *watching {
	wt := &watching{t: t}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	wt.Watcher = NewWatcher(c, WatchOptions{Namespaces: namespaces, Past: time.Hour, Sink: func(tr Transition) {
		wt.mu.Lock()
		defer wt.mu.Unlock()
		wt.ts = append(wt.ts, tr)
	}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wt.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return wt
}

// until waits for a Snapshot that what holds for.
func (w *watching) until(what string, ok func(*Snapshot) bool) *Snapshot {
	w.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for time.Now().Before(deadline) {
		if s := w.Snapshot(); ok(s) {
			return s
		}
		select {
		case <-w.Changed():
		case <-time.After(20 * time.Millisecond):
		}
	}
	s := w.Snapshot()
	w.t.Fatalf("never seen: %s (link %+v, access %+v, %d nodes, %d pods, transitions %v)",
		what, s.Link, s.Access, len(s.Nodes()), s.PodCount(), w.told())
	return nil
}

// told gives the transitions so far as "subject what: from → to".
func (w *watching) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, t := range w.ts {
		out = append(out, fmt.Sprintf("%s %s: %s → %s", t.Subject, t.Change, t.From, t.To))
	}
	return out
}

func (w *watching) untilTold(want string) Transition {
	w.t.Helper()
	w.until("transition "+want, func(*Snapshot) bool { return slices.Contains(w.told(), want) })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.ts {
		if fmt.Sprintf("%s %s: %s → %s", t.Subject, t.Change, t.From, t.To) == want {
			return t
		}
	}
	return Transition{}
}

func synced(s *Snapshot) bool {
	for _, k := range Kinds {
		if a := s.Access[k]; !a.Synced && !a.Forbidden {
			return false
		}
	}
	return s.Link.State == LinkLive
}

func apiNode(name string, ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.NodeInfo.BootID = "boot-1"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "KubeletReady", LastTransitionTime: metav1.Now()}}
	for _, f := range change {
		f(n)
	}
	return n
}

func apiPod(name, node string, ready corev1.ConditionStatus) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"pod-template-hash": "abc"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-abc", Controller: &yes}}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}, {Name: queueProxy,
			Env: []corev1.EnvVar{{Name: "CONTAINER_CONCURRENCY", Value: "1"}}}}},
		Status: corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{running(true), running(true)},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func apiDeployment(available int32) *appsv1.Deployment {
	n := int32(16)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: map[string]string{knativeService: "web", knativeRevision: "web-00001"},
			Annotations: map[string]string{"autoscaling.knative.dev/minScale": "16", "autoscaling.knative.dev/max-scale": "16"}},
		Spec: appsv1.DeploymentSpec{Replicas: &n, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: queueProxy, Env: []corev1.EnvVar{
				{Name: "CONTAINER_CONCURRENCY", Value: "1"}, {Name: "REVISION_TIMEOUT_SECONDS", Value: "1800"}}}}},
		}},
		Status: appsv1.DeploymentStatus{Replicas: 16, UpdatedReplicas: 16, ReadyReplicas: available, AvailableReplicas: available},
	}
}

func apiLease(node string, seconds int32) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: "kube-node-lease"},
		Spec: coordinationv1.LeaseSpec{RenewTime: &now, LeaseDurationSeconds: &seconds}}
}

func apiSlice(ready int) *discoveryv1.EndpointSlice {
	es := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", Labels: map[string]string{"kubernetes.io/service-name": "web"}}, AddressType: "IPv4"}
	for i := range 16 {
		yes, node := i < ready, fmt.Sprintf("kube-node%d", i/4+1)
		es.Endpoints = append(es.Endpoints, discoveryv1.Endpoint{NodeName: &node, Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}, Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes}})
	}
	return es
}

func fill16(f *fakeAPI) {
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("kube-node%d", i)
		f.put("nodes", apiNode(name, "True"))
		f.put("leases", apiLease(name, 40))
		for k := range 4 {
			f.put("pods", apiPod(fmt.Sprintf("web-%d%d", i, k), name, "True"))
		}
	}
	f.put("deployments", apiDeployment(16))
	f.put("endpointslices", apiSlice(16))
}
