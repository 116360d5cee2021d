package machine

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

func TestEnvironmentIsResolved(t *testing.T) {
	k := &kubelet{
		m: New(Config{Name: "node1", IP: "10.0.0.11"}),
		client: fake.NewClientset(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "keys"},
			Data:       map[string][]byte{"one": []byte("sk-1")},
		}),
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	key := func(secret, key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
		}}
	}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	got, err := k.environment(t.Context(), pod, &corev1.Container{Env: []corev1.EnvVar{
		{Name: "PLAIN", Value: "x"},
		{Name: "KEY", ValueFrom: key("keys", "one")},
		{Name: "POD", ValueFrom: field("metadata.name")},
		{Name: "IP", ValueFrom: field("status.podIP")},
	}}, "10.244.1.2")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"PLAIN": "x", "KEY": "sk-1", "POD": "p", "IP": "10.244.1.2"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, from := range []*corev1.EnvVarSource{key("keys", "two"), key("none", "one"), field("spec.unknown"), {}} {
		_, err := k.environment(t.Context(), pod, &corev1.Container{Name: "c", Env: []corev1.EnvVar{{Name: "BAD", ValueFrom: from}}}, "")
		if err == nil || !strings.Contains(err.Error(), "BAD") || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%+v gave %v", from, err)
		}
	}
}

func TestReadinessFollowsTheProbe(t *testing.T) {
	n := network.New()
	host := n.AddHost("node1", "10.0.0.11")
	host.AddIP("10.244.1.2")
	var healthy atomic.Bool
	var asked atomic.Int32
	server, err := workload.Serve(t.Context(), host, "10.244.1.2:8012", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("K-Network-Probe") != "queue" || !strings.HasPrefix(r.UserAgent(), "kube-probe/") || !healthy.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer server.Stop(ctx)
	defer cancel()
	w := &worker{k: &kubelet{m: New(Config{Host: host, Timing: swift})}, rt: runtime{ip: "10.244.1.2", containers: []container{{spec: &corev1.Container{
		Ports: []corev1.ContainerPort{{Name: "queue-port", ContainerPort: 8012}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Port:        intstr.FromString("queue-port"),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "K-Network-Probe", Value: "queue"}},
		}}},
	}}}}}
	p := w.prober(0)
	p.first = time.Millisecond
	changes := make(chan probed)
	done := make(chan struct{})
	go func() { defer close(done); p.run(ctx, changes) }()
	eventually(t, "it is asked again while not ready", func() bool { return asked.Load() > 3 })
	healthy.Store(true)
	if c := <-changes; !c.ready {
		t.Errorf("first change %+v", c)
	}
	before := asked.Load()
	healthy.Store(false)
	if c := <-changes; c.ready {
		t.Errorf("second change %+v", c)
	}
	if failures := asked.Load() - before; failures < 2 {
		t.Errorf("not ready after %d failures", failures)
	}
	cancel()
	<-done
}
