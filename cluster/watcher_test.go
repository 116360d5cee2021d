package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWatcherShowsWhatTheServerHas(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"new server", "old server"} {
		t.Run(mode, func(t *testing.T) {
			f := newFakeAPI(t)
			if mode == "old server" {
				f.gitVer = "v1.29.1"
			}
			fill16(f)
			w := watchFake(t, f)
			s := w.until("everything", synced)
			if len(s.Nodes()) != 4 || len(s.Pods()) != 16 || len(s.PodsOn("kube-node3")) != 4 {
				t.Errorf("%d nodes, %d pods, %d on kube-node3", len(s.Nodes()), len(s.Pods()), len(s.PodsOn("kube-node3")))
			}
			k := Key{"default", "web"}
			d := s.Deployment(k)
			want := Knative{Service: "web", Revision: "web-00001", MinScale: 16, MaxScale: 16, ContainerConcurrency: 1, TimeoutSeconds: 1800}
			if d == nil || d.Word != "Running" || !reflect.DeepEqual(d.Knative, &want) {
				t.Fatalf("deployment %+v", d)
			}
			if now, target, _ := s.Capacity(k); len(s.PodsOf(k)) != 16 || now != 16 || target != 16 {
				t.Errorf("%d pods of the deployment, capacity %d of %d", len(s.PodsOf(k)), now, target)
			}
			if e := s.Endpoints(); len(e) != 1 || e[0].Ready != 16 {
				t.Errorf("endpoints %+v", e)
			}
			if n := s.Node("kube-node3").ReadyEndpoints; n != 4 {
				t.Errorf("%d ready endpoints on a node", n)
			}
			if s.Node("kube-node1").RenewSeen.IsZero() || s.ServerVersion != f.gitVer {
				t.Errorf("lease of %+v; server %q", s.Node("kube-node1"), s.ServerVersion)
			}
			if got := w.told(); len(got) != 0 {
				t.Errorf("the first listing makes transitions: %q", got)
			}
			if got := fmt.Sprint(s.Settings.GracePeriod.Value); (mode == "old server") != (got == "40s") {
				t.Errorf("grace period %s for %s", got, f.gitVer)
			}
		})
	}
}

func TestWatcherReportsTheWholeOutageInOrder(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	w := watchFake(t, f)
	w.until("everything", synced)

	f.put("nodes", apiNode("kube-node4", "Unknown", func(n *corev1.Node) {
		n.Status.Conditions[0].Reason, n.Status.Conditions[0].Message = "NodeStatusUnknown", "Kubelet stopped\x1b[2J posting node status."
		at := metav1.NewTime(time.Now().Truncate(time.Second))
		n.Spec.Taints = []corev1.Taint{{Key: TaintUnreachable, Effect: "NoExecute", TimeAdded: &at}}
	}))
	status := w.untilTold("node kube-node4 status: Ready → NotReady (silent)")
	if status.Why != "NodeStatusUnknown: Kubelet stopped posting node status." || status.SourceTime.IsZero() || status.When.By.IsZero() {
		t.Errorf("status transition %+v", status)
	}
	if taint := w.untilTold("node kube-node4 taint:  → node.kubernetes.io/unreachable:NoExecute"); taint.SourceTime.IsZero() {
		t.Errorf("the taint's own time is missing: %+v", taint)
	}
	f.put("pods", apiPod("web-40", "kube-node4", "False"))
	if ready := w.untilTold("pod default/web-40 ready: Ready → NotReady"); ready.Why != "node kube-node4 is NotReady (silent)" {
		t.Errorf("why %q", ready.Why)
	}
	f.put("deployments", apiDeployment(8))
	w.untilTold("deployment default/web replicas: 16/16 → 8/16")
	w.untilTold("deployment default/web status: Running → Partly")
	f.put("endpointslices", apiSlice(8))
	f.put("endpointslices", apiSlice(7)) // the last node's first
	w.untilTold("node kube-node3 endpoints: 4 → 0")
	w.untilTold("node kube-node4 endpoints: 4 → 0")
	w.untilTold("endpointslice default/web endpoints: 16 → 8")
	s := w.until("lost", func(s *Snapshot) bool {
		p := s.Pod(Key{"default", "web-40"})
		return s.PodWord(p, time.Now()) == "lost (was Running)"
	})
	if _, ok := s.Node("kube-node4").EvictionTaint(); !ok {
		t.Error("the taint by which its pods are evicted is not seen")
	}

	deleted := apiPod("web-40", "kube-node4", "False")
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	f.put("pods", deleted)
	w.untilTold("pod default/web-40 status: Running → Terminating")
	f.put("nodes", apiNode("kube-node4", "True", func(n *corev1.Node) { n.Status.NodeInfo.BootID = "boot-2"; n.Spec.Unschedulable = true }))
	w.untilTold("node kube-node4 boot: up → rebooted")
	w.untilTold("node kube-node4 status: NotReady (silent) → Ready")
	w.untilTold("node kube-node4 cordon: schedulable → SchedulingDisabled")
	w.untilTold("node kube-node4 taint: node.kubernetes.io/unreachable:NoExecute → ")
	f.remove("pods", "default", "web-40")
	w.untilTold("pod default/web-40 status: Terminating → ")
	w.until("expiry", func(s *Snapshot) bool {
		p := s.Pod(Key{"default", "web-40"})
		if p == nil {
			t.Fatal("a deleted pod is gone from the screen at once")
		}
		return !p.Gone.IsZero()
	})
	f.put("pods", apiPod("web-new", "", "False"))
	w.untilTold("pod default/web-new status:  → Running")
	f.put("events", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e1", Namespace: "default"}, Reason: "Rebooted",
		Message: "Node kube-node4 has been rebooted", InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "kube-node4"}, LastTimestamp: now})
	f.put("events", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e2", Namespace: "default"}, Reason: "Pulled",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "default"}})
	w.untilTold("node kube-node4 event:  → Rebooted")
	if slices.ContainsFunc(w.told(), func(s string) bool { return strings.Contains(s, "Pulled") }) {
		t.Error("an event that says nothing of an outage is told")
	}
}

func TestWatcherNoticesAMissingHeartbeatAndItsReturn(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.put("nodes", apiNode("a", "True"))
	f.put("leases", apiLease("a", 1))
	w := watchFake(t, f)
	w.until("everything", synced)
	f.put("leases", apiLease("a", 1)) // the first one may be overdue by now
	w.untilTold("node a heartbeat: on time → overdue")
	s := w.until("silent", func(s *Snapshot) bool { return s.Node("a").Overdue })
	if word := s.NodeWord(s.Node("a"), s.At); !strings.HasPrefix(word, "Ready (silent") {
		t.Errorf("word %q", word)
	}
	w.until("on time again", func(s *Snapshot) bool {
		f.put("leases", apiLease("a", 1))
		return !s.Node("a").Overdue
	})
	w.untilTold("node a heartbeat: overdue → on time")
}

func TestWatcherTakesUpDroppedWatchesWithoutListingAgain(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	w := watchFake(t, f)
	w.until("everything", synced)
	f.change(func() { f.drops++ })
	f.put("deployments", apiDeployment(8))
	w.untilTold("deployment default/web replicas: 16/16 → 8/16")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists["deployments"] != 1 {
		t.Errorf("deployments were listed %d times", f.lists["deployments"])
	}
}

func TestWatcherListsAgainWhenHistoryIsGoneAndReportsTheDifference(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	w := watchFake(t, f)
	w.until("everything", synced)
	f.change(func() {
		delete(f.objects["pods"], "default/web-41")
		f.objects["nodes"]["/kube-node2"].(*corev1.Node).Status.Conditions[0].Status = "False"
	})
	f.forget()
	w.untilTold("pod default/web-41 status: Running → ")
	w.untilTold("node kube-node2 status: Ready → NotReady")
	if n := len(w.told()); n != 2 {
		t.Errorf("told %q", w.told())
	}
}

func TestWatcherDegradesOneResourceAtATime(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	f.forbidden["leases"], f.forbidden["components"] = true, true
	w := watchFake(t, f)
	s := w.until("everything else", synced)
	if a := s.Access[KindLease]; !a.Forbidden || a.Synced || a.Err != "forbidden: the user may not list and watch leases in namespace kube-node-lease" {
		t.Errorf("leases: %+v", a)
	}
	if a := s.Access[KindPod]; a.Forbidden || !a.Synced || a.Err != "" {
		t.Errorf("pods: %+v", a)
	}
	if len(s.PodsOf(Key{"default", "web"})) != 16 {
		t.Error("the pods are not found by their hash")
	}
	if word := s.NodeWord(s.Node("kube-node1"), time.Now()); word != "Ready" {
		t.Errorf("without leases: %q", word)
	}
}

func TestWatcherWatchesOnlyTheChosenNamespaces(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	other := apiPod("secret", "kube-node1", "True")
	other.Namespace = "elsewhere"
	f.put("pods", other)
	f.put("components", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kcm", Namespace: "kube-system"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: controllerManager, Command: []string{controllerManager, "--node-monitor-grace-period=16s"}}}}})
	w := watchFake(t, f, "default", "empty")
	s := w.until("everything and the settings", func(s *Snapshot) bool {
		return synced(s) && s.Settings.GracePeriod.Source == controllerManager
	})
	if len(s.Pods()) != 16 || s.Settings.GracePeriod.Value != 16*time.Second {
		t.Errorf("%d pods, grace %+v", len(s.Pods()), s.Settings.GracePeriod)
	}
}

func TestALostServerLeavesEverythingShownAndComesBack(t *testing.T) {
	t.Parallel()
	for how, steps := range map[string]struct {
		lose, restore func(*fakeAPI)
		want          string
	}{
		"paused": {
			func(f *fakeAPI) { f.change(func() { f.frozen = true }) },
			func(f *fakeAPI) { f.change(func() { f.frozen = false }) },
			"does not answer",
		},
		"without its database": {
			func(f *fakeAPI) { f.change(func() { f.unready = true }) },
			func(f *fakeAPI) { f.change(func() { f.unready = false }) },
			"answers but is not ready (failing: etcd)",
		},
		"credentials withdrawn": {
			func(f *fakeAPI) { f.change(func() { f.denyAll = true; f.drops++ }) },
			func(f *fakeAPI) { f.change(func() { f.denyAll = false }) },
			"refuses the credentials (401)",
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			fill16(f)
			w := watchFake(t, f)
			w.until("everything", synced)
			steps.lose(f)
			s := w.until("lost", func(s *Snapshot) bool { return s.Link.State == LinkDisconnected })
			if !strings.Contains(s.Link.Err, steps.want) || s.Link.NextTry.IsZero() || s.Link.LastContact.IsZero() {
				t.Errorf("link %+v", s.Link)
			}
			if len(s.Nodes()) != 4 || len(s.Pods()) != 16 {
				t.Errorf("%d nodes and %d pods are left on the screen", len(s.Nodes()), len(s.Pods()))
			}
			for _, n := range s.Nodes() {
				if word := s.NodeWord(n, time.Now().Add(time.Minute)); word != "Ready" {
					t.Errorf("%s is %q, though it is only the server that is away", n.Name, word)
				}
			}
			steps.restore(f)
			w.until("live again", func(s *Snapshot) bool { return s.Link.State == LinkLive && s.Link.Err == "" })
			f.put("deployments", apiDeployment(8))
			w.untilTold("deployment default/web replicas: 16/16 → 8/16")
			if len(w.told()) != 2 {
				t.Errorf("told %q", w.told())
			}
		})
	}
}

func TestWatcherReportsAKilledServerAtOnce(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	w := watchFake(t, f)
	w.until("everything", synced)
	f.change(func() { f.drops++ })
	f.Server.Listener.Close()
	f.Server.CloseClientConnections()
	// The first of its watches may report its own end before the server refuses a new
	// connection.
	s := w.until("lost", func(s *Snapshot) bool {
		return s.Link.State == LinkDisconnected && strings.Contains(s.Link.Err, "refuses connections")
	})
	if len(s.Pods()) != 16 {
		t.Errorf("link %+v, %d pods", s.Link, len(s.Pods()))
	}
}

func TestLinkErrorsAreOneSentence(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, tc := range map[string]struct{ path, want string }{
		"unknown host": {writeKubeconfig(t, "https://no-such-host.invalid:6443", ""), "host name no-such-host.invalid cannot be found"},
		"refused":      {writeKubeconfig(t, "https://127.0.0.1:1", ""), "127.0.0.1:1 refuses connections"},
		"no proxy":     {writeKubeconfig(t, f.URL, "proxy-url: socks5://127.0.0.1:1"), "the proxy socks5://127.0.0.1:1 can't be reached (connection refused); start it"},
		"no way on":    {writeKubeconfig(t, f.URL, "proxy-url: http://ops:secret-token@"+strings.TrimPrefix(plain.URL, "http://")), "cannot be reached through the proxy http://127.0.0.1:"},
		"other CA":     {writeKubeconfig(t, f.URL, ""), "signed by unknown authority); check the server address, certificate-authority"},
		"not TLS":      {writeKubeconfig(t, strings.Replace(plain.URL, "http:", "https:", 1), ""), "does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := LoadConfig(Options{Path: tc.path})
			if err != nil {
				t.Fatal(err)
			}
			w := watchConfig(t, cfg)
			s := w.until(tc.want, func(s *Snapshot) bool { return strings.Contains(s.Link.Err, tc.want) })
			if s.Link.State != LinkDisconnected || strings.Contains(s.Link.Err, "secret-token") {
				t.Errorf("link %+v", s.Link)
			}
		})
	}
}

func TestPodProxyGetAndRolloutRestart(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	fill16(f)
	d := apiDeployment(16)
	var mu sync.Mutex
	var got []string
	f.other = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configz") {
			return
		}
		body := make([]byte, 200)
		n, _ := r.Body.Read(body)
		mu.Lock()
		got = append(got, r.Method+" "+r.URL.Path+" "+r.URL.RawQuery+" "+string(body[:n]))
		mu.Unlock()
		switch {
		case strings.Contains(r.URL.Path, "/deployments/"):
			w.Header().Set("Content-Type", "application/json")
			w.Write(encode(t, d))
		case strings.Contains(r.URL.Path, "gone"):
			f.fail(w, 404, metav1.StatusReasonNotFound, "not found")
		case strings.Contains(r.URL.Path, "slow"):
			<-r.Context().Done()
		default:
			fmt.Fprint(w, "stat")
		}
	}
	w := watchFake(t, f)
	w.until("everything", synced)
	body, err := w.client.PodProxyGet(t.Context(), "default", "web-11", 9090, "/metrics?a=b")
	if err != nil || string(body) != "stat" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := w.client.PodProxyGet(t.Context(), "default", "gone", 9090, "/metrics"); err == nil || !strings.Contains(err.Error(), "no such pod") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.client.PodProxyGet(ctx, "default", "slow", 9090, "/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if err := w.client.RolloutRestart(t.Context(), Key{"default", "web"}); err != nil {
		t.Error(err)
	}
	mu.Lock()
	patch := got[len(got)-1]
	if !strings.HasPrefix(patch, "PATCH /apis/apps/v1/namespaces/default/deployments/web") || !strings.Contains(patch, `"kubectl.kubernetes.io/restartedAt":"20`) {
		t.Errorf("sent %q", patch)
	}
	mu.Unlock()
	d.Spec.Paused = true
	if err := w.client.RolloutRestart(t.Context(), Key{"default", "web"}); err == nil || !strings.Contains(err.Error(), "is paused") {
		t.Errorf("a paused deployment: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got[0] != "GET /api/v1/namespaces/default/pods/web-11:9090/proxy/metrics a=b " {
		t.Errorf("asked %q", got[0])
	}
}
