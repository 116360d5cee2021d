package ssh

import (
	"context"
	"strings"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

func TestPowerCommandsDistinguishTheirOutcomes(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	bastion, node := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	c := newClient(t, Options{Bastion: me(t) + "@" + bastion.addr, User: me(t), IdentityFiles: []string{key.file},
		KnownHosts: []string{knownHosts(t, bastion, node)}})
	cases := []struct {
		command string
		outcome outcome
		status  int
		stderr  string
	}{
		{"true", succeeded, 0, ""},
		{"echo no password >&2; exit 1", failed, 1, "no password"},
		{"no-such-command", failed, 127, "not found"},
		{"kill -TERM $$", vanished, 143, ""},
		{"sh -c 'kill -TERM $$'; exit 143", vanished, 143, ""},
		{"exit 255", vanished, 255, ""},
		{"echo usage >&2; exit 255", failed, 255, "usage"},
		{"kill -KILL $PPID; sleep 60", vanished, 0, ""}, // the server's own process: the connection ends
	}
	for _, k := range cases {
		r, err := c.run(soon(t), node.addr, job{command: k.command})
		if err != nil || r.Outcome != k.outcome || r.Status != k.status || !strings.Contains(r.Stderr, k.stderr) {
			t.Errorf("%s: %+v, %v; want %d, status %d", k.command, r, err, k.outcome, k.status)
		}
	}
	if n := bastion.log.count("Accepted publickey"); n != 1 {
		t.Errorf("%d logins at the bastion for %d commands", n, len(cases))
	}
	if r, err := c.run(soon(t), node.addr, job{command: "head -c 100000 /dev/zero"}); err != nil || len(r.Stdout) != outputLimit {
		t.Errorf("%d bytes kept of a long output, %v", len(r.Stdout), err)
	}
}

func TestACommandThatMayHaveStartedIsUncertain(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	for name, c := range map[string]struct {
		exec      func(string, *cryptossh.Request, cryptossh.Channel, *cryptossh.ServerConn)
		uncertain bool
		vanished  bool
		says      string
	}{
		"lost before the answer": {exec: func(_ string, _ *cryptossh.Request, _ cryptossh.Channel, conn *cryptossh.ServerConn) { conn.Close() },
			uncertain: true, says: "lost"},
		"closed without a status": {exec: func(_ string, req *cryptossh.Request, _ cryptossh.Channel, _ *cryptossh.ServerConn) {
			_ = req.Reply(true, nil)
		}, vanished: true, says: "without a status"},
		"lost while it ran": {exec: func(_ string, req *cryptossh.Request, _ cryptossh.Channel, conn *cryptossh.ServerConn) {
			_ = req.Reply(true, nil)
			conn.Close()
		}, vanished: true, says: "without a status"},
		"not allowed": {exec: func(_ string, req *cryptossh.Request, _ cryptossh.Channel, _ *cryptossh.ServerConn) {
			_ = req.Reply(false, nil)
		}, says: "refused to start"},
	} {
		t.Run(name, func(t *testing.T) {
			s := (&stub{exec: c.exec}).start(t)
			client := newClient(t, Options{User: "u", IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
			r, err := client.run(soon(t), s.addr, job{command: "sudo -n shutdown -h now"})
			switch {
			case c.uncertain && (err != nil || r.Outcome != uncertain || !strings.Contains(r.Why, c.says)),
				c.vanished && (err != nil || r.Outcome != vanished || !strings.Contains(r.Why, c.says)),
				!c.uncertain && !c.vanished && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	for name, answer := range map[string]bool{"before the answer": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(soon(t))
			s := (&stub{exec: func(_ string, req *cryptossh.Request, ch cryptossh.Channel, conn *cryptossh.ServerConn) {
				if answer {
					_ = req.Reply(true, nil)
				}
				cancel()
				_ = conn.Wait() // until the client hangs up
			}}).start(t)
			client := newClient(t, Options{User: "u", IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
			r, err := client.run(ctx, s.addr, job{command: "sudo -n shutdown -h now"})
			if err != nil || r.Outcome != uncertain {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// sudo ends its sentences; the next step follows in the same one.
func TestARefusalIsOneSentence(t *testing.T) {
	d := &Driver{}
	d.opt.Shutdown = "sudo -n shutdown -h now"
	err := d.obeys(power.Machine{Name: "n"}, "shutdown -h now")(result{Outcome: failed, Status: 1, Stderr: "Sorry, user a may not run sudo on n.\n"})
	if err == nil || !strings.Contains(err.Error(), "may not run sudo on n; allow the user") {
		t.Errorf("got %v", err)
	}
}
