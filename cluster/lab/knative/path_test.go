package knative

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// world is a revision with its pods on several hosts, an activator and a
// gateway, without any Kubernetes but its endpoint slices.
type world struct {
	t        *testing.T
	network  *network.Network
	hosts    []*network.Host
	client   kubernetes.Interface
	fabric   *Fabric
	http     *http.Client
	pods     []string // addresses
	token    time.Duration
	timeouts Timeouts
}

const testHost = "llm.default.example.com"

// newWorld starts pods on hosts, perHost on each.
func newWorld(t *testing.T, hosts, perHost int, token time.Duration, timeouts Timeouts) *world {
	t.Helper()
	w := &world{t: t, network: network.New(), client: fake.NewClientset(), token: token, timeouts: timeouts}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	view, err := endpoints.Start(ctx, w.client)
	if err != nil {
		t.Fatal(err)
	}
	w.fabric = New([]Route{{
		Host: testHost, Namespace: "default", Service: "llm", Revision: "llm-1", Endpoints: "llm-1-private",
		Concurrency: 1, Timeouts: timeouts,
	}}, func() *endpoints.View { return view })

	control := w.network.AddHost("cp", "10.0.0.10")
	control.AddIP("10.244.0.2")
	control.AddIP("10.244.0.3")
	w.run(ctx, control, "gateway", "10.244.0.2", w.fabric.Gateway(), nil)
	w.run(ctx, control, "activator", "10.244.0.3", w.fabric.Activator(), nil)
	for h := range hosts {
		host := w.network.AddHost(fmt.Sprintf("node%d", h+1), fmt.Sprintf("10.0.0.%d", 11+h))
		w.hosts = append(w.hosts, host)
		for p := range perHost {
			ip := fmt.Sprintf("10.244.%d.%d", h+1, p+2)
			host.AddIP(ip)
			w.pods = append(w.pods, ip)
			w.run(ctx, host, "pod-"+ip, ip, workload.Llama(workload.LlamaTiming{Token: token}), nil)
			w.run(ctx, host, "pod-"+ip, ip, w.fabric.QueueProxy(0), map[string]string{
				"CONTAINER_CONCURRENCY":    "1",
				"REVISION_TIMEOUT_SECONDS": "1800",
				"SERVING_READINESS_PROBE":  `{"httpGet":{"path":"/health","port":8080}}`,
			})
		}
	}
	w.setReady(w.pods, nil)
	slice := w.slice("activator", ActivatorNamespace, ActivatorService, ActivatorPort, []string{"10.244.0.3"}, nil)
	if _, err := w.client.DiscoveryV1().EndpointSlices(ActivatorNamespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	laptop := w.network.AddHost("laptop", "10.0.0.1")
	client := transport(ctx, laptop.DialContext)
	client.DisableKeepAlives = true
	w.http = &http.Client{Transport: client}
	return w
}

func (w *world) run(ctx context.Context, host *network.Host, name, ip string, p workload.Program, env map[string]string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: host.Name(), Containers: []corev1.Container{{Name: "c"}}},
	}
	proc, err := p(ctx, workload.Instance{Pod: pod, Container: &pod.Spec.Containers[0], IP: ip, Host: host, Env: env})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		dead, cancel := context.WithCancel(context.Background())
		cancel()
		proc.Stop(dead)
	})
}

func (w *world) slice(name, namespace, service string, port int32, ready, notReady []string) *discoveryv1.EndpointSlice {
	portName := "http"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Ports:      []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for i, list := range [][]string{ready, notReady} {
		is := i == 0
		for _, ip := range list {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{ip},
				Conditions: discoveryv1.EndpointConditions{Ready: &is, Serving: &is},
			})
		}
	}
	return s
}

// setReady writes the revision's endpoint slice and waits for the activator.
func (w *world) setReady(ready, notReady []string) {
	w.t.Helper()
	slices := w.client.DiscoveryV1().EndpointSlices("default")
	s := w.slice("llm", "default", "llm-1-private", QueuePort, ready, notReady)
	_, err := slices.Update(w.t.Context(), s, metav1.UpdateOptions{})
	if err != nil {
		_, err = slices.Create(w.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, fmt.Sprintf("the activator has %d pods", len(ready)), func() bool { return w.activator().Capacity == len(ready) })
}

func (w *world) activator() ActivatorState { return w.fabric.State().Activators[0] }

// serving counts the queue-proxies on hosts with power that serve a request.
func (w *world) serving() (n int) {
	for _, q := range w.fabric.State().QueueProxies {
		n += q.Running
	}
	return n
}

type result struct {
	status int
	body   string
	err    error
}

// chat sends one streamed request through the gateway.
func (w *world) chat(ctx context.Context, tokens int) result {
	body := fmt.Sprintf(`{"stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hi"}]}`, tokens)
	req, err := http.NewRequestWithContext(ctx, "POST", "http://10.244.0.2:8080/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return result{err: err}
	}
	req.Host = testHost
	resp, err := w.http.Do(req)
	if err != nil {
		return result{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return result{resp.StatusCode, string(text), err}
}

func (r result) done() bool {
	return r.err == nil && r.status == 200 && strings.HasSuffix(r.body, "data: [DONE]\n\n")
}

// burst sends n requests at once; wait returns their results.
func (w *world) burst(n, tokens int) (wait func() []result) {
	out := make([]result, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = w.chat(context.Background(), tokens) })
	}
	return func() []result { wg.Wait(); return out }
}

func TestSixteenThenTwelveOnHalfThePods(t *testing.T) {
	w := newWorld(t, 4, 4, 20*time.Millisecond, Timeouts{Total: time.Hour})
	wait := w.burst(16, 120)
	eventually(t, "16 are served at once", func() bool { return w.serving() == 16 && w.activator().Active == 16 })
	for _, r := range wait() {
		if !r.done() {
			t.Errorf("%+v", r)
		}
	}

	// Two nodes go, and the control plane has noticed.
	w.hosts[2].Halt()
	w.hosts[3].Halt()
	w.setReady(w.pods[:8], w.pods[8:])
	wait = w.burst(12, 120)
	eventually(t, "8 are served, 4 queued", func() bool {
		a := w.activator()
		return w.serving() == 8 && a.Active == 8 && a.Queued == 4
	})
	for _, r := range wait() {
		if !r.done() {
			t.Errorf("%+v", r)
		}
	}
}

func TestQueueProxyStatReadsOneWhileServing(t *testing.T) {
	w := newWorld(t, 1, 1, time.Hour, Timeouts{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result)
	go func() { ended <- w.chat(ctx, 1) }()
	eventually(t, "the Stat tells of one request", func() bool { return w.fabric.State().QueueProxies[0].Average > 0.999 })
	resp, err := w.http.Get("http://" + w.pods[0] + ":9090/metrics")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if len(data) == 0 || resp.Header.Get("Content-Type") != "application/protobuf" {
		t.Errorf("%d bytes of %s", len(data), resp.Header.Get("Content-Type"))
	}
	resp, err = w.http.Get("http://10.244.0.3:9090/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if want := `kn_revision_request_active{k8s_namespace_name="default",kn_revision_name="llm-1",kn_service_name="llm"} 1`; !strings.Contains(string(text), want) {
		t.Errorf("the activator's metrics are\n%s", text)
	}
	cancel()
	<-ended
	eventually(t, "a client that goes away frees its slot", func() bool { return w.activator().Active == 0 && w.serving() == 0 })
}

func TestPowerCutFreezesRequestsInFlight(t *testing.T) {
	w := newWorld(t, 2, 1, 20*time.Millisecond, Timeouts{})
	ctx, cancel := context.WithCancel(t.Context())
	const long = 100
	frozen := make(chan result, 2)
	for range 2 {
		go func() { frozen <- w.chat(ctx, long) }()
	}
	eventually(t, "both pods serve", func() bool { return w.serving() == 2 })
	w.hosts[1].Cut()
	// The request on the living host ends; the other one neither ends nor fails.
	if r := <-frozen; !r.done() {
		t.Errorf("%+v", r)
	}
	w.setReady(w.pods[:1], w.pods[1:])
	select {
	case r := <-frozen:
		t.Errorf("a request to a dead pod ended: %+v", r)
	default:
	}
	if a := w.activator(); a.Active != 1 {
		t.Errorf("%+v: the hung request has lost its slot", a)
	}
	cancel()
	<-frozen
}

func TestShutdownEndsRequestsAtOnce(t *testing.T) {
	w := newWorld(t, 1, 1, time.Hour, Timeouts{})
	wait := w.burst(1, 1)
	eventually(t, "the pod serves", func() bool { return w.serving() == 1 })
	w.hosts[0].Halt()
	if r := wait()[0]; r.done() || r.err == nil && r.status == 200 {
		t.Errorf("%+v", r)
	}
}

func TestRequestToAPodThatIsGoneIs502(t *testing.T) {
	w := newWorld(t, 1, 1, time.Millisecond, Timeouts{})
	w.hosts[0].Halt()
	w.hosts[0].Boot()
	w.hosts[0].AddIP(w.pods[0]) // up, and nobody listens
	if r := w.chat(t.Context(), 1); r.status != http.StatusBadGateway {
		t.Errorf("%+v", r)
	}
}

func TestTwelfthRequestAtAQueueProxyIs503(t *testing.T) {
	w := newWorld(t, 1, 1, time.Hour, Timeouts{})
	ctx, cancel := context.WithCancel(t.Context())
	direct := func() result {
		body := `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+w.pods[0]+":8012/v1/chat/completions", strings.NewReader(body))
		resp, err := w.http.Do(req)
		if err != nil {
			return result{err: err}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return result{resp.StatusCode, string(text), err}
	}
	var wg sync.WaitGroup
	for range 11 {
		wg.Go(func() { direct() })
	}
	eventually(t, "one runs, ten wait", func() bool {
		q := w.fabric.State().QueueProxies[0]
		return q.Running == 1 && q.Waiting == 10
	})
	if r := direct(); r.status != 503 || !strings.Contains(r.body, "pending request queue full") {
		t.Errorf("%+v", r)
	}
	cancel()
	wg.Wait()
}

func TestTimeoutBeforeTheFirstByteIs504(t *testing.T) {
	w := newWorld(t, 1, 1, time.Hour, Timeouts{ResponseStart: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan result)
	go func() { first <- w.chat(ctx, 1) }()
	eventually(t, "the pod serves", func() bool { return w.serving() == 1 })
	if r := w.chat(t.Context(), 1); r.status != 504 || !strings.Contains(r.body, "activator request timeout") {
		t.Errorf("%+v", r)
	}
	cancel()
	<-first
}

func TestTimeoutOfAStartedAnswerLooksLikeItsEnd(t *testing.T) {
	w := newWorld(t, 1, 1, 10*time.Millisecond, Timeouts{Total: 2 * time.Second})
	r := w.chat(t.Context(), maxTestTokens)
	if r.status != 200 || r.err != nil || !strings.HasSuffix(r.body, "activator request timeout") || r.done() {
		t.Errorf("status %d, error %v, end of body %q", r.status, r.err, r.body[max(0, len(r.body)-80):])
	}
}

// maxTestTokens last far longer than any timeout of these tests.
const maxTestTokens = 4096

func TestProbesAreAnsweredByTheQueueProxyItself(t *testing.T) {
	w := newWorld(t, 1, 1, time.Hour, Timeouts{})
	for header, want := range map[string]int{"queue": 200, "other": 400} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+w.pods[0]+":8012/", nil)
		req.Header.Set("K-Network-Probe", header)
		resp, err := w.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("probe %q has status %d", header, resp.StatusCode)
		}
	}
	if s := w.fabric.State().QueueProxies[0]; s.Average != 0 {
		t.Errorf("probes were counted as requests: %+v", s)
	}
}

func TestGatewayRoutesByHost(t *testing.T) {
	w := newWorld(t, 1, 1, time.Millisecond, Timeouts{})
	get := func(host string) int {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://10.244.0.2:8080/health", nil)
		req.Host = host
		resp, err := w.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := get(strings.ToUpper(testHost) + ":31080"); got != 200 {
		t.Errorf("the revision's host has status %d", got)
	}
	if got := get("elsewhere.example.com"); got != 404 {
		t.Errorf("an unknown host has status %d", got)
	}
	err := w.client.DiscoveryV1().EndpointSlices(ActivatorNamespace).Delete(t.Context(), "activator", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "without an activator the gateway answers 503", func() bool { return get(testHost) == 503 })
}
