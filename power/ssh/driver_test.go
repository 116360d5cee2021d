package ssh

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

// find gives the machine of a node at an address.
func find(t *testing.T, d *Driver, name, addr string) power.Machine {
	t.Helper()
	m, err := d.Find(context.Background(), power.NodeRef{Name: name, Addresses: []string{addr}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// nodeConfig leads 10.0.0.13 to a server's port on this machine.
func nodeConfig(t *testing.T, s *server, user string) string {
	return emptyConfig(t, "Host 10.0.0.13", "  HostName 127.0.0.1", "  Port "+s.port, "  User "+user)
}

func TestANodeIsShutDownOverTheBastion(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	mark := filepath.Join(t.TempDir(), "shut-down")
	for name, c := range map[string]struct {
		command string
		ok      bool
		says    string
		certain bool // that nothing was switched
	}{
		"it ends well":          {"touch " + mark, true, "", false},
		"it takes ssh with it":  {"touch " + mark + "; kill -KILL $PPID; sleep 60", true, "", false},
		"sudo wants a password": {script(t, "echo 'sudo: a \x1b[1mpassword\x1b[0m is required' >&2; exit 1"), false, "password", false},
		"there is no command":   {"no-such-shutdown -h now", false, "ssh.shutdown", true},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(mark)
			client := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, ConfigFile: nodeConfig(t, node, me(t)),
				IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
			d := NewDriver(client, DriverOptions{Shutdown: c.command})
			m := find(t, d, "kube-node3", "10.0.0.13")
			if m.ID != node.addr || m.Name != "kube-node3" || m.How != power.HowAddress {
				t.Errorf("machine %+v", m)
			}
			via, shell := me(t)+"@"+bastion.addr, client.CommandTo(m)
			if want := "ssh -F " + client.opt.ConfigFile + " -i " + key.file + " -J " + via + " " + me(t) + "@10.0.0.13"; shell != want || client.CommandTo(power.Machine{Driver: "mdx", ID: m.ID}) != "" {
				t.Errorf("by hand %q, want %q", shell, want)
			}
			err := d.Switch(soon(t), power.ActionShutdown, m)
			if (err == nil) != c.ok || (err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\x1b"))) {
				t.Errorf("got %v", err)
			}
			var refused *power.RefusedError
			if err != nil && errors.As(err, &refused) != c.certain {
				t.Errorf("%T: a refusal is %t", err, c.certain)
			}
			if _, err := os.Stat(mark); (err == nil) != c.ok {
				t.Errorf("the command ran: %v", err == nil)
			}
		})
	}
}

func TestPreflightReportsMachinesThatWouldNotObey(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	var asked []string
	s := (&stub{exec: func(command string, req *cryptossh.Request, ch cryptossh.Channel, _ *cryptossh.ServerConn) {
		asked = append(asked, command)
		if command == marked("env LC_ALL=C sudo -n -l shutdown -h now && env LC_ALL=C sudo -n -l") {
			exit(req, ch, 0, "")
			return
		}
		exit(req, ch, 1, "sudo: a password is required")
	}}).start(t)
	client := newClient(t, Options{ConfigFile: nodeConfig(t, s, "u"), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
	allowed, forbidden := NewDriver(client, DriverOptions{}), NewDriver(client, DriverOptions{Shutdown: "sudo -n poweroff"})
	m := find(t, allowed, "n", "10.0.0.13")
	if err := allowed.Preflight(soon(t), power.ActionShutdown, m); err != nil {
		t.Errorf("allowed just this: %v", err)
	}
	if err := forbidden.Preflight(soon(t), power.ActionShutdown, m); err == nil || !strings.Contains(err.Error(), "NOPASSWD") {
		t.Errorf("not allowed: %v", err)
	}
	several := NewDriver(client, DriverOptions{Shutdown: "sudo -n sync; poweroff"})
	if err := several.Preflight(soon(t), power.ActionShutdown, m); err == nil {
		t.Error("a login that fails is no answer")
	}
	for _, command := range asked {
		if !isProbe(command) && command != "true" {
			t.Errorf("a preflight ran %q", command)
		}
	}
}

func TestStateIsOnWhileSSHAnswersAndUnknownWhenItStopped(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	client := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, ConfigFile: nodeConfig(t, node, me(t)),
		IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, bastion, node)}})
	d := NewDriver(client, DriverOptions{})
	m := find(t, d, "n", "10.0.0.13")
	if r, err := d.State(soon(t), m); err != nil || r.State != power.On || r.Proof != power.Proven {
		t.Errorf("%+v, %v", r, err)
	}
	node.stop()
	for range 3 { // however often: a host that refuses is up
		if r, err := d.State(soon(t), m); err != nil || r.State != power.Unknown || !strings.Contains(r.Detail, "sshd stopped") {
			t.Errorf("refused: %+v, %v", r, err)
		}
	}
	bastion.stop()
	pid := sessionPID(t, client)
	killAndWait(t, client, pid)
	if r, err := d.State(soon(t), m); err == nil || r.State == power.Off {
		t.Errorf("without the bastion nothing can be told: %+v, %v", r, err)
	}
}

func killAndWait(t *testing.T, c *Client, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss", func() bool { return !c.status().Connected })
}

func TestSilenceIsPresumedOffOnlyWithASecondWitness(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	type witness func(power.Machine) bool
	says := func(b bool) witness { return func(power.Machine) bool { return b } }
	for name, c := range map[string]struct {
		nodeSilent witness
		answered   bool
		noRoute    bool
		off        bool
	}{
		"never seen":                           {nil, false, false, false},
		"the cluster says it is silent":        {says(true), false, false, true},
		"the cluster hears it":                 {says(false), true, false, false},
		"the cluster says so, and no route to": {says(true), false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var up atomic.Bool
			up.Store(c.answered)
			banner := tcpServer(t, func(conn net.Conn) { conn.Write([]byte("SSH-2.0-test\r\n")); conn.Read(make([]byte, 1)) })
			s := (&stub{dial: func(string) func() (net.Conn, error) {
				switch {
				case up.Load():
					return func() (net.Conn, error) { return net.Dial("tcp", banner) }
				case c.noRoute:
					return func() (net.Conn, error) { return nil, errors.New("No route to host") }
				}
				return nil
			}}).start(t)
			client := newClient(t, Options{Bastion: "u@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)},
				KeepAlive: 5 * time.Millisecond})
			d := NewDriver(client, DriverOptions{NodeSilent: c.nodeSilent, Timeout: 50 * time.Millisecond})
			if c.answered {
				d.opt.Timeout = patience
			}
			m := find(t, d, "n", "10.0.0.13")
			if c.answered {
				if r, err := d.State(soon(t), m); err != nil || r.State != power.On {
					t.Fatalf("%+v, %v", r, err)
				}
				d.opt.Timeout = 50 * time.Millisecond
			}
			up.Store(false)
			if r, err := d.State(soon(t), m); err != nil || r.State != power.Unknown {
				t.Errorf("after one look: %+v, %v", r, err)
			}
			// As many looks as may be left pending, and more.
			end := time.Now().Add(patience)
			for looks := 1; looks <= 20 || (c.off && time.Now().Before(end)); looks++ {
				r, err := d.State(soon(t), m)
				if err != nil {
					t.Fatal(err)
				}
				if r.State == power.Off {
					if !c.off || r.Proof != power.Presumed {
						t.Errorf("look %d: %+v", looks, r)
					}
					return
				}
			}
			if c.off {
				t.Error("never presumed off")
			}
		})
	}
}

func TestAMachineIsFoundAtItsFirstAddress(t *testing.T) {
	t.Parallel()
	d := NewDriver(newClient(t, Options{User: "mdxuser", ConfigFile: emptyConfig(t, "Host special", "HostName 10.9.9.9", "Port 2222", "User admin")}), DriverOptions{})
	for _, c := range []struct {
		node         power.NodeRef
		hint         string
		id, how, run string
	}{
		{power.NodeRef{Name: "n", Addresses: []string{"10.0.0.13", "10.0.1.13"}}, "", "10.0.0.13:22", "address", "mdxuser@10.0.0.13"},
		{power.NodeRef{Name: "n", Addresses: []string{"10.0.0.13"}}, "vm-name", "10.0.0.13:22", "address", "mdxuser@10.0.0.13"},
		{power.NodeRef{Name: "n", Addresses: []string{"fd00::13"}}, "", "[fd00::13]:22", "address", "mdxuser@[fd00::13]"},
		{power.NodeRef{Name: "n"}, "special", "10.9.9.9:2222", "", "admin@special"},
		{power.NodeRef{Name: "special"}, "", "10.9.9.9:2222", "name", "admin@special"},
	} {
		m, err := d.Find(context.Background(), c.node, c.hint)
		if err != nil || m.ID != c.id || m.How != c.how || spec(m) != c.run {
			t.Errorf("%+v %q: %+v (run on %s), %v; want %s by %q", c.node, c.hint, m, spec(m), err, c.id, c.how)
		}
	}
}

// The boot ID is the system's own, whatever the login shell prints beside it.
func TestTheBootIDIsReadFromTheSystem(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	id := "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"
	other := strings.Repeat("0", 8) + id[8:]
	within := func(s string) string { return beginMark + "\n" + s + endMark + "\n" }
	for printed, want := range map[string]string{
		within(id + "\n"): id, within(""): "", within("boot\n"): "", id + "\n": id, "": "",
		"Welcome to node1 (managed by ops)\n" + within(id+"\n"): id, "no newline " + within(id+"\n") + other + "\n": id,
		other + "\n" + within(id+"\n"): id, other + "\n" + within(""): "",
		"Welcome to node1 (managed by ops)\n" + id + "\n": id,
	} {
		s := (&stub{exec: func(command string, req *cryptossh.Request, ch cryptossh.Channel, _ *cryptossh.ServerConn) {
			if command != marked("cat /proc/sys/kernel/random/boot_id") {
				t.Errorf("it runs %q", command)
			}
			_, _ = ch.Write([]byte(printed))
			exit(req, ch, 0, "")
		}}).start(t)
		client := newClient(t, Options{ConfigFile: nodeConfig(t, s, "u"), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
		d := NewDriver(client, DriverOptions{})
		if got, err := d.BootID(soon(t), find(t, d, "n", "10.0.0.13")); err != nil || got != want {
			t.Errorf("%q: %q, %v", printed, got, err)
		}
	}
}
