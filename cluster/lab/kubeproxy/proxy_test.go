package kubeproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/network"
)

// world is an entry node with a proxy, two nodes with pods, and a client.
type world struct {
	t      *testing.T
	client kubernetes.Interface
	view   *endpoints.View
	entry  *network.Host
	nodes  []*network.Host
	laptop *network.Host
	proxy  *Proxy
}

const entryPort = "10.0.0.10:31514"

func newWorld(t *testing.T) *world {
	t.Helper()
	n := network.New()
	w := &world{t: t, client: fake.NewClientset()}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var err error
	if w.view, err = endpoints.Start(ctx, w.client); err != nil {
		t.Fatal(err)
	}
	w.entry = n.AddHost("entry", "10.0.0.10")
	w.laptop = n.AddHost("laptop", "10.0.0.1")
	for i := range 2 {
		host := n.AddHost(fmt.Sprintf("node%d", i+1), fmt.Sprintf("10.0.0.%d", 11+i))
		host.AddIP(pod(i))
		l, err := host.Listen(pod(i) + ":80")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go echo(l, pod(i))
		w.nodes = append(w.nodes, host)
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{
			{Port: 80, NodePort: 31514, Protocol: corev1.ProtocolTCP},
		}},
	}
	if _, err := w.client.CoreV1().Services("default").Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.proxy = Start(ctx, w.entry, "10.0.0.10", w.view, time.Millisecond)
	t.Cleanup(func() {
		w.proxy.Stop(ctx)
		for _, h := range w.nodes {
			h.Cut() // frees what waits for a silent end
		}
	})
	return w
}

func pod(i int) string { return fmt.Sprintf("10.244.%d.2", i+1) }

// echo says its name at once, and then what it hears.
func echo(l net.Listener, name string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			fmt.Fprintln(c, name)
			io.Copy(c, c)
		}()
	}
}

// endpoint is one pod in a slice: "ready", "not ready", "terminating".
func (w *world) set(states ...string) {
	w.t.Helper()
	port := int32(80)
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		Ports:      []discoveryv1.EndpointPort{{Port: &port}},
	}
	for i, state := range states {
		ready, terminating := state == "ready", state == "terminating"
		serving := ready || terminating
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{pod(i)},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		})
	}
	slices := w.client.DiscoveryV1().EndpointSlices("default")
	if _, err := slices.Update(w.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		if _, err := slices.Create(w.t.Context(), s, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// connect opens a connection and returns who answers.
func (w *world) connect() (net.Conn, string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Second) // a dead pod never answers
	defer cancel()
	c, err := w.laptop.DialContext(ctx, "tcp", entryPort)
	if err != nil {
		return nil, "", err
	}
	w.t.Cleanup(func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(time.Second))
	line, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	return c, line, err
}

// answers waits until connections are answered by these pods and no others.
func (w *world) answers(want ...int) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("pods %v answer", want), func() bool {
		got := map[string]bool{}
		for range 40 {
			_, who, err := w.connect()
			if err != nil {
				return false
			}
			got[who] = true
		}
		for _, i := range want {
			if !got[pod(i)+"\n"] {
				return false
			}
		}
		return len(got) == len(want)
	})
}

func (w *world) refused() {
	w.t.Helper()
	eventually(w.t, "the port refuses", func() bool {
		_, _, err := w.connect()
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

func TestConnectionsGoToReadyEndpoints(t *testing.T) {
	w := newWorld(t)
	w.refused() // nobody is behind the service yet
	w.set("ready", "ready")
	w.answers(0, 1)
	w.set("ready", "not ready")
	w.answers(0)
	w.set("terminating", "not ready") // better than none
	w.answers(0)
	w.set("terminating", "ready")
	w.answers(1)
	w.set("not ready", "not ready")
	w.refused()
	w.set("ready", "ready")
	w.answers(0, 1)
}

func TestEstablishedConnectionsSurviveAChangeOfEndpoints(t *testing.T) {
	w := newWorld(t)
	w.set("ready", "not ready")
	w.answers(0)
	c, _, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	w.set("not ready", "ready")
	w.answers(1)
	if _, err := io.WriteString(c, "still there"); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, len("still there"))
	if _, err := io.ReadFull(c, reply); err != nil || string(reply) != "still there" {
		t.Errorf("%q, %v", reply, err)
	}
}

// A SYN to a dead endpoint is answered by nobody: the client's own connect
// hangs, as behind a kernel's address translation, until it gives up, the
// endpoint is back, or the control plane notices.
func TestDeadEndpointHangsUntilTheControlPlaneNotices(t *testing.T) {
	w := newWorld(t)
	w.set("ready", "not ready")
	w.answers(0)
	w.nodes[0].Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if c, err := w.laptop.DialContext(ctx, "tcp", entryPort); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a connection to a dead pod: %v, %v", c, err)
	}
	w.set("not ready", "ready")
	w.answers(1)
}

// Where nobody listens at the endpoint, the client hears its refusal.
func TestARefusalOfTheEndpointIsTheClients(t *testing.T) {
	w := newWorld(t)
	w.set("ready", "not ready")
	w.answers(0)
	w.nodes[0].RemoveIP(pod(0)) // and what listens there
	w.nodes[0].AddIP(pod(0))
	if _, _, err := w.connect(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}

// When the entry loses its power, connections through it go silent.
func TestADeadEntryIsSilent(t *testing.T) {
	w := newWorld(t)
	w.set("ready", "not ready")
	w.answers(0)
	c, _, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	if at := c.RemoteAddr().String(); at != entryPort {
		t.Errorf("the connection is to %s", at)
	}
	w.entry.Cut()
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection through a dead entry gave %v", err)
	}
}

func TestEndOfAStreamIsPassedOn(t *testing.T) {
	w := newWorld(t)
	w.set("ready")
	w.answers(0)
	c, _, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestStoppedProxyOpensNoConnections(t *testing.T) {
	w := newWorld(t)
	w.set("ready")
	w.answers(0)
	w.proxy.Stop(t.Context())
	if _, _, err := w.connect(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}
