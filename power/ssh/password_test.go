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

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

func TestAPasswordIsAskedForWhenNoKeyIsAcceptedAndNotKept(t *testing.T) {
	t.Parallel()
	stranger := newKey(t, "stranger", "")
	for name, sshd := range map[string][]string{
		"password":             {"PasswordAuthentication yes"},
		"keyboard-interactive": {"KbdInteractiveAuthentication yes", "UsePAM yes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := startSSHDIn(t, w, "", nil, sshd...)
			var asked []SecretQuestion
			answers := []string{"wrong", worldPassword}
			opt := Options{User: w.user, KnownHosts: []string{knownHosts(t, s)}, IdentityFiles: []string{stranger.file},
				AskSecret: func(_ context.Context, q SecretQuestion) (string, error) {
					asked = append(asked, q)
					answer := answers[0]
					if len(answers) > 1 {
						answers = answers[1:]
					}
					return answer, nil
				}}
			c := newClient(t, opt)
			run := func() error {
				r, err := c.run(soon(t), s.addr, job{command: "id -un"})
				if err == nil && strings.TrimSpace(r.Stdout) != w.user {
					t.Errorf("ran as %q", r.Stdout)
				}
				return err
			}
			if err := run(); err != nil {
				t.Fatalf("%v\n%s", err, s.log)
			}
			if len(asked) != 2 || !strings.Contains(asked[0].Prompt, w.user+"@"+s.addr) || asked[0].File != "" {
				t.Errorf("asked %+v", asked)
			}
			if err := run(); err != nil || len(asked) != 3 {
				t.Errorf("it was not asked for again: %d questions, %v", len(asked), err)
			}
			answers = []string{"wrong"}
			if err := run(); causeOf(err) != causeAuth || !strings.Contains(err.Error(), "neither a key nor the password") || strings.Contains(err.Error(), worldPassword) {
				t.Errorf("wrong passwords: %v", err)
			}
			answers, asked = []string{""}, nil
			for range 2 {
				if err := run(); causeOf(err) != causeAuth {
					t.Errorf("no answer: %v", err)
				}
			}
			if len(asked) != 1 {
				t.Errorf("who did not answer was asked %d times", len(asked))
			}
			for _, reason := range []string{"BatchMode yes", "PreferredAuthentications publickey"} {
				opt.ConfigFile = emptyConfig(t, reason)
				opt.AskSecret = func(context.Context, SecretQuestion) (string, error) {
					t.Errorf("%s: asked all the same", reason)
					return worldPassword, nil
				}
				if _, err := newClient(t, opt).run(soon(t), s.addr, job{command: "true"}); causeOf(err) != causeAuth {
					t.Errorf("%s: %v", reason, err)
				}
			}
		})
	}
}

func TestSudoWithAndWithoutAPassword(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	for name, c := range map[string]struct {
		rule      string
		command   string // before the path of the stand-in for shutdown
		answer    string
		preflight string // what the preflight says; empty: nothing
		shutdown  string
	}{
		"allowed without":             {"%u ALL=(root) NOPASSWD: {}", "sudo -n ", "", "", ""},
		"anything allowed without":    {"%u ALL=(ALL) NOPASSWD: ALL", "sudo -n ", "", "", ""},
		"only with":                   {"%u ALL=(root) {}", "sudo -n ", "", "NOPASSWD", "NOPASSWD"},
		"not at all":                  {"", "sudo -n ", "", "NOPASSWD", "NOPASSWD"},
		"something else":              {"%u ALL=(root) NOPASSWD: /bin/true", "sudo -n ", "", "does not allow it", "does not allow it"},
		"with, and something without": {"%u ALL=(ALL) ALL\n%u ALL=(root) NOPASSWD: /bin/true", "sudo -n ", "", "asks for a password", "password"},
		"two things without":          {"%u ALL=(ALL) ALL\n%u ALL=(root) NOPASSWD: /bin/true, {}", "sudo -n ", "", "", ""},
		"with, given":                 {"%u ALL=(root) {}", "sudo -S ", worldPassword, "", ""},
		"with, wrong":                 {"%u ALL=(root) {}", "sudo -S ", "not it", "", "did not accept the password"},
		"with, not given":             {"%u ALL=(root) {}", "sudo -S ", "", "", "none was given"},
		"with, and it is not allowed": {"%u ALL=(root) /bin/true", "sudo -S ", worldPassword, "", "does not allow"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mark := filepath.Join(w.dir, "mark")
			script := w.script(t, "shutdown", `[ "$(id -u) $*" = "0 -h now" ] && touch `+mark)
			rule := strings.NewReplacer("%u", w.user, "{}", script+" -h now").Replace(c.rule)
			if err := os.WriteFile(filepath.Join(w.dir, "sudoers.d", "rules"), []byte(rule+"\n"), 0o440); err != nil {
				t.Fatal(err)
			}
			s := startSSHDIn(t, w, key.authorized, nil)
			var asked atomic.Int32
			client := newClient(t, Options{ConfigFile: nodeConfig(t, s, w.user), IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)},
				AskSecret: func(_ context.Context, q SecretQuestion) (string, error) {
					if !strings.Contains(q.Prompt, "sudo") || !strings.Contains(q.Prompt, "kube-node3") {
						t.Errorf("asked %+v", q)
					}
					asked.Add(1)
					return c.answer, nil
				}})
			d := NewDriver(client, DriverOptions{Shutdown: c.command + script + " -h now"})
			m := find(t, d, "kube-node3", "10.0.0.13")
			says := func(what string, err error, want string) {
				t.Helper()
				if (err == nil) != (want == "") || (err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), worldPassword))) {
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			says("preflight", d.Preflight(soon(t), power.ActionShutdown, m), c.preflight)
			if _, err := os.Stat(mark); err == nil {
				t.Fatal("the preflight shut down")
			}
			err := d.Switch(soon(t), power.ActionShutdown, m)
			says("shutdown", err, c.shutdown)
			var refused *power.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Errorf("%T is no refusal", err)
			}
			if _, err := os.Stat(mark); (err == nil) != (c.shutdown == "") {
				t.Errorf("the command was carried out: %v", err == nil)
			}
			if want := int32(strings.Count(c.command, "-S")); asked.Load() != want {
				t.Errorf("the password was asked for %d times, want %d", asked.Load(), want)
			}
		})
	}
}

// A server may want more than a key (AuthenticationMethods publickey,keyboard-interactive).
func TestASecondFactorIsAnsweredAfterTheKey(t *testing.T) {
	t.Parallel()
	asking := func(questions ...string) cryptossh.ServerAuthCallbacks {
		return cryptossh.ServerAuthCallbacks{KeyboardInteractiveCallback: func(_ cryptossh.ConnMetadata, challenge cryptossh.KeyboardInteractiveChallenge) (*cryptossh.Permissions, error) {
			answers, err := challenge("", "", questions, make([]bool, len(questions)))
			if err == nil && (len(answers) != len(questions) || len(answers) > 0 && answers[0] != "123456") {
				err = errors.New("wrong code")
			}
			return nil, err
		}}
	}
	for name, c := range map[string]struct {
		second cryptossh.ServerAuthCallbacks
		answer string // nobody is asked if empty
		config string
		want   string
	}{
		"no questions":               {asking(), "", "", ""},
		"no questions in batch":      {asking(), "", "BatchMode yes", ""},
		"a code":                     {asking("Verification code: "), "123456", "", ""},
		"a code, nobody to ask":      {asking("Verification code: "), "", "", `accepted a key and asks "Verification code": run`},
		"a code in batch":            {asking("Verification code: "), "123456", "BatchMode yes", "BatchMode in the ssh configuration"},
		"a wrong code":               {asking("Verification code: "), "1", "", `accepted a key, but not the answer to "Verification code"`},
		"a method that is ruled out": {asking(), "", "KbdInteractiveAuthentication no", "accepted a key and wants a second way"},
	} {
		key := newKey(t, "id", "")
		s := (&stub{second: c.second, dial: func(addr string) func() (net.Conn, error) {
			return func() (net.Conn, error) { return net.Dial("tcp", addr) }
		}}).start(t)
		opt := Options{Bastion: "u@" + s.addr, IdentityFiles: []string{newKey(t, "locked", "x").file, key.file}, KnownHosts: []string{knownHosts(t, s)}, ConfigFile: emptyConfig(t, c.config)}
		if c.answer != "" {
			opt.AskSecret = func(_ context.Context, q SecretQuestion) (string, error) {
				if q.File != "" {
					t.Errorf("%s: asked for the passphrase of a key that is not needed", name)
				}
				return c.answer, nil
			}
		}
		if err := reach(t, newClient(t, opt)); (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || causeOf(err) != causeSecond) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
