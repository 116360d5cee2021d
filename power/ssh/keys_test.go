package ssh

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	cryptossh "golang.org/x/crypto/ssh"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// startAgent starts a real ssh-agent with the given keys.
func startAgent(t *testing.T, keys ...keyPair) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command(tool(t, "ssh-agent"), "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "the agent", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	for _, k := range keys {
		add := exec.Command(tool(t, "ssh-add"), k.file)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v: %s", err, out)
		}
	}
	return socket
}

func TestKeysComeFromTheAgentAndFromFiles(t *testing.T) {
	t.Parallel()
	inAgent, inFile, public := newKey(t, "in-agent", ""), newKey(t, "in-file", ""), newKey(t, "public", "")
	if err := os.WriteFile(public.file+".pub", []byte(public.authorized), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := startAgent(t, inAgent, public)
	if err := os.Remove(public.file); err != nil { // only the agent has it now
		t.Fatal(err)
	}
	dead := filepath.Join(t.TempDir(), "gone")
	cases := map[string]struct {
		accepted keyPair
		agent    string
		config   []string
		ok       bool
	}{
		"the agent's":                      {inAgent, agent, nil, true},
		"the agent's, besides a file's":    {inAgent, agent, []string{"IdentityFile " + inFile.file}, true},
		"a file's, besides the agent's":    {inFile, agent, []string{"IdentityFile " + inFile.file}, true},
		"a file's, the agent being gone":   {inFile, dead, []string{"IdentityFile " + inFile.file}, true},
		"only a file's":                    {inFile, agent, []string{"IdentityFile " + inFile.file, "IdentitiesOnly yes"}, true},
		"not the agent's":                  {inAgent, agent, []string{"IdentityFile " + inFile.file, "IdentitiesOnly yes"}, false},
		"the agent's, named by a file":     {public, agent, []string{"IdentityFile " + public.file, "IdentitiesOnly yes"}, true},
		"the agent's, named by a pub file": {public, agent, []string{"IdentityFile " + public.file + ".pub", "IdentitiesOnly yes"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := startSSHD(t, c.accepted.authorized, nil)
			client := newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{knownHosts(t, s)}, AgentSocket: c.agent,
				ConfigFile: emptyConfig(t, c.config...)})
			err := reach(t, client)
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
			if err != nil && causeOf(err) != causeAuth {
				t.Errorf("cause %v of %v", causeOf(err), err)
			}
		})
	}
}

func TestAKeyThatIsNotAcceptedIsOneSentence(t *testing.T) {
	accepted, mine := newKey(t, "accepted", ""), newKey(t, "mine", "")
	s := startSSHD(t, accepted.authorized, nil)
	known := []string{knownHosts(t, s)}
	bastion := me(t) + "@" + s.addr
	err := reach(t, newClient(t, Options{Bastion: bastion, KnownHosts: known, IdentityFiles: []string{mine.file}}))
	if causeOf(err) != causeAuth || !strings.Contains(err.Error(), "none of the keys ("+mine.file+") was accepted by "+bastion) {
		t.Errorf("a wrong key: %v", err)
	}
	t.Setenv("HOME", t.TempDir())
	err = reach(t, newClient(t, Options{Bastion: bastion, KnownHosts: known}))
	if causeOf(err) != causeAuth || !strings.Contains(err.Error(), "no key to offer to "+bastion) {
		t.Errorf("no key: %v", err)
	}
	err = reach(t, newClient(t, Options{Bastion: bastion, KnownHosts: known, IdentityFiles: []string{"/none/such"}}))
	if causeOf(err) != causeAuth || !strings.Contains(err.Error(), "/none/such") {
		t.Errorf("a missing file: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	err = reach(t, newClient(t, Options{Bastion: bastion, KnownHosts: known, IdentityFiles: []string{pipe}}))
	if causeOf(err) != causeAuth || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("planted-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = reach(t, newClient(t, Options{Bastion: bastion, KnownHosts: known, IdentityFiles: []string{garbage}}))
	if err == nil || !strings.Contains(err.Error(), "is not understood") || strings.Contains(err.Error(), "planted-secret") {
		t.Errorf("garbage: %v", err)
	}
}

func TestLightsoutAsksForAPassphraseOnceAndNeverShowsIt(t *testing.T) {
	t.Parallel()
	const secret = "planted-secret"
	key := newKey(t, "locked", secret)
	s := startSSHD(t, key.authorized, nil)
	opt := Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{knownHosts(t, s)}, IdentityFiles: []string{key.file}}

	var asked []SecretQuestion
	opt.AskSecret = func(_ context.Context, q SecretQuestion) (string, error) {
		asked = append(asked, q)
		if len(asked) == 1 {
			return secret + "-wrong", nil
		}
		return secret, nil
	}
	c := newClient(t, opt)
	if err := reach(t, c); err != nil {
		t.Fatal(err)
	}
	if r, err := c.run(soon(t), me(t)+"@"+s.addr, job{command: "true"}); err != nil || r.Outcome != succeeded {
		t.Errorf("a second connection with the same key: %+v, %v", r, err)
	}
	if len(asked) != 2 || asked[1].File != key.file {
		t.Errorf("asked %+v", asked)
	}

	for name, ask := range map[string]func(context.Context, SecretQuestion) (string, error){
		"nobody to ask": nil,
		"wrong answers": func(context.Context, SecretQuestion) (string, error) { return secret + "-wrong", nil },
		"no answer":     func(context.Context, SecretQuestion) (string, error) { return "", errors.New(secret) },
	} {
		opt.AskSecret = ask
		err := reach(t, newClient(t, opt))
		if causeOf(err) != causeAuth || !strings.Contains(err.Error(), "passphrase") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// securityKey writes what ssh-keygen -t ed25519-sk writes, two files: the private half is with the token.
func securityKey(t *testing.T) (file, public string) {
	t.Helper()
	str := func(parts ...string) []byte {
		var out []byte
		for _, p := range parts {
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...)
		}
		return out
	}
	const kind = "sk-ssh-ed25519@openssh.com"
	pub := str(kind, strings.Repeat("k", 32), "ssh:")
	private := slices.Concat([]byte("checchec"), pub, []byte{1}, str("handle", "", "comment"), []byte{1, 2, 3, 4, 5})
	body := slices.Concat([]byte("openssh-key-v1\x00"), str("none", "none", ""), []byte{0, 0, 0, 1}, str(string(pub), string(private)))
	file = filepath.Join(t.TempDir(), "id_ed25519_sk")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: body}), 0o600); err != nil {
		t.Fatal(err)
	}
	public = kind + " " + base64.StdEncoding.EncodeToString(pub)
	if err := os.WriteFile(file+".pub", []byte(public+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// As ssh does: what can't be used is left out, and the next one is tried.
func TestAFileThatCannotBeUsedIsLeftOut(t *testing.T) {
	accepted := newKey(t, "accepted", "")
	s := startSSHD(t, accepted.authorized, nil)
	sk, skPublic := securityKey(t)
	if pub := publicOf(sk); pub == nil || !strings.HasPrefix(string(cryptossh.MarshalAuthorizedKey(pub)), skPublic) {
		t.Errorf("the public half of the security key is %v", pub)
	}
	open := newKey(t, "open", "")
	if err := os.Chmod(open.file, 0o644); err != nil {
		t.Fatal(err)
	}
	garbage := emptyConfig(t, "no key")
	gone := filepath.Join(t.TempDir(), "gone")
	agent := startAgent(t, accepted)
	for name, c := range map[string]struct{ line, want string }{
		"a security key":              {"IdentityFile " + sk, "works only with an agent"},
		"a key that others can read":  {"IdentityFile " + open.file, "chmod 600"},
		"a missing key":               {"IdentityFile " + gone, "can't be read"},
		"no key":                      {"IdentityFile " + garbage, "is not understood"},
		"a missing certificate":       {"CertificateFile " + gone, "can't be read"},
		"a certificate that is none ": {"CertificateFile " + garbage, "no user certificate"},
	} {
		for way, more := range map[string][]string{"file": {"IdentityFile " + accepted.file}, "agent": nil} {
			opt := Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{knownHosts(t, s)}, ConfigFile: emptyConfig(t, append([]string{c.line}, more...)...)}
			if way == "agent" {
				opt.AgentSocket = agent
			}
			var warned []string
			opt.Warn = func(sentence string) { warned = append(warned, sentence) }
			if err := reach(t, newClient(t, opt)); err != nil {
				t.Errorf("%s, then a key by %s: %v", name, way, err)
			}
			if len(warned) != 1 || !strings.Contains(warned[0], c.want) {
				t.Errorf("%s: warned %q, want %q", name, warned, c.want)
			}
		}
	}
	// The agent's own keys count, whatever their file is like.
	other := startSSHD(t, open.authorized, nil)
	if err := os.Chmod(open.file, 0o600); err != nil {
		t.Fatal(err)
	}
	agent = startAgent(t, open)
	if err := os.Chmod(open.file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + other.addr, KnownHosts: []string{knownHosts(t, other)}, AgentSocket: agent,
		ConfigFile: emptyConfig(t, "IdentitiesOnly yes", "IdentityFile "+open.file)})); err != nil {
		t.Errorf("a key of the agent: %v", err)
	}
}
