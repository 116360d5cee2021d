package ssh

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
	"lightsout/power/powertest"
)

// site is a node behind a bastion, and what may befall them.
type site struct {
	mu    sync.Mutex
	state power.State // Unknown: the host is up, and its sshd is not
	fault string      // of "unreachable", "gone", "stall", "lose", "refuse"
	ways  []net.Conn  // to the bastion
}

func (s *site) set(state power.State, fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.fault = state, fault
}

func (s *site) is() (power.State, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.fault
}

// suffer brings a fault about; the machine stays as it is.
func (s *site) suffer(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
	if fault == "gone" {
		for _, c := range s.ways {
			c.Close()
		}
	}
}

// forward is what the bastion does with a connection to the node.
func (s *site) forward(addr string) func() (net.Conn, error) {
	state, fault := s.is()
	fail := func(why string) func() (net.Conn, error) {
		return func() (net.Conn, error) { return nil, errors.New(why) }
	}
	switch {
	case fault == "stall":
		return nil
	case fault == "refuse":
		return fail("\x1b[31m\u202erefused " + addr)
	case fault == "unreachable", state == power.Off:
		return fail("No route to host")
	case state == power.Unknown:
		return fail("Connection refused")
	}
	return func() (net.Conn, error) { return net.Dial("tcp", addr) }
}

// bastion starts a bastion that can be gone.
func (s *site) bastion(t *testing.T) *server {
	behind := (&stub{dial: s.forward}).start(t)
	front := tcpServer(t, func(conn net.Conn) {
		far, err := net.Dial("tcp", behind.addr)
		if err != nil {
			return
		}
		defer far.Close()
		s.mu.Lock()
		gone := s.fault == "gone"
		s.ways = append(s.ways, conn)
		s.mu.Unlock()
		if gone {
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() { defer conn.Close(); pipe(conn, far) })
		pipe(far, conn)
		far.Close()
		wg.Wait()
	})
	return &server{addr: front, keys: behind.keys}
}

func TestContract(t *testing.T) {
	const password = "hunter2-of-sudo"
	for name, command := range map[string]string{
		"sudo without a password": defaultShutdown,
		"sudo with a password":    asksPassword + "shutdown -h now",
	} {
		t.Run(name, func(t *testing.T) {
			powertest.Run(t, func(t *testing.T) *powertest.World {
				s := &site{state: power.On}
				obey := func(line string, req *cryptossh.Request, ch cryptossh.Channel, conn *cryptossh.ServerConn) {
					if _, fault := s.is(); fault == "lose" && !isProbe(line) {
						s.set(power.Off, "")
						conn.Close()
						return
					}
					if isProbe(line) {
						exit(req, ch, 0, "")
						return
					}
					_ = req.Reply(true, nil)
					status := struct{ Status uint32 }{}
					if !strings.Contains(line, " -S ") {
						s.set(power.Off, "")
					} else if said, _ := bufio.NewReader(ch).ReadString('\n'); said == password+"\n" {
						s.set(power.Off, "")
					} else {
						status.Status = 1
					}
					_, _ = ch.SendRequest("exit-status", false, cryptossh.Marshal(status))
				}
				bastion, node := s.bastion(t), (&stub{exec: obey}).start(t)
				client := newClient(t, Options{
					Bastion: "u@" + bastion.addr, ConfigFile: nodeConfig(t, node, "u"),
					IdentityFiles: []string{newKey(t, "id", "").file}, KnownHosts: []string{knownHosts(t, bastion, node)},
					AskSecret: func(context.Context, SecretQuestion) (string, error) { return password, nil },
				})
				return &powertest.World{
					Driver: NewDriver(client, DriverOptions{Shutdown: command, Timeout: patience,
						NodeSilent: func(power.Machine) bool { state, _ := s.is(); return state == power.Off }}),
					Can:         power.Abilities{State: true, Shutdown: true},
					Machine:     powertest.Lookup{Node: power.NodeRef{Name: "kube-node3", Addresses: []string{"10.0.0.13"}}},
					Set:         func(state power.State) { s.set(state, "") },
					Is:          func() power.State { state, _ := s.is(); return state },
					States:      []power.State{power.Unknown},
					Polls:       2,
					Unreachable: func() { s.suffer("unreachable") },
					Gone:        func() { s.suffer("gone") },
					Stall:       func() func() { s.suffer("stall"); return func() { s.suffer("") } },
					Lose:        func() { s.suffer("lose") },
					Refuse:      func() { s.suffer("refuse") },
					Secrets:     []string{password},
				}
			})
		})
	}
}

// A node that repeats what it was sent must not get the password onto the screen.
func TestARefusalDoesNotRepeatThePassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2 of sudo"
	s := (&stub{exec: func(line string, req *cryptossh.Request, ch cryptossh.Channel, _ *cryptossh.ServerConn) {
		if isProbe(line) {
			exit(req, ch, 0, "")
			return
		}
		_ = req.Reply(true, nil)
		said, _ := bufio.NewReader(ch).ReadString('\n')
		_, _ = ch.Stderr().Write([]byte("\x1b[31mno: " + said))
		_, _ = ch.SendRequest("exit-status", false, cryptossh.Marshal(struct{ Status uint32 }{1}))
	}}).start(t)
	client := newClient(t, Options{
		ConfigFile: nodeConfig(t, s, "u"), IdentityFiles: []string{newKey(t, "id", "").file}, KnownHosts: []string{knownHosts(t, s)},
		AskSecret: func(context.Context, SecretQuestion) (string, error) { return password, nil },
	})
	d := NewDriver(client, DriverOptions{Shutdown: asksPassword + "shutdown -h now"})
	err := d.Switch(soon(t), power.ActionShutdown, find(t, d, "kube-node3", "10.0.0.13"))
	var unconfirmed *power.UnconfirmedError
	if !errors.As(err, &unconfirmed) || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "no: ") {
		t.Errorf("got %v", err)
	}
}

// systemctl poweroff ends with status 1 when logind does not answer in time, and the job
// that it has queued goes on.
func TestAShutdownThatFailedAfterItBeganIsUncertain(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	node := startSSHD(t, key.authorized, nil)
	client := newClient(t, Options{ConfigFile: nodeConfig(t, node, me(t)), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, node)}})
	notExecutable := filepath.Join(t.TempDir(), "shutdown")
	if err := os.WriteFile(notExecutable, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, certain := range map[string]bool{
		"/no/such/shutdown": true,
		notExecutable:       true,
		script(t, "echo 'Failed to power off system via logind: Connection timed out' >&2; exit 1"): false,
		script(t, "exit 2"):                 false,
		script(t, "true; /no/such/command"): false,
		script(t, "echo 'Failed to start poweroff.target: Interactive authentication required.' >&2; exit 1"): false,
		"true; /no/such/command": false,
	} {
		d := NewDriver(client, DriverOptions{Shutdown: command})
		err := d.Switch(soon(t), power.ActionShutdown, find(t, d, "kube-node3", "10.0.0.13"))
		var refused *power.RefusedError
		var unconfirmed *power.UnconfirmedError
		if errors.As(err, &refused) != certain || errors.As(err, &unconfirmed) == certain {
			t.Errorf("%s: %T %v", command, err, err)
		}
	}
}

// A node did not run the command, or refused to start it: a machine that goes off later is not
// lightsout's work. The words of a refusal do not matter.
func TestACommandThatANodeDidNotRunSwitchesNothing(t *testing.T) {
	t.Parallel()
	type answer struct {
		started bool
		stderr  string
		status  uint32
	}
	refusing := func(stderr string, status uint32) answer { return answer{true, stderr, status} }
	yes := refusing("", 0)
	for name, c := range map[string]struct {
		probe, command answer
		claims         bool
		todo           string
	}{
		"sudo":               {refusing("sudo: a password is required\n", 1), yes, false, "NOPASSWD"},
		"sudo-rs":            {refusing("sudo: interactive authentication is required\n", 1), yes, false, "NOPASSWD"},
		"sudo in Japanese":   {refusing("sudo: パスワードが必要です\n", 1), yes, false, "NOPASSWD"},
		"sudo in German":     {refusing("sudo: Ein Passwort ist notwendig\n", 1), yes, false, "NOPASSWD"},
		"not found":          {refusing("sh: 1: sudo: not found\n", 127), yes, false, "ssh.shutdown"},
		"not started":        {yes, answer{}, false, "refused to start"},
		"failed later":       {yes, refusing("Call to PowerOff failed: Connection timed out\n", 1), true, ""},
		"refused afterwards": {yes, refusing("sudo: a password is required\n", 1), true, ""},
	} {
		s := (&stub{exec: func(line string, req *cryptossh.Request, ch cryptossh.Channel, _ *cryptossh.ServerConn) {
			a := c.command
			if isProbe(line) {
				a = c.probe
			}
			if !strings.Contains(line, "env LC_ALL=C sudo ") {
				t.Errorf("%s: it runs %q", name, line)
			}
			if !a.started {
				_ = req.Reply(false, nil)
				return
			}
			_, _ = ch.Write([]byte("Welcome to node1\n"))
			exit(req, ch, a.status, a.stderr)
		}}).start(t)
		client := newClient(t, Options{ConfigFile: nodeConfig(t, s, "u"), IdentityFiles: []string{newKey(t, "id", "").file}, KnownHosts: []string{knownHosts(t, s)}})
		d := NewDriver(client, DriverOptions{Shutdown: "sudo -n shutdown -h now"})
		m := find(t, d, "kube-node3", "10.0.0.13")
		err := d.Switch(soon(t), power.ActionShutdown, m)
		if err == nil || !strings.Contains(err.Error(), c.todo) || errors.As(err, new(*power.UnconfirmedError)) != c.claims {
			t.Errorf("%s: %T %v, want %q", name, err, err, c.todo)
		}
		if !c.claims && powertest.Claims(t, d, power.ActionShutdown, m) {
			t.Errorf("%s: the journal lists it", name)
		}
	}
}

// script writes a shell script and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shutdown")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
