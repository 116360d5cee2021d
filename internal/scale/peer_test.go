package scale

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// peer is what the program's CPU time at rest stands beside: this binary itself
// as a process that watches the same kinds by client-go and does nothing else.
type peer struct {
	b     *testing.B
	cmd   *exec.Cmd
	leash io.Closer
}

func startPeer(b *testing.B, kubeconfig string) *peer {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := &peer{b: b, cmd: exec.Command(self, "-watch", kubeconfig)}
	p.cmd.Stderr = os.Stderr
	if p.leash, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return p
}

func (p *peer) vitals() vitals { return vitalsOf(p.b, p.cmd.Process.Pid) }

func (p *peer) close() {
	p.leash.Close()
	if err := p.cmd.Wait(); err != nil {
		p.b.Error(err)
	}
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
