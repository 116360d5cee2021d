package ssh

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"lightsout/power"
)

func TestOneSessionAtATimeIsEnough(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil, "MaxSessions 1"), startSSHD(t, key.authorized, nil, "MaxSessions 1")
	c := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, User: me(t), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if r, err := c.run(soon(t), node.addr, job{command: "sleep 0.2"}); err != nil || r.Outcome != succeeded {
				t.Errorf("on the node: %+v, %v", r, err)
			}
		})
		wg.Go(func() {
			if r, err := c.runOnBastion(soon(t), "sleep 0.2"); err != nil || r.Outcome != succeeded {
				t.Errorf("on the bastion: %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if n := bastion.log.count("Accepted publickey"); n != 1 {
		t.Errorf("%d logins at the bastion", n)
	}
}

func TestABastionWithoutSessionsStillForwards(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil, "MaxSessions 0"), startSSHD(t, key.authorized, nil)
	c := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, User: me(t), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
	if r, err := c.run(soon(t), node.addr, job{command: "true"}); err != nil || r.Outcome != succeeded {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.runOnBastion(soon(t), "true"); err == nil || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("on the bastion: %v", err)
	}
}

// A node that stops answering in the middle of its shutdown is not waited for
// until the action's deadline, and what it did is not guessed.
func TestANodeThatStopsAnsweringInTheMiddleIsUncertain(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	pidFile := filepath.Join(t.TempDir(), "pid")
	client := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, ConfigFile: nodeConfig(t, node, me(t)),
		IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
	d := NewDriver(client, DriverOptions{Shutdown: "echo $PPID > " + pidFile + "; kill -STOP $PPID"})
	m := find(t, d, "kube-node3", "10.0.0.13")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Switch(ctx, power.ActionShutdown, m) }()
	pid := 0
	waitFor(t, "the command to have begun", func() bool {
		data, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	cancel() // as the time for the command ends it
	var unconfirmed *power.UnconfirmedError
	if err := <-ended; !errors.As(err, &unconfirmed) {
		t.Errorf("got %v", err)
	}
	if n := node.log.count("Accepted publickey"); n != 1 {
		t.Errorf("it was logged in to %d times", n)
	}
}
