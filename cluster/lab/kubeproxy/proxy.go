package kubeproxy

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// Program returns kube-proxy as a program for a pod on a node's own network.
// view is called when the pod starts. minSync is the least time between two
// syncs; kube-proxy's minSyncPeriod is 1 s
// (pkg/proxy/apis/config/v1alpha1/defaults.go).
func Program(view func() *endpoints.View, minSync time.Duration) workload.Program {
	return func(ctx context.Context, in workload.Instance) (workload.Process, error) {
		return Start(ctx, in.Host, in.IP, view(), minSync), nil
	}
}

// Proxy is kube-proxy on one node.
type Proxy struct {
	life    context.Context // of the machine: connections last until its end
	host    *network.Host
	ip      string
	view    *endpoints.View
	minSync time.Duration

	cancel context.CancelFunc // ends the syncs
	ended  chan struct{}
	ports  map[int32]*nodePort // owned by the sync loop
}

// Start serves the NodePorts on ip, an address of host, until it is stopped.
// Connections outlive it, as rules in a kernel do; they end with ctx.
func Start(ctx context.Context, host *network.Host, ip string, view *endpoints.View, minSync time.Duration) *Proxy {
	loop, cancel := context.WithCancel(ctx)
	p := &Proxy{
		life:    ctx,
		host:    host,
		ip:      ip,
		view:    view,
		minSync: minSync,
		cancel:  cancel,
		ended:   make(chan struct{}),
		ports:   map[int32]*nodePort{},
	}
	go p.run(loop)
	return p
}

// Stop implements workload.Process.
func (p *Proxy) Stop(context.Context) {
	p.cancel()
	<-p.ended
}

func (p *Proxy) run(ctx context.Context) {
	defer close(p.ended)
	defer func() {
		for _, np := range p.ports {
			np.close()
		}
	}()
	for {
		changed := p.view.Changed()
		p.sync()
		if !workload.Pause(ctx, p.minSync) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// sync makes the open ports and their endpoints those of the API.
func (p *Proxy) sync() {
	want := map[int32][]string{}
	for _, s := range p.view.Services() {
		if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		for _, port := range s.Spec.Ports {
			if port.NodePort == 0 || (port.Protocol != "" && port.Protocol != corev1.ProtocolTCP) {
				continue
			}
			if to := usable(p.view.Of(s.Namespace, s.Name, port.Name)); len(to) > 0 {
				want[port.NodePort] = to
			}
		}
	}
	for number, np := range p.ports {
		if _, ok := want[number]; !ok {
			np.close()
			delete(p.ports, number)
		}
	}
	for number, to := range want {
		if np, ok := p.ports[number]; ok {
			np.set(to)
			continue
		}
		np, err := p.open(number, to)
		if err != nil {
			continue // the port is taken, or the machine is going down; tried again at the next sync
		}
		p.ports[number] = np
	}
}

// usable picks the addresses that connections may go to.
func usable(all []endpoints.Endpoint) []string {
	var ready, last []string
	for _, e := range all {
		at := net.JoinHostPort(e.IP, strconv.Itoa(int(e.Port)))
		switch {
		case e.Ready:
			ready = append(ready, at)
		case e.Serving && e.Terminating:
			last = append(last, at)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return last
}

// nodePort is one open port.
type nodePort struct {
	open io.Closer

	mu sync.Mutex
	to []string
}

func (p *Proxy) open(number int32, to []string) (*nodePort, error) {
	np := &nodePort{to: to}
	dial := func(ctx context.Context) (net.Conn, error) { return p.host.DialContext(ctx, "tcp", np.pick()) }
	join := func(client, server net.Conn) { network.Splice(p.life, client, server) }
	var err error
	np.open, err = p.host.Forward(net.JoinHostPort(p.ip, strconv.Itoa(int(number))), dial, join)
	if err != nil {
		return nil, fmt.Errorf("node port %d can't be opened: %w", number, err)
	}
	return np, nil
}

func (np *nodePort) close() { np.open.Close() }

func (np *nodePort) set(to []string) {
	np.mu.Lock()
	defer np.mu.Unlock()
	np.to = to
}

func (np *nodePort) pick() string {
	np.mu.Lock()
	defer np.mu.Unlock()
	return np.to[rand.IntN(len(np.to))]
}
