package knative

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// Ports of the activator.
const (
	ActivatorPort        = 8012
	ActivatorMetricsPort = 9090
)

// activatorDepth is how many requests of a revision may wait at an activator.
const activatorDepth = 10000

// The activator's probes of pods (serving's pkg/activator/net).
const (
	probeTimeout = 300 * time.Millisecond
	probePeriod  = 200 * time.Millisecond
)

// Activator returns the activator as a program. It holds each request until
// one of the revision's pods has a slot free, in the order of their arrival,
// and serves kn_revision_request_active and kn_revision_request_queued on its
// metrics port in Prometheus's text format.
func (f *Fabric) Activator() workload.Program {
	return func(ctx context.Context, in workload.Instance) (workload.Process, error) {
		run, cancel := context.WithCancel(ctx)
		a := &activator{
			pod:       in.Pod.Name,
			transport: transport(run, patient(in.Host)),
			probe:     transport(run, impatient(in.Host)),
			cancel:    cancel,
			view:      f.view(),
		}
		a.probe.DisableKeepAlives = true
		for _, r := range f.routes {
			a.revisions = append(a.revisions, newRevision(a, r))
		}
		var servers workload.Group
		for port, h := range map[int]http.Handler{ActivatorPort: a, ActivatorMetricsPort: http.HandlerFunc(a.metrics)} {
			s, err := workload.Serve(ctx, in.Host, net.JoinHostPort(in.IP, strconv.Itoa(port)), h)
			if err != nil {
				cancel()
				servers.Stop(run)
				return nil, err
			}
			servers = append(servers, s)
		}
		a.servers = servers
		for _, r := range a.revisions {
			a.watchers.Go(func() { r.watch(run) })
		}
		a.forget = f.addActivator(a)
		context.AfterFunc(ctx, a.forget)
		return a, nil
	}
}

// activator is the process and the handler.
type activator struct {
	pod       string
	view      *endpoints.View
	transport *http.Transport
	probe     *http.Transport
	revisions []*revision
	servers   workload.Group
	cancel    context.CancelFunc
	watchers  sync.WaitGroup
	forget    func()
}

// Stop implements workload.Process.
func (a *activator) Stop(ctx context.Context) {
	a.servers.Stop(ctx)
	a.cancel()
	a.watchers.Wait()
	a.transport.CloseIdleConnections()
	a.forget()
}

// ServeHTTP finds the revision by the headers that the gateway has set.
func (a *activator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.Header.Get(headerNamespace), r.Header.Get(headerRevision)
	for _, rev := range a.revisions {
		if rev.route.Namespace == namespace && rev.route.Revision == name {
			rev.serve.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, fmt.Sprintf("revision.serving.knative.dev %q not found", name), http.StatusNotFound)
}

func (a *activator) state() []ActivatorState {
	var out []ActivatorState
	for _, r := range a.revisions {
		s := ActivatorState{Pod: a.pod, Revision: r.route.Namespace + "/" + r.route.Revision}
		s.Active, s.Queued, s.Capacity = r.slots.counts()
		out = append(out, s)
	}
	return out
}

func (a *activator) metrics(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range []struct {
		name, help string
		of         func(active, queued int) int
	}{
		{"kn_revision_request_active", "Requests that are being served by a pod.", func(active, _ int) int { return active }},
		{"kn_revision_request_queued", "Requests that wait for a pod.", func(_, queued int) int { return queued }},
	} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n", m.name, m.help, m.name)
		for _, rev := range a.revisions {
			active, queued, _ := rev.slots.counts()
			fmt.Fprintf(w, "%s{k8s_namespace_name=%q,kn_revision_name=%q,kn_service_name=%q} %d\n",
				m.name, rev.route.Namespace, rev.route.Revision, rev.route.Service, m.of(active, queued))
		}
	}
}

// revision is one revision at an activator.
type revision struct {
	activator *activator
	route     Route
	slots     *slots
	serve     http.Handler
}

func newRevision(a *activator, route Route) *revision {
	r := &revision{activator: a, route: route, slots: newSlots(max(route.Concurrency, 1), activatorDepth)}
	r.serve = limit(route.Timeouts, "activator request timeout", http.HandlerFunc(r.pass))
	return r
}

// pass waits for a slot and sends the request to that pod's queue-proxy.
func (r *revision) pass(w http.ResponseWriter, req *http.Request) {
	t, err := r.slots.acquire(req.Context())
	if err != nil {
		refuse(w, req, err)
		return
	}
	defer r.slots.release(t)
	forward(w, req, limitBody(r.activator.transport), t.addr, func(h http.Header) {
		h.Del(headerNamespace)
		h.Del(headerRevision)
		h.Set(headerProxy, "activator")
	})
}

// watch keeps the slots' targets those pods that are ready and have answered a
// probe. A pod that ceases to be ready is probed again, and stays if it
// answers: the activator believes its own eyes more than the control plane.
func (r *revision) watch(ctx context.Context) {
	healthy := map[string]bool{}
	was := map[string]bool{} // ready at the last look
	for {
		changed := r.activator.view.Changed()
		ready, dests := map[string]bool{}, map[string]bool{}
		for _, e := range r.activator.view.Of(r.route.Namespace, r.route.Endpoints, "http") {
			if e.Terminating {
				continue
			}
			at := net.JoinHostPort(e.IP, strconv.Itoa(int(e.Port)))
			dests[at] = true
			if e.Ready {
				ready[at] = true
			}
		}
		maps.DeleteFunc(healthy, func(at string, _ bool) bool { return !dests[at] || was[at] && !ready[at] })
		was = ready
		var unknown []string
		for at := range dests {
			if !healthy[at] {
				unknown = append(unknown, at)
			}
		}
		for _, at := range r.answering(ctx, unknown) {
			healthy[at] = true
		}
		if ctx.Err() != nil {
			return
		}
		r.slots.set(slices.Collect(maps.Keys(healthy)))

		again := slices.ContainsFunc(unknown, func(at string) bool { return ready[at] && !healthy[at] })
		if again {
			if !workload.Pause(ctx, probePeriod) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// answering probes addresses side by side and returns those that answer.
func (r *revision) answering(ctx context.Context, addrs []string) []string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var mu sync.Mutex
	var out []string
	var wg sync.WaitGroup
	for _, at := range addrs {
		wg.Go(func() {
			if r.probe(ctx, at) {
				mu.Lock()
				out = append(out, at)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// impatient returns the dialer of the probes.
func impatient(host *network.Host) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return host.DialContext(ctx, network, addr)
	}
}

func (r *revision) probe(ctx context.Context, at string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/", nil)
	if err != nil {
		return false
	}
	req.Header.Set(headerProbe, probeQueue)
	req.Header.Set("User-Agent", "Activator-Probe")
	resp, err := r.activator.probe.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && resp.StatusCode == http.StatusOK && strings.TrimSpace(string(text)) == probeQueue
}
