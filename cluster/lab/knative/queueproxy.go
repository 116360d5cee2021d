package knative

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster/lab/workload"
)

// Ports of a queue-proxy (serving's pkg/networking/constants.go).
const (
	QueuePort      = 8012 // requests
	QueueAdminPort = 8022
	QueueStatPort  = 9090 // Stat, for the autoscaler
	QueueUserPort  = 9091 // metrics for people
)

// queueDepth is how many requests may wait at a queue-proxy for each that may run.
const queueDepth = 10

// QueueProxy returns the queue-proxy as a program. It is set by the
// environment that Knative gives it: CONTAINER_CONCURRENCY (0: no limit),
// REVISION_TIMEOUT_SECONDS, REVISION_RESPONSE_START_TIMEOUT_SECONDS, USER_PORT
// and SERVING_READINESS_PROBE (a probe of the user's container, as JSON).
//
// When it is stopped it says that it is not ready, waits for drain so that
// everybody has heard, and lets its requests end.
func (f *Fabric) QueueProxy(drain time.Duration) workload.Program {
	return func(ctx context.Context, in workload.Instance) (workload.Process, error) {
		q, err := newQueueProxy(ctx, in)
		if err != nil {
			return nil, err
		}
		at := func(port int) string { return net.JoinHostPort(in.IP, strconv.Itoa(port)) }
		main, err := workload.Serve(ctx, in.Host, at(QueuePort), q)
		if err != nil {
			return nil, err
		}
		stats, err := workload.Serve(ctx, in.Host, at(QueueStatPort), http.HandlerFunc(q.serveStat))
		if err != nil {
			main.Stop(ctx)
			return nil, err
		}
		forget := f.addQueueProxy(q)
		context.AfterFunc(ctx, forget)
		return &draining{proxy: q, drain: drain, servers: workload.Group{main, stats}, forget: forget}, nil
	}
}

// draining is a queue-proxy's process.
type draining struct {
	proxy   *queueProxy
	drain   time.Duration
	servers workload.Group
	forget  func()
}

// Stop implements workload.Process.
func (d *draining) Stop(ctx context.Context) {
	if d.proxy.leaving.CompareAndSwap(false, true) {
		workload.Pause(ctx, d.drain)
	}
	d.servers.Stop(ctx)
	d.proxy.transport.CloseIdleConnections()
	d.forget()
}

// queueProxy is the handler of a queue-proxy's main port.
type queueProxy struct {
	pod, node string
	limits    *slots // nil: no limit
	meter     *meter
	transport *http.Transport
	user      string // address of the user's container
	probe     *corev1.Probe
	serve     http.Handler
	ready     atomic.Bool // the user's container has answered the probe once
	leaving   atomic.Bool
}

func newQueueProxy(ctx context.Context, in workload.Instance) (*queueProxy, error) {
	number := func(name string, otherwise int) (int, error) {
		s, ok := in.Env[name]
		if !ok || s == "" {
			return otherwise, nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("the queue-proxy of pod %s can't start: %s is %q, not a number of 0 or more", in.Pod.Name, name, s)
		}
		return n, nil
	}
	concurrency, err1 := number("CONTAINER_CONCURRENCY", 0)
	total, err2 := number("REVISION_TIMEOUT_SECONDS", 300)
	start, err3 := number("REVISION_RESPONSE_START_TIMEOUT_SECONDS", 0)
	port, err4 := number("USER_PORT", 8080)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return nil, err
		}
	}
	q := &queueProxy{
		pod:       in.Pod.Name,
		node:      in.Pod.Spec.NodeName,
		meter:     newMeter(in.Pod.Name, time.Now()),
		transport: transport(ctx, patient(in.Host)),
		user:      net.JoinHostPort(in.IP, strconv.Itoa(port)),
	}
	if text := in.Env["SERVING_READINESS_PROBE"]; text != "" {
		q.probe = &corev1.Probe{}
		if err := json.Unmarshal([]byte(text), q.probe); err != nil {
			return nil, fmt.Errorf("the queue-proxy of pod %s can't start: SERVING_READINESS_PROBE is no probe: %w", in.Pod.Name, err)
		}
	}
	if concurrency > 0 {
		q.limits = newSlots(concurrency, queueDepth*concurrency)
		q.limits.set([]string{q.user})
	}
	q.serve = limit(Timeouts{
		Total:         time.Duration(total) * time.Second,
		ResponseStart: time.Duration(start) * time.Second,
	}, "request timeout", http.HandlerFunc(q.pass))
	return q, nil
}

// ServeHTTP answers Knative's probes itself, lets the kubelet's through, and
// counts and limits everything else.
func (q *queueProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if probe := r.Header.Get(headerProbe); probe != "" {
		q.answerProbe(w, r, probe)
		return
	}
	if strings.HasPrefix(r.UserAgent(), "kube-probe/") {
		forward(w, r, q.transport, q.user, func(http.Header) {})
		return
	}
	proxied := r.Header.Get(headerProxy) != ""
	q.meter.enter(time.Now(), proxied)
	defer func() { q.meter.leave(time.Now(), proxied) }()
	q.serve.ServeHTTP(w, r)
}

// pass takes a slot and sends the request to the user's container.
func (q *queueProxy) pass(w http.ResponseWriter, r *http.Request) {
	if q.limits != nil {
		t, err := q.limits.acquire(r.Context())
		if err != nil {
			refuse(w, r, err)
			return
		}
		defer q.limits.release(t)
	}
	forward(w, r, limitBody(q.transport), q.user, func(h http.Header) {
		h.Del(headerProxy)
	})
}

func (q *queueProxy) answerProbe(w http.ResponseWriter, r *http.Request, probe string) {
	switch {
	case probe != probeQueue:
		http.Error(w, "unexpected probe header value: "+strconv.Quote(probe), http.StatusBadRequest)
	case q.leaving.Load(), !q.ready.Load() && !q.ask(r.Context()):
		http.Error(w, "not ready", http.StatusServiceUnavailable)
	default:
		q.ready.Store(true)
		io.WriteString(w, probeQueue)
	}
}

// ask probes the user's container.
func (q *queueProxy) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if q.probe == nil || q.probe.HTTPGet == nil {
		c, err := q.transport.DialContext(ctx, "tcp", q.user)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+q.user+q.probe.HTTPGet.Path, nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "kube-probe/queue-proxy")
	resp, err := q.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}

func (q *queueProxy) serveStat(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/protobuf")
	w.Write(q.meter.stat(time.Now()).Marshal())
}
