package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"lightsout/cluster/lab/machine"
	"lightsout/cluster/lab/network"
	"lightsout/cluster/lab/scenario"
	"lightsout/cluster/lab/sshd"
)

// startBastion makes the client's key and opens the one door to the lab.
func (l *Lab) startBastion() error {
	var err error
	l.identity, err = sshd.NewKey(user + "@lightsout-lab")
	if err != nil {
		return err
	}
	key, err := sshd.NewKey(bastionName)
	if err != nil {
		return err
	}
	l.nodeKeys[bastionName] = key
	l.door, err = net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the bastion's ssh server: %w", err)
	}
	host := l.network.AddHost(bastionName, bastionIP)
	shell := &sshd.Shell{Hostname: bastionName, User: user}
	server := sshd.New(sshd.Config{
		HostKey: key.Signer, User: user, Authorized: []ssh.PublicKey{l.identity.Signer.PublicKey()},
		Dial: host.DialContext, Run: shell.Run,
	})
	l.wg.Go(func() { l.report("the bastion's ssh server", server.Serve(l.ctx, l.door)) })
	return nil
}

// boot is called at each boot of a machine: it starts the machine's ssh
// server, and on the control plane's machine lets the API server be reached.
func (l *Lab) boot(ctx context.Context, m *machine.Machine) error {
	listener, err := m.Host().Listen(":22")
	if err != nil {
		return fmt.Errorf("start the ssh server of %s: %w", m.Name(), err)
	}
	serving, stop := context.WithCancel(ctx)
	shell := &sshd.Shell{
		Hostname: m.Name(), User: user, BootID: m.BootID,
		Sudo: func() string { return l.sudo.get(m.Name()) },
		Shutdown: func() {
			if err := m.Shutdown(); err != nil {
				l.log.Warn("shutdown", "machine", m.Name(), "error", err)
			}
			// systemd stops sshd, and the session with it, a moment later.
			after := time.AfterFunc(l.sshdStops(), stop)
			context.AfterFunc(serving, func() { after.Stop() })
		},
	}
	server := sshd.New(sshd.Config{
		HostKey: l.nodeKeys[m.Name()].Signer, User: user,
		Authorized: []ssh.PublicKey{l.identity.Signer.PublicKey()}, Run: shell.Run,
	})
	l.wg.Go(func() {
		defer stop()
		if err := server.Serve(serving, listener); err != nil && !errors.Is(err, network.ErrPowerCut) {
			l.report("the ssh server of "+m.Name(), err)
		}
	})
	if m.ControlPlane() {
		return l.openAPIServer(ctx, m.Host())
	}
	return nil
}

// sshdStops is how long after the command a shutdown ends the ssh server.
func (l *Lab) sshdStops() time.Duration {
	if l.scenario.Pace == scenario.Fast {
		return 300 * time.Millisecond
	}
	return time.Second
}

// openAPIServer passes what arrives at the API server's address in the lab to
// where it really listens.
func (l *Lab) openAPIServer(ctx context.Context, host *network.Host) error {
	l.apiHost.Store(host)
	listener, err := host.Listen(l.scenario.APIServer)
	if err != nil {
		return fmt.Errorf("listen at the API server's address: %w", err)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	l.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() {
				defer client.Close()
				var d net.Dialer
				server, err := d.DialContext(ctx, "tcp", l.control.LocalAddress())
				if err != nil {
					return // the API server is down
				}
				network.Splice(ctx, client, server)
			})
		}
	})
	return nil
}

// faults are the messages with which sudo fails, by machine.
type faults struct {
	mu      sync.Mutex
	message map[string]string
}

func (f *faults) set(machine, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.message == nil {
		f.message = map[string]string{}
	}
	f.message[machine] = message
}

func (f *faults) get(machine string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.message[machine]
}
