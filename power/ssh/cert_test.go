package ssh

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"

	"github.com/skeema/knownhosts"
)

// issue has ssh-keygen sign a key and gives the certificate's file, which
// stands beside the key's. args are more of ssh-keygen's.
func issue(t *testing.T, authority, key keyPair, args ...string) string {
	t.Helper()
	if err := os.WriteFile(key.file+".pub", []byte(key.authorized), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-q", "-s", authority.file, "-I", "test"}, args...)
	if out, err := exec.Command(tool(t, "ssh-keygen"), append(args, key.file+".pub")...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	return key.file + "-cert.pub"
}

func move(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "elsewhere-cert.pub")
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestCertificatesOfUsersAreOffered(t *testing.T) {
	authority := newKey(t, "authority", "")
	trusted := filepath.Join(t.TempDir(), "authorities")
	if err := os.WriteFile(trusted, []byte(authority.authorized), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSSHD(t, "", nil, "TrustedUserCAKeys "+trusted)
	const secret = "planted-secret"
	for name, prepare := range map[string]func(t *testing.T) (config []string, agent string){
		"beside the key": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", "")
			issue(t, authority, key, "-n", me(t))
			return []string{"IdentityFile " + key.file}, ""
		},
		"beside an ECDSA key": func(t *testing.T) ([]string, string) {
			key := newECDSAKey(t, "id")
			issue(t, authority, key, "-n", me(t))
			return []string{"IdentityFile " + key.file}, ""
		},
		"beside a key with a passphrase": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", secret)
			issue(t, authority, key, "-n", me(t))
			return []string{"IdentityFile " + key.file}, ""
		},
		"named": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", "")
			file := move(t, issue(t, authority, key, "-n", me(t)))
			return []string{"IdentityFile " + key.file, "CertificateFile " + file}, ""
		},
		"in the agent": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", "")
			issue(t, authority, key, "-n", me(t))
			return nil, startAgent(t, key) // ssh-add takes the certificate along
		},
		"in the agent, the key named": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", "")
			issue(t, authority, key, "-n", me(t))
			return []string{"IdentityFile " + key.file, "IdentitiesOnly yes"}, startAgent(t, key)
		},
		"named, its key in the agent": func(t *testing.T) ([]string, string) {
			key := newKey(t, "id", "")
			file := move(t, issue(t, authority, key, "-n", me(t)))
			return []string{"CertificateFile " + file}, startAgent(t, key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, agent := prepare(t)
			t.Setenv("HOME", t.TempDir())
			err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{knownHosts(t, s)}, AgentSocket: agent,
				ConfigFile: emptyConfig(t, config...),
				AskSecret:  func(context.Context, SecretQuestion) (string, error) { return secret, nil }}))
			if err != nil {
				t.Errorf("%v\n%s", err, s.log)
			}
		})
	}
	t.Run("but not what is none", func(t *testing.T) {
		expired, other, host := newKey(t, "id", ""), newKey(t, "id", ""), newKey(t, "host", "")
		file := issue(t, authority, expired, "-n", me(t), "-V", "20200101:20200102")
		for config, want := range map[string]string{
			"IdentityFile " + expired.file:                             file + ", which has expired",
			"CertificateFile " + filepath.Join(t.TempDir(), "gone"):    "can't be read",
			"CertificateFile " + other.file:                            "no user certificate",
			"CertificateFile " + issue(t, authority, host, "-h"):       "no user certificate",
			"IdentityFile " + other.file + "\nCertificateFile " + file: "none of the keys",
		} {
			err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{knownHosts(t, s)}, ConfigFile: emptyConfig(t, config)}))
			if causeOf(err) != causeAuth || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", config, err, want)
			}
		}
	})
}

func TestCertificatesOfHostsAreVerified(t *testing.T) {
	t.Parallel()
	key, host := newKey(t, "id", ""), newKey(t, "host", "")
	authority, other := newKey(t, "authority", ""), newKey(t, "other", "")
	start := func(t *testing.T, args ...string) *server {
		file := issue(t, authority, host, append([]string{"-h"}, args...)...)
		return startSSHD(t, key.authorized, []keyPair{host}, "HostCertificate "+move(t, file))
	}
	ca := func(pattern string, k keyPair) string { return "@cert-authority " + pattern + " " + k.authorized }
	for name, c := range map[string]struct {
		args   []string // of the certificate
		known  func(s *server) string
		config string
		want   string // what the error says; empty: connected
	}{
		"by its authority": {[]string{"-n", "127.0.0.1"},
			func(s *server) string { return ca("[127.0.0.1]:"+s.port, authority) }, "", ""},
		"by its authority, for all hosts": {nil, func(*server) string { return ca("*", authority) }, "", ""},
		"by an alias": {[]string{"-n", "node.example.org"},
			func(*server) string { return ca("*.example.org", authority) }, "HostKeyAlias node.example.org", ""},
		"by its key, the authority being unknown": {nil,
			func(s *server) string { return knownhosts.Line([]string{s.addr}, host.signer.PublicKey()) }, "", ""},
		"for another host": {[]string{"-n", "elsewhere"}, func(*server) string { return ca("*", authority) }, "", "is not valid"},
		"expired":          {[]string{"-V", "20200101:20200102"}, func(*server) string { return ca("*", authority) }, "", "expired"},
		"of another":       {nil, func(*server) string { return ca("*", other) }, "", "ssh-keygen -R"},
		"the authority is revoked": {nil,
			func(*server) string { return ca("*", authority) + "@revoked * " + authority.authorized }, "", "revoked"},
		"the key is revoked": {nil,
			func(*server) string { return ca("*", authority) + "@revoked * " + host.authorized }, "", "revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.args...)
			file := filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(file, []byte(c.known(s)), 0o600); err != nil {
				t.Fatal(err)
			}
			err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{file}, IdentityFiles: []string{key.file},
				ConfigFile: emptyConfig(t, "Host *", c.config)}))
			if (err == nil) != (c.want == "") || (err != nil && (causeOf(err) != causeHostKey || !strings.Contains(err.Error(), c.want))) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Run("nothing on record", func(t *testing.T) {
		s := start(t)
		file := filepath.Join(t.TempDir(), "known_hosts")
		err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{file}, IdentityFiles: []string{key.file}}))
		if print := cryptossh.FingerprintSHA256(host.signer.PublicKey()); causeOf(err) != causeHostKey || !strings.Contains(err.Error(), print) {
			t.Errorf("got %v, want a refusal of %s", err, print)
		}
	})
}

func TestKnownHostsUsesTheHostKeyAlias(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	first, second := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	file := filepath.Join(t.TempDir(), "known_hosts")
	connect := func(s *server) error {
		return reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, KnownHosts: []string{file}, IdentityFiles: []string{key.file},
			ConfigFile: emptyConfig(t, "Host *", "HostKeyAlias the-bastion")}))
	}
	if err := os.WriteFile(file, []byte(knownhosts.Line([]string{"the-bastion"}, first.keys[0].signer.PublicKey())), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := connect(first); err != nil {
		t.Error(err)
	}
	if err := connect(second); causeOf(err) != causeHostKey || !strings.Contains(err.Error(), "ssh-keygen -R 'the-bastion'") {
		t.Errorf("another host by the same alias: %v", err)
	}
}
