package machine

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// probed is a container's readiness, when it has changed.
type probed struct {
	container int
	ready     bool
}

// prober asks one container whether it is ready, from the node, as the kubelet
// does: HTTP or TCP; other probes are taken as answered.
type prober struct {
	index    int
	probe    *corev1.Probe
	ip       string
	ports    []corev1.ContainerPort
	host     *network.Host
	first    time.Duration // pause while not ready
	attempts *http.Transport
}

func (w *worker) prober(i int) *prober {
	c := w.rt.containers[i].spec
	host := w.k.m.cfg.Host
	return &prober{
		index: i,
		probe: c.ReadinessProbe,
		ip:    w.rt.ip,
		ports: c.Ports,
		host:  host,
		first: w.k.m.cfg.Timing.ProbePeriod,
		attempts: &http.Transport{
			// A transport's dials outlive their requests, so they have an end of their own.
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, seconds(c.ReadinessProbe.TimeoutSeconds, 1))
				defer cancel()
				return host.DialContext(ctx, network, addr)
			},
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
	}
}

// run probes until ctx ends and tells of each change.
func (p *prober) run(ctx context.Context, out chan<- probed) {
	period := seconds(p.probe.PeriodSeconds, 10)
	threshold := max(int(p.probe.FailureThreshold), 1)
	ready, failures := false, 0
	wait := seconds(p.probe.InitialDelaySeconds, 0)
	for {
		if wait > 0 && !workload.Pause(ctx, wait) {
			return
		}
		ok := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		failures++
		if ok {
			failures = 0
		}
		if ok != ready && (ok || failures >= threshold) {
			ready = ok
			select {
			case out <- probed{p.index, ready}:
			case <-ctx.Done():
				return
			}
		}
		// A container that starts is asked more often than the probe says, so
		// that a lab is quickly there.
		wait = period
		if !ready {
			wait = min(period, p.first)
		}
	}
}

func seconds(n int32, otherwise int) time.Duration {
	if n <= 0 {
		n = int32(otherwise)
	}
	return time.Duration(n) * time.Second
}

// ask probes once.
func (p *prober) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, seconds(p.probe.TimeoutSeconds, 1))
	defer cancel()
	switch {
	case p.probe.HTTPGet != nil:
		return p.get(ctx, p.probe.HTTPGet)
	case p.probe.TCPSocket != nil:
		c, err := p.host.DialContext(ctx, "tcp", p.at(p.probe.TCPSocket.Port))
		if err != nil {
			return false
		}
		c.Close()
	}
	return true
}

func (p *prober) get(ctx context.Context, action *corev1.HTTPGetAction) bool {
	path := action.Path
	if path == "" {
		path = "/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.at(action.Port)+path, nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "kube-probe/1.36")
	for _, h := range action.HTTPHeaders {
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	resp, err := p.attempts.RoundTrip(req)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 10<<10))
	resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}

// at is the address of a port, given by number or name.
func (p *prober) at(port intstr.IntOrString) string {
	number := port.IntValue()
	if port.Type == intstr.String && number == 0 {
		for _, c := range p.ports {
			if c.Name == port.StrVal {
				number = int(c.ContainerPort)
			}
		}
	}
	return net.JoinHostPort(p.ip, strconv.Itoa(number))
}
