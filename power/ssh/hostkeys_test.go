package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cryptossh "golang.org/x/crypto/ssh"

	"github.com/skeema/knownhosts"
)

// reach dials something through a bastion.
func reach(t *testing.T, c *Client) error {
	t.Helper()
	conn, err := c.DialContext(soon(t), "tcp", echoServer(t))
	if err == nil {
		conn.Close()
	}
	return err
}

func TestAnUnknownHostIsRefusedAndNotRecorded(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	file := filepath.Join(t.TempDir(), "known_hosts")
	err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{file}}))
	if causeOf(err) != causeHostKey || !strings.Contains(err.Error(), "connect once with ssh") || !strings.Contains(err.Error(), cryptossh.FingerprintSHA256(s.keys[0].signer.PublicKey())) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the key was written down")
	}
	if n := s.log.count("Accepted publickey"); n != 0 {
		t.Errorf("logged in %d times", n)
	}
}

func TestAChangedHostKeyIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	file := filepath.Join(t.TempDir(), "known_hosts")
	old := newKey(t, "old", "")
	content := "# a comment\n" + knownhosts.Line([]string{s.addr}, old.signer.PublicKey()) + "\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{file}})
	err := reach(t, c)
	if causeOf(err) != causeHostKey || !strings.Contains(err.Error(), "is not the one in") {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{file + ":2", "ssh-keygen -R '[127.0.0.1]:" + s.port + "'", cryptossh.FingerprintSHA256(s.keys[0].signer.PublicKey())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if n := s.log.count("Accepted publickey"); n != 0 {
		t.Errorf("logged in %d times", n)
	}
	if now, _ := os.ReadFile(file); string(now) != content {
		t.Error("known_hosts was changed")
	}
}

func TestAKeyOfTheKindOnRecordIsAskedFor(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	hostKeys := []keyPair{newKey(t, "host", ""), newECDSAKey(t, "host-ecdsa")}
	s := startSSHD(t, key.authorized, hostKeys)
	for i, k := range hostKeys {
		only := *s
		only.keys = []keyPair{k}
		if err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, &only)}})); err != nil {
			t.Errorf("key %d alone on record: %v", i, err)
		}
	}
	// A server that has only another kind is not the one on record.
	other := startSSHD(t, key.authorized, hostKeys[:1])
	other.keys = []keyPair{newECDSAKey(t, "gone")}
	err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + other.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, other)}}))
	if causeOf(err) != causeHostKey || !strings.Contains(err.Error(), "ssh-keygen -R") {
		t.Errorf("got %v", err)
	}
}

// As ssh does: a line that can't be parsed is passed over, and one without a port counts
// for every port.
func TestRevokedBrokenAndPortlessKnownHosts(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	line := knownhosts.Line([]string{s.addr}, s.keys[0].signer.PublicKey())
	_, hostKey, _ := strings.Cut(line, " ")
	_, otherKey, _ := strings.Cut(knownhosts.Line([]string{s.addr}, key.signer.PublicKey()), " ")
	revoked := "@revoked * " + hostKey + "\n"
	for content, want := range map[string]string{
		line + "\n" + revoked:                                    "revoked",
		"broken line\n" + line + "\n" + revoked:                  "known_hosts:3",
		"\n<<<<<<< mine\n[127.0.0.1]:" + s.port + " " + otherKey: "known_hosts:3",
		line + "\nbroken line\n":                                 "",
		"old ssh-dss AAAAB3NzaC1kc3MAAAEB\n" + line:              "",
		"<<<<<<< mine\n" + line:                                  "",
		"old 1024 35 1234567890123\n" + line:                     "",
		"old ssh-ed25519 AAAAC3Nz\n" + line:                      "",
		"old ssh-new AAAAB3NzaC1uZXc=\n" + line:                  "",
		"|1|x|y ssh-ed25519 AAAA\nold\n" + line:                  "",
		"127.0.0.1 " + hostKey:                                   "",
		"127.0.0.1 " + otherKey:                                  "is not in",
		"@cert-authority\n127.0.0.1 " + hostKey:                  "",
	} {
		file := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{file}}))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "lightsout-known")) {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
}

// To connect once with ssh records nothing where the configuration gives no file.
func TestAHostWithoutAKnownHostsFileIsRefusedWithAWayOut(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	err := reach(t, newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{os.DevNull}}))
	if err == nil || !strings.Contains(err.Error(), "set UserKnownHostsFile") {
		t.Errorf("got %v", err)
	}
}

// A host that answers has power: nobody is sent to look for it.
func TestAConnectErrorAdvisesByItsCause(t *testing.T) {
	for c, want := range map[cause]string{causeAuth: "accepts one of your keys", causeHostKey: "compare its host key", causeSilent: "", causeLost: "", causeRefused: "its ssh server runs", causeSecond: "after the key"} {
		if got := connectError("a:22", c, nil, "it fails").Todo(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("cause %d: %q, want %q", c, got, want)
		}
	}
}
