package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/workload"
)

// restartAfter is the pause before a child that has ended is started again.
const restartAfter = time.Second

// Runner turns the components of one executable into programs.
type Runner struct {
	// Path is the executable; its first argument is the component's name.
	Path string
	// Env is added to the environment of every container.
	Env map[string]string
	// Logs is an existing folder; each child writes its log there.
	Logs string
	// View resolves the names of services, as the cluster's DNS and kube-proxy do.
	View func() *endpoints.View
	// Log receives errors.
	Log *slog.Logger
}

// Adapt changes the environment of a child. on opens a port of this computer that leads
// to an address in the lab.
type Adapt func(env map[string]string, in workload.Instance, on func(addr string) (string, error)) error

// Program returns a component as a program; adapt may be nil.
func (r *Runner) Program(component string, adapt Adapt) workload.Program {
	return func(power context.Context, in workload.Instance) (workload.Process, error) {
		ctx, cancel := context.WithCancel(power)
		c := &child{runner: r, component: component, in: in, ctx: ctx, cancel: cancel, ended: make(chan struct{})}
		if err := c.prepare(adapt); err != nil {
			cancel()
			return nil, fmt.Errorf("%s can't be started: %w", component, err)
		}
		go c.run()
		return c, nil
	}
}

// child is one container.
type child struct {
	runner    *Runner
	component string
	in        workload.Instance
	env       []string
	ctx       context.Context // ends with the machine's power, or when the child has ended completely
	cancel    context.CancelFunc
	ended     chan struct{} // run has returned

	mu       sync.Mutex
	process  *os.Process
	stopping bool
}

func (c *child) prepare(adapt Adapt) error {
	door, err := loopback(c.ctx, func(conn net.Conn) { socks(c.ctx, c.dial, conn) })
	if err != nil {
		return err
	}
	env := map[string]string{"LAB_SOCKS": door, "PATH": os.Getenv("PATH"), "HOME": c.runner.Logs}
	maps.Copy(env, c.runner.Env)
	maps.Copy(env, c.in.Env)
	if adapt != nil {
		on := func(addr string) (string, error) {
			return loopback(c.ctx, func(conn net.Conn) { pass(c.ctx, c.dial, conn, addr) })
		}
		if err := adapt(env, c.in, on); err != nil {
			return err
		}
	}
	for name, value := range env {
		c.env = append(c.env, name+"="+value)
	}
	return nil
}

// dial connects from the machine, to an address or to a service.
func (c *child) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if names := strings.Split(host, "."); net.ParseIP(host) == nil {
		if len(names) < 2 {
			return nil, fmt.Errorf("there is no service %s", host)
		}
		to := c.runner.View().Of(names[1], names[0], "http")
		if len(to) == 0 || !to[0].Ready {
			return nil, syscall.ECONNREFUSED
		}
		addr = net.JoinHostPort(to[0].IP, strconv.Itoa(int(to[0].Port)))
	}
	return c.in.Host.DialContext(ctx, network, addr)
}

// run keeps the child running until it is stopped.
func (c *child) run() {
	defer close(c.ended)
	defer c.cancel()
	for {
		err := c.once()
		c.mu.Lock()
		stopping := c.stopping
		c.mu.Unlock()
		if stopping || c.ctx.Err() != nil {
			return
		}
		c.runner.Log.Error("a component ended", "component", c.component, "pod", c.in.Pod.Name, "error", err)
		if !workload.Pause(c.ctx, restartAfter) {
			return
		}
	}
}

// once runs the child to its end.
func (c *child) once() error {
	log, err := os.OpenFile(filepath.Join(c.runner.Logs, c.in.Pod.Name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	cmd := exec.CommandContext(c.ctx, c.runner.Path, c.component)
	out := io.MultiWriter(log, c.in.Output())
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.env, out, out, []*os.File{tell}
	leash, err := cmd.StdinPipe()
	if err != nil {
		tell.Close()
		return err
	}
	defer leash.Close()
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		tell.Close()
		return nil
	}
	if err = cmd.Start(); err == nil {
		c.process = cmd.Process
	}
	c.mu.Unlock()
	tell.Close()
	if err != nil {
		return err
	}
	closers, err := c.lead(told)
	if err != nil {
		c.runner.Log.Error("a component does not serve", "component", c.component, "pod", c.in.Pod.Name, "error", err)
	}
	err = cmd.Wait()
	for _, l := range closers {
		l.Close()
	}
	return err
}

// lead waits until the child reports the real addresses of the pod's ports, and
// forwards connections to them.
func (c *child) lead(told io.Reader) (open []io.Closer, err error) {
	line, err := bufio.NewReader(told).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var ports map[string]string
	if err := json.Unmarshal(line, &ports); err != nil {
		return nil, err
	}
	for port, real := range ports {
		to := func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", real)
		}
		join := func(client, server net.Conn) { network.Splice(c.ctx, client, server) }
		l, err := c.in.Host.Forward(net.JoinHostPort(c.in.IP, port), to, join)
		if err != nil {
			return open, err
		}
		open = append(open, l)
	}
	return open, nil
}

// Stop implements workload.Process.
func (c *child) Stop(ctx context.Context) {
	c.mu.Lock()
	c.stopping = true
	if c.process != nil {
		c.process.Signal(syscall.SIGTERM)
	}
	c.mu.Unlock()
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.cancel()
		<-c.ended
	}
}
