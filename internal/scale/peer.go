package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// peer is what the program's CPU time at rest stands beside: this command itself
// as a process that watches the same kinds by client-go and does nothing else.
type peer struct {
	cmd   *exec.Cmd
	leash io.Closer
}

func startPeer(kubeconfig string) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &peer{cmd: exec.Command(self, "-watch", kubeconfig)}
	p.cmd.Stderr = os.Stderr
	if p.leash, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// cpu is what it has used.
func (p *peer) cpu() (time.Duration, error) {
	v, err := vitalsOf(p.cmd.Process.Pid)
	return v.cpu, err
}

func (p *peer) close() error {
	p.leash.Close()
	return p.cmd.Wait()
}

// watchAll is the peer: it watches until standard input ends.
func watchAll(ctx context.Context, kubeconfig string) error {
	c, err := newClients(kubeconfig)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var g errgroup.Group
	for _, k := range c.kinds() {
		g.Go(func() error { return k.watch(ctx) })
	}
	return g.Wait()
}

// watch takes in what happens from now on until ctx ends.
func (k kind) watch(ctx context.Context) error {
	if err := k.client.Get().Resource(k.resource).VersionedParams(&metav1.ListOptions{Limit: 1}, metav1.ParameterCodec).Do(ctx).Into(k.list); err != nil {
		return err
	}
	m, err := meta.ListAccessor(k.list)
	if err != nil {
		return err
	}
	w, err := k.client.Get().Resource(k.resource).
		VersionedParams(&metav1.ListOptions{Watch: true, ResourceVersion: m.GetResourceVersion()}, metav1.ParameterCodec).Watch(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	for range w.ResultChan() {
	}
	if ctx.Err() == nil {
		return fmt.Errorf("the watch of %s has ended", k.resource)
	}
	return nil
}
