package machine

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

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
	index     int
	container *corev1.Container
	ip        string
	host      *network.Host
	first     time.Duration // pause while not ready
	attempts  *http.Client
}

func (w *worker) prober(i int) *prober {
	c := w.rt.containers[i].spec
	host := w.k.m.cfg.Host
	return &prober{
		index:     i,
		container: c,
		ip:        w.rt.ip,
		host:      host,
		first:     w.k.m.cfg.Timing.ProbePeriod,
		attempts: &http.Client{CheckRedirect: httpprobe.RedirectChecker(false), Transport: &http.Transport{
			// A transport's dials outlive their requests, so they have an end of their own.
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, seconds(c.ReadinessProbe.TimeoutSeconds, 1))
				defer cancel()
				return host.DialContext(ctx, network, addr)
			},
			DisableKeepAlives:  true,
			DisableCompression: true,
		}},
	}
}

// run probes until ctx ends and tells of each change.
func (p *prober) run(ctx context.Context, out chan<- probed) {
	period := seconds(p.container.ReadinessProbe.PeriodSeconds, 10)
	threshold := max(int(p.container.ReadinessProbe.FailureThreshold), 1)
	ready, failures := false, 0
	wait := seconds(p.container.ReadinessProbe.InitialDelaySeconds, 0)
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
	ctx, cancel := context.WithTimeout(ctx, seconds(p.container.ReadinessProbe.TimeoutSeconds, 1))
	defer cancel()
	switch probed := p.container.ReadinessProbe; {
	case probed.HTTPGet != nil:
		req, err := httpprobe.NewRequestForHTTPGetAction(probed.HTTPGet, p.container, p.ip, "probe")
		if err != nil {
			return false
		}
		answer, _, _ := httpprobe.DoHTTPProbe(req.WithContext(ctx), p.attempts)
		return answer == probe.Success || answer == probe.Warning // of a redirect
	case probed.TCPSocket != nil:
		port, err := probe.ResolveContainerPort(probed.TCPSocket.Port, p.container)
		if err != nil {
			return false
		}
		c, err := p.host.DialContext(ctx, "tcp", net.JoinHostPort(p.ip, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		c.Close()
	}
	return true
}
