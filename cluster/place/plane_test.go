package place_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"lightsout/cluster"
	"lightsout/internal/labtest"
)

// plane is a real control plane whose nodes are only objects. Its own controllers, and
// nobody else, taint nodes, and create, place and evict pods.
type plane struct {
	t       testing.TB
	api     *kubernetes.Clientset
	watcher *cluster.Watcher

	kubeconfig string
	mu         sync.Mutex
	pods       map[types.UID]*corev1.Pod
	last       time.Time       // when a pod last changed
	lost       map[string]bool // lost nodes
}

const settings = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 1
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %s, qps: 400, burst: 800}
`

func startPlane(t testing.TB) *plane {
	dir, err := os.MkdirTemp("", "rig") // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	port := freePort(t)
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:%d","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"secret"}}]}`, port)
	for name, text := range map[string]string{
		"sa.key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"tokens": "secret,admin,admin,system:masters\n", "kubeconfig": kubeconfig, "scheduler.yaml": fmt.Sprintf(settings, in("kubeconfig")),
	} {
		must(t, os.WriteFile(in(name), []byte(text), 0o600))
	}
	start := func(args string) { startComponent(t, dir, strings.Fields(args)) }
	start("etcd --data-dir=etcd --listen-client-urls=unix://etcd.sock:0 --advertise-client-urls=unix://etcd.sock:0 --listen-peer-urls=unix://peer.sock:0 " +
		"--initial-advertise-peer-urls=unix://peer.sock:0 --initial-cluster=default=unix://peer.sock:0 --unsafe-no-fsync --log-level=error")
	start(fmt.Sprintf("kube-apiserver --etcd-servers=unix://%s --secure-port=%d --bind-address=127.0.0.1 --cert-dir=%s --token-auth-file=%s --authorization-mode=AlwaysAllow "+
		"--service-account-issuer=https://rig --service-account-key-file=%s --service-account-signing-key-file=%s --disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection "+
		"--service-cluster-ip-range=10.9.0.0/24 --default-unreachable-toleration-seconds=1 --default-not-ready-toleration-seconds=1 --endpoint-reconciler-type=none",
		in("etcd.sock:0"), port, in("certs"), in("tokens"), in("sa.key"), in("sa.key")))
	config := &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	p := &plane{t: t, pods: map[types.UID]*corev1.Pod{}, lost: map[string]bool{}}
	p.api, err = kubernetes.NewForConfig(config)
	must(t, err)
	p.until("the API server answers", func() bool {
		_, err := p.api.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	start("kube-controller-manager --leader-elect=false --secure-port=0 --kube-api-qps=400 --kube-api-burst=800 --unhealthy-zone-threshold=1 --node-eviction-rate=0.5 " +
		"--node-monitor-period=300ms --node-monitor-grace-period=3600s --node-startup-grace-period=3600s --pvclaimbinder-sync-period=1s --resource-quota-sync-period=5s --kubeconfig=" + in("kubeconfig") + " --controllers=" +
		"replicaset-controller,job-controller,statefulset-controller,node-lifecycle-controller,taint-eviction-controller,resourcequota-controller," +
		"persistentvolume-binder-controller,ephemeral-volume-controller,disruption-controller,deployment-controller")
	start("kube-scheduler --secure-port=0 --config=" + in("scheduler.yaml"))
	p.follow(in("kubeconfig"))
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startComponent runs one of the control plane's programs until the test ends.
func startComponent(t testing.TB, dir string, args []string) {
	cmd := exec.Command(labtest.Program(t, "lightsout-lab"), args...)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(dir, args[0]+".log"))
	must(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s: %.2000s", args[0], text)
		}
	})
}

// follow watches the pods as their kubelets would, and all objects as lightsout does.
func (p *plane) follow(kubeconfig string) {
	p.kubeconfig = kubeconfig
	p.watcher = p.watch(p.t)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	see := func(pod *corev1.Pod, gone bool) {
		p.mu.Lock()
		p.last = time.Now()
		if p.pods[pod.UID] = pod; gone {
			delete(p.pods, pod.UID)
		}
		p.mu.Unlock()
		wg.Go(func() { p.kubelet(ctx, pod, gone) }) // the API server ends the watch of a client that takes its events too slowly
	}
	wg.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			list, err := p.api.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			w, err := p.api.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
			if err != nil {
				continue
			}
			known := map[types.UID]bool{}
			for i := range list.Items {
				known[list.Items[i].UID] = true
				see(&list.Items[i], false)
			}
			p.mu.Lock()
			maps.DeleteFunc(p.pods, func(id types.UID, _ *corev1.Pod) bool { return !known[id] })
			p.mu.Unlock()
			for ev := range w.ResultChan() {
				if pod, ok := ev.Object.(*corev1.Pod); ok {
					see(pod, ev.Type == watch.Deleted)
				}
			}
		}
	})
	p.t.Cleanup(func() { cancel(); wg.Wait() })
}

// watch watches some namespaces, or all, as lightsout does.
func (p *plane) watch(t testing.TB, namespaces ...string) *cluster.Watcher {
	config, err := cluster.LoadConfig(cluster.Options{Path: p.kubeconfig})
	must(t, err)
	client, err := cluster.NewClient(config)
	must(t, err)
	w := cluster.NewWatcher(client, cluster.WatchOptions{Namespaces: namespaces})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

// kubelet acts as the kubelet of a pod's node.
func (p *plane) kubelet(ctx context.Context, pod *corev1.Pod, gone bool) {
	p.mu.Lock()
	alive := pod.Spec.NodeName != "" && !p.lost[pod.Spec.NodeName]
	p.mu.Unlock()
	switch {
	case gone || !alive:
	case pod.DeletionTimestamp != nil:
		_ = p.api.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
	case pod.Status.Phase == corev1.PodPending:
		_, _ = p.api.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType,
			[]byte(`{"status":{"phase":"Running","startTime":"`+time.Now().UTC().Format(time.RFC3339)+`","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	}
}

var now = metav1.DeleteOptions{GracePeriodSeconds: new(int64)}

// until waits for a condition. On a busy machine each may take minutes.
func (p *plane) until(what string, ok func() bool) {
	p.t.Helper()
	const most = 10 * time.Minute
	for end := time.Now().Add(most); !ok(); {
		if time.Now().After(end) {
			p.t.Fatalf("not within %v: %s", most, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// mine returns the pods of a world that are not being deleted.
func (p *plane) mine(prefix string) (out []*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pod := range p.pods {
		if strings.HasPrefix(pod.Namespace, prefix) && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
			out = append(out, pod)
		}
	}
	return out
}

// settled reports whether every pod has a node or is unschedulable, and nothing has
// changed for a while.
func (p *plane) settled(prefix string, quiet time.Duration) bool {
	for _, pod := range p.mine(prefix) {
		if pod.Spec.NodeName == "" && !refused(pod) || pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending {
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last) > quiet
}

func refused(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return true
		}
	}
	return false
}
