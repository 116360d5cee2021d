package workload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster/lab/network"
)

// Instance is what a program is started with: one container of one pod.
type Instance struct {
	// Pod is the pod as it is known when the container starts. It must not be
	// changed.
	Pod *corev1.Pod
	// Container is the container's own part of Pod.
	Container *corev1.Container
	// IP is the pod's address on Host; for a pod on the host's network the
	// node's.
	IP string
	// Host is the machine that the container runs on.
	Host *network.Host
	// Env is the container's environment, with references resolved.
	Env map[string]string
	// Log receives what the container writes; nil: nobody reads it.
	Log *Log
}

// Arg returns the value of a command-line flag of the container, given as
// "--name value" or "--name=value", or otherwise when it is not there.
func (in Instance) Arg(name, otherwise string) string {
	words := append(append([]string{}, in.Container.Command...), in.Container.Args...)
	for i, w := range words {
		if w == name && i+1 < len(words) {
			return words[i+1]
		}
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return otherwise
}

// Program starts a container. It returns as soon as the process runs, which
// may be before it is ready to serve. When ctx ends the machine has lost its
// power: the process must let go of everything it holds, with no effect
// outside. Errors mean that the container could not be started.
type Program func(ctx context.Context, in Instance) (Process, error)

// Process is a running container.
type Process interface {
	// Stop is SIGTERM: the process ends what it is doing and then itself.
	// When ctx ends first it is killed. Stop returns when the process is gone.
	// It may be called more than once.
	Stop(ctx context.Context)
}

// Images finds programs by image name, without the tag or digest.
type Images map[string]Program

// Find returns the program of an image.
func (i Images) Find(image string) (Program, bool) {
	if at := strings.IndexByte(image, '@'); at >= 0 {
		image = image[:at]
	}
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	p, ok := i[image]
	return p, ok
}

// Idle is a program that runs and does nothing.
func Idle(context.Context, Instance) (Process, error) { return idle{}, nil }

type idle struct{}

func (idle) Stop(context.Context) {}

// Group is several processes that are one container.
type Group []Process

// Stop stops all of them side by side.
func (g Group) Stop(ctx context.Context) {
	var wg sync.WaitGroup
	for _, p := range g {
		wg.Go(func() { p.Stop(ctx) })
	}
	wg.Wait()
}

// Server is a process that serves HTTP on one address.
type Server struct {
	http    *http.Server
	release func() bool
	ended   chan struct{}
}

// Serve serves h on addr of host ("10.244.1.2:8080") until it is stopped or
// ctx ends. It fails when the address cannot be listened on.
func Serve(ctx context.Context, host *network.Host, addr string, h http.Handler) (*Server, error) {
	return ServeTLS(ctx, host, addr, h, nil)
}

// ServeTLS is Serve over TLS; without a configuration it is Serve.
func ServeTLS(ctx context.Context, host *network.Host, addr string, h http.Handler, config *tls.Config) (*Server, error) {
	l, err := host.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("the server can't listen on %s: %w", addr, err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	s := &Server{
		http: &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 10 * time.Second,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ErrorLog:          silent,
		},
		ended: make(chan struct{}),
	}
	s.release = context.AfterFunc(ctx, func() { s.http.Close() })
	go func() {
		defer close(s.ended)
		s.http.Serve(l)
	}()
	return s, nil
}

// Stop implements Process: it takes no more connections, lets the requests
// that are being answered end, and closes what is left when ctx ends.
func (s *Server) Stop(ctx context.Context) {
	if err := s.http.Shutdown(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {
		s.http.Close()
	}
	<-s.ended
	s.release()
}

// Pause waits for d, or until ctx ends; it reports whether it waited in full.
func Pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
