package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/proxy"
)

// ports are the pod's ports with their real addresses.
type ports struct {
	real   map[int]string
	serves []func() error
}

func newPorts() *ports { return &ports{real: map[int]string{}} }

// reserve finds a free real port for a server that opens its port itself.
func (p *ports) reserve(pod int) (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	p.real[pod] = l.Addr().String()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// serve makes a server accept connections to one of the pod's ports.
func (p *ports) serve(pod int, s *http.Server) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.real[pod] = l.Addr().String()
	p.serves = append(p.serves, func() error {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve port %d: %w", pod, err)
		}
		return nil
	})
	return nil
}

// openUntil opens all ports until ctx ends, or a server fails.
func (p *ports) openUntil(ctx context.Context) error {
	failed, err := p.open()
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// open starts all servers and reports their addresses to the lab. The channel receives
// the first error of a server.
func (p *ports) open() (<-chan error, error) {
	failed := make(chan error, len(p.serves))
	for _, serve := range p.serves {
		go func() {
			if err := serve(); err != nil {
				failed <- err
			}
		}()
	}
	line, err := json.Marshal(p.real)
	if err != nil {
		return nil, err
	}
	lab := os.NewFile(3, "lab")
	defer lab.Close()
	_, err = lab.Write(append(line, '\n'))
	return failed, err
}

// metrics makes Knative's exporter of metrics use a free port for one of the pod's
// ports.
func (p *ports) metrics(pod int) error {
	port, err := p.reserve(pod)
	if err != nil {
		return err
	}
	return errors.Join(os.Setenv("METRICS_PROMETHEUS_HOST", "127.0.0.1"),
		os.Setenv("METRICS_PROMETHEUS_PORT", strconv.Itoa(port)), os.Setenv("PROFILING_PORT", "0"))
}

// labDialer connects into the lab's network.
func labDialer() (proxy.ContextDialer, error) {
	d, err := proxy.SOCKS5("tcp", os.Getenv("LAB_SOCKS"), nil, proxy.Direct)
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer), nil
}

// How long the activator waits for an address that does not answer (knative.dev/pkg
// network/transports.go): its first attempt takes 50 ms, and each attempt 1.4 times as
// long as the one before, with a short pause between them.
const (
	dialFirst  = 50 * time.Millisecond
	dialGrowth = 1.4
	dialSteps  = 15
	dialPause  = 30 * time.Millisecond
)

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// patient dials into the lab's network as Knative's own dialer does.
func patient(to proxy.ContextDialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		limit := dialFirst
		for step := 0; ; step++ {
			attempt, cancel := context.WithTimeout(ctx, limit)
			c, err := to.DialContext(attempt, network, address)
			late := attempt.Err() != nil || isTimeout(err) // the connection's deadline may pass first
			cancel()
			switch {
			case err == nil:
				return c, nil
			case !late || ctx.Err() != nil:
				return nil, err
			case step == dialSteps:
				return nil, fmt.Errorf("timed out dialing %s", address)
			}
			time.Sleep(dialPause + rand.N(dialPause))
			if step > 0 {
				limit = time.Duration(float64(limit) * dialGrowth)
			}
		}
	}
}
