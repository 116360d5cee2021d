package scenario

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/network"
)

func TestMain(m *testing.M) {
	controlplane.Main()
	goleak.VerifyTestMain(m)
}

// writes counts the writes of each machine's kubelet.
type writes struct {
	mu  sync.Mutex
	all map[string][]string // by node
}

func (w *writes) of(node string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.all[node]...)
}

// record notes what goes out below everything else that a client does.
func (w *writes) record(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if r.Method != http.MethodGet && err == nil { // what failed did not arrive
			_, node, _ := strings.Cut(r.UserAgent(), "node/")
			w.mu.Lock()
			w.all[node] = append(w.all[node], r.Method+" "+r.URL.Path)
			w.mu.Unlock()
		}
		return resp, err
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// cluster is a vagrant scenario on a real control plane.
type cluster struct {
	*Cluster
	t      *testing.T
	kube   *kubernetes.Clientset
	writes *writes
	http   *http.Client
	url    string
}

func startVagrant(t *testing.T) *cluster {
	t.Helper()
	s, err := Get("vagrant", Fast)
	if err != nil {
		t.Fatal(err)
	}
	n := network.New()
	laptop := n.AddHost("laptop", "10.0.0.1")
	dir, err := os.MkdirTemp("", "lab") // t.TempDir's paths are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	control, err := controlplane.Start(t.Context(), controlplane.Config{
		Dir: dir, Address: "10.0.0.10", Timings: controlplane.Fast(), Dial: laptop.DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(control.Close)
	w := &writes{all: map[string][]string{}}
	kubelets := rest.CopyConfig(control.RESTConfig(controlplane.Machines))
	kubelets.Wrap(w.record)
	admin := control.RESTConfig(controlplane.Admin)
	c, err := s.Start(t.Context(), Options{
		Network:      n,
		REST:         admin,
		Kubelets:     kubelets,
		ControlPlane: []machine.StaticPod{{Name: "etcd", Image: "etcd", Command: []string{"etcd", "--some-flag=1"}}},
		Boot: func(ctx context.Context, m *machine.Machine) error {
			if !m.ControlPlane() {
				return nil
			}
			l, err := m.Host().Listen("10.0.0.10:6443")
			if err != nil {
				return err
			}
			go func() {
				for {
					in, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						out, err := net.Dial("tcp", control.LocalAddress())
						if err != nil {
							in.Close()
							return
						}
						network.Splice(ctx, in, out)
					}()
				}
			}()
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, step := range []func(context.Context) error{c.Create, c.Settled} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{
		Cluster: c, t: t, kube: kubernetes.NewForConfigOrDie(admin), writes: w, url: s.Load.URL,
		http: &http.Client{
			Transport: &http.Transport{DialContext: laptop.DialContext, DisableKeepAlives: true},
			Timeout:   time.Second,
		},
	}
}

// eventually waits until ok returns an empty string, which otherwise says
// what is missing.
func (c *cluster) eventually(what string, ok func() string) {
	c.t.Helper()
	end := time.Now().Add(3 * time.Minute)
	for {
		missing := ok()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("not reached: %s: %s", what, missing)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// pods returns the web pods, by name.
func (c *cluster) pods() map[string]*corev1.Pod {
	c.t.Helper()
	list, err := c.kube.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]*corev1.Pod{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

// on counts pods of a node that want finds.
func on(pods map[string]*corev1.Pod, node string, want func(*corev1.Pod) bool) (n int) {
	for _, p := range pods {
		if p.Spec.NodeName == node && want(p) {
			n++
		}
	}
	return n
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func runs(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.Status.ContainerStatuses[0].State.Running != nil
}

// ready returns a node's Ready condition, and whether it is tainted.
func (c *cluster) ready(node string) (corev1.NodeCondition, bool) {
	c.t.Helper()
	n, err := c.kube.CoreV1().Nodes().Get(c.t.Context(), node, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, k := range n.Status.Conditions {
		if k.Type == corev1.NodeReady {
			return k, len(n.Spec.Taints) > 0
		}
	}
	return corev1.NodeCondition{}, false
}

func (c *cluster) waitReady(node string, status corev1.ConditionStatus, tainted bool) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("node %s has Ready=%s", node, status), func() string {
		k, t := c.ready(node)
		if k.Status == status && t == tainted {
			return ""
		}
		return fmt.Sprintf("%s, tainted %v", k.Status, t)
	})
}

// answered sends requests until n have been answered in a row.
func (c *cluster) answered(n int) {
	c.t.Helper()
	row := 0
	c.eventually("requests are answered", func() string {
		resp, err := c.http.Get(c.url)
		if err != nil {
			row = 0
			return err.Error()
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if row++; row < n {
			return fmt.Sprintf("%d in a row", row)
		}
		return ""
	})
}

// What a machine does is compared with what Kubernetes makes of it: nothing of
// what is seen here between power off and power on is of the lab's making.
func TestOutagesOnARealControlPlane(t *testing.T) {
	c := startVagrant(t)
	victim := c.Machine("k8s2")
	before := c.pods()
	for _, node := range []string{"k8s2", "k8s3"} {
		if n := on(before, node, podReady); n != 3 {
			t.Fatalf("%d ready pods on %s", n, node)
		}
	}
	c.answered(20)
	c.eventually("the static pod is mirrored", func() string {
		p, err := c.kube.CoreV1().Pods("kube-system").Get(t.Context(), "etcd-k8s1", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if !podReady(p) || p.Spec.Containers[0].Command[1] != "--some-flag=1" {
			return fmt.Sprint(p.Spec.Containers, p.Status)
		}
		return ""
	})
	config, err := c.kube.CoreV1().RESTClient().Get().Resource("nodes").Name("k8s2").SubResource("proxy").Suffix("configz").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(config), `"nodeLeaseDurationSeconds":4,`) {
		t.Errorf("the kubelet's configuration by the API server: %s, %v", config, err)
	}

	c.shortCut(t, victim, before)
}

// shortCut takes the power until the node is NotReady, and no longer.
func (c *cluster) shortCut(t *testing.T, victim *machine.Machine, before map[string]*corev1.Pod) {
	boot := victim.BootID()
	victim.PowerCut()
	c.ready("k8s2") // time for what was answered at that moment to be written down
	wrote := c.writes.of("k8s2")
	c.waitReady("k8s2", corev1.ConditionUnknown, true)
	c.eventually("its pods are not ready", func() string {
		if n := on(c.pods(), "k8s2", podReady); n > 0 {
			return fmt.Sprint(n, " are")
		}
		return ""
	})
	if n := on(c.pods(), "k8s2", runs); n != 3 {
		t.Errorf("%d pods of a dead node are listed as Running: nobody can know better of all 3", n)
	}
	c.answered(20) // kube-proxy has heard of it
	if now := c.writes.of("k8s2"); len(now) > len(wrote) {
		t.Errorf("without power the machine wrote %v", now[len(wrote):])
	}

	if err := victim.PowerOn(); err != nil {
		t.Fatal(err)
	}
	c.waitReady("k8s2", corev1.ConditionTrue, false)
	c.eventually("the same pods are ready again", func() string {
		after := c.pods()
		for name, old := range before {
			p := after[name]
			if p == nil || p.UID != old.UID {
				return name + " is gone"
			}
			if !podReady(p) {
				return name + " is not ready"
			}
			s := p.Status.ContainerStatuses[0]
			if p.Spec.NodeName != "k8s2" {
				if s.RestartCount != 0 {
					t.Fatalf("pod %s on %s was restarted", name, p.Spec.NodeName)
				}
				continue
			}
			end := s.LastTerminationState.Terminated
			if s.RestartCount != 1 || end == nil || end.ExitCode != 255 || end.Reason != "Unknown" || p.Status.PodIP == old.Status.PodIP {
				return fmt.Sprintf("%s: restarts %d, last end %v, address %s after %s", name, s.RestartCount, end, p.Status.PodIP, old.Status.PodIP)
			}
		}
		return ""
	})
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), "k8s2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if id := node.Status.NodeInfo.BootID; id == boot || id != victim.BootID() {
		t.Errorf("boot id %s, before %s, the machine's %s", id, boot, victim.BootID())
	}
	c.eventually("the reboot is told of", func() string {
		list, err := c.kube.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Rebooted,involvedObject.name=k8s2"})
		if err != nil {
			return err.Error()
		}
		if len(list.Items) != 1 || list.Items[0].Type != corev1.EventTypeWarning {
			return fmt.Sprint(list.Items)
		}
		return ""
	})
	c.answered(20)
}
