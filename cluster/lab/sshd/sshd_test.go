package sshd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"lightsout/cluster/lab/network"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func key(t *testing.T) *Key {
	t.Helper()
	k, err := NewKey("test")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// serve runs a server on a loopback port until the test ends.
func serve(t *testing.T, c Config) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- New(c).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string, host, user *Key) *ssh.Client {
	t.Helper()
	c, err := ssh.Dial("tcp", addr, config(host, user))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func config(host, user *Key) *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User: "mdxuser", Auth: []ssh.AuthMethod{ssh.PublicKeys(user.Signer)},
		HostKeyCallback: ssh.FixedHostKey(host.Signer.PublicKey()),
	}
}

func TestOnlyTheAuthorisedKeyAndUserGetIn(t *testing.T) {
	host, user, other := key(t), key(t), key(t)
	addr := serve(t, Config{HostKey: host.Signer, User: "mdxuser", Authorized: []ssh.PublicKey{user.Signer.PublicKey()}})
	if _, err := ssh.Dial("tcp", addr, config(host, other)); err == nil {
		t.Error("another key got in")
	}
	c := config(host, user)
	c.User = "root"
	if _, err := ssh.Dial("tcp", addr, c); err == nil {
		t.Error("another user got in")
	}
	client := dial(t, addr, host, user)
	if _, err := client.NewSession(); err == nil {
		t.Error("a session without Run")
	}
	if _, err := client.Dial("tcp", "10.0.0.1:80"); err == nil {
		t.Error("forwarding without Dial")
	}
}

func TestForwardingLeadsIntoTheNetwork(t *testing.T) {
	n := network.New()
	bastion, node := n.AddHost("bastion", "10.0.0.1"), n.AddHost("node", "10.0.0.11")
	l, _ := node.Listen(":80")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	host, user := key(t), key(t)
	addr := serve(t, Config{HostKey: host.Signer, User: "mdxuser", Authorized: []ssh.PublicKey{user.Signer.PublicKey()}, Dial: bastion.DialContext})
	client := dial(t, addr, host, user)

	conn, err := client.Dial("tcp", "10.0.0.11:80")
	if err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("there and back"))
	conn.(interface{ CloseWrite() error }).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "there and back" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}

	var refused *ssh.OpenChannelError
	if _, err := client.Dial("tcp", "10.0.0.11:81"); !errors.As(err, &refused) || refused.Reason != ssh.ConnectionFailed || refused.Message != "Connection refused" {
		t.Errorf("a port where nobody listens: %v", err)
	}

	// A frozen connection must not keep anything alive once the client is gone.
	frozen, err := client.Dial("tcp", "10.0.0.11:80")
	if err != nil {
		t.Fatal(err)
	}
	node.Cut()
	frozen.Write([]byte("anybody?"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.DialContext(ctx, "tcp", "10.0.0.11:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial to a silent node: %v", err)
	}
	if ok, _, err := client.SendRequest("keepalive@openssh.com", true, nil); ok || err != nil {
		t.Errorf("a keepalive is answered with a refusal, as OpenSSH does: %v, %v", ok, err)
	}
}

func shell() (*Shell, *int, *string) {
	var shutdowns int
	var sudo string
	return &Shell{
		Hostname: "kube-node3", User: "mdxuser",
		BootID:   func() string { return "boot-1" },
		Shutdown: func() { shutdowns++ },
		Sudo:     func() string { return sudo },
	}, &shutdowns, &sudo
}

func TestShell(t *testing.T) {
	for _, c := range []struct {
		line   string
		status int
		out    string
		off    bool
	}{
		{"hostname", 0, "kube-node3\n", false},
		{"cat /proc/sys/kernel/random/boot_id", 0, "boot-1\n", false},
		{"cat /etc/shadow", 1, "", false},
		{"true && hostname; false", 1, "kube-node3\n", false},
		{"false && hostname", 1, "", false},
		{"echo begin; env LC_ALL=C hostname && echo end", 0, "begin\nkube-node3\nend\n", false},
		{"env LC_ALL=C", 0, "", false},
		{"sudo -n true", 0, "", false},
		{"sudo -k -S --prompt= -v", 0, "", false},
		{"sudo -n -l /sbin/shutdown", 0, "/usr/sbin/shutdown\n", false},
		{"sudo -n -l shutdown -h now", 0, "/usr/sbin/shutdown -h now\n", false},
		{"sudo -n -l nonsense", 1, "", false},
		{"sudo whoami", 0, "root\n", false},
		{"nonsense", 127, "", false},
		{"", 1, "", false},
		{"shutdown -h now", 1, "", false}, // without sudo
		{"sudo -n shutdown -r now", 1, "", false},
		{"sudo -n shutdown -h now", 0, "", true},
		{"sudo /sbin/shutdown -P +0", 0, "", true},
		{"sudo -n systemctl poweroff --no-block", 0, "", true},
	} {
		s, shutdowns, _ := shell()
		var out, errs bytes.Buffer
		status := s.Run(t.Context(), c.line, nil, &out, &errs)
		if status != c.status || out.String() != c.out || (*shutdowns == 1) != c.off {
			t.Errorf("%q: status %d, output %q, %d shutdowns; want %d, %q, %v", c.line, status, out.String(), *shutdowns, c.status, c.out, c.off)
		}
	}
	s, shutdowns, sudo := shell()
	*sudo = "sudo: a password is required"
	var errs bytes.Buffer
	if status := s.Run(t.Context(), "sudo -n shutdown -h now", nil, io.Discard, &errs); status != 1 || *shutdowns != 0 || errs.String() != "sudo: a password is required\n" {
		t.Errorf("sudo that fails: status %d, %q", status, errs.String())
	}
}

func FuzzShell(f *testing.F) {
	f.Add("sudo -n shutdown -h now")
	f.Add("sudo -- -l;;&& date +%s.%N")
	f.Fuzz(func(t *testing.T, line string) {
		s, _, _ := shell()
		if status := s.Run(t.Context(), line, nil, io.Discard, io.Discard); status < 0 || status > 255 {
			t.Errorf("status %d", status)
		}
	})
}

func TestExitStatusReachesTheClient(t *testing.T) {
	host, user := key(t), key(t)
	s, _, _ := shell()
	addr := serve(t, Config{HostKey: host.Signer, User: "mdxuser", Authorized: []ssh.PublicKey{user.Signer.PublicKey()}, Run: s.Run})
	client := dial(t, addr, host, user)
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.CombinedOutput("nonsense")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 127 || !strings.Contains(string(out), "not found") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestOpenSSH drives both servers with the client that people use, through
// ProxyJump.
func TestOpenSSH(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil && os.Getenv("LIGHTSOUT_REQUIRE_ALL") != "" {
		t.Fatal("no OpenSSH client on this machine")
	} else if err != nil {
		t.Skip("no OpenSSH client on this machine")
	}
	n := network.New()
	bastion, node := n.AddHost("bastion", "10.0.0.1"), n.AddHost("kube-node3", "10.0.0.13")
	hostKey, nodeKey, user := key(t), key(t), key(t)
	allowed := []ssh.PublicKey{user.Signer.PublicKey()}
	addr := serve(t, Config{HostKey: hostKey.Signer, User: "mdxuser", Authorized: allowed, Dial: bastion.DialContext})
	s, _, _ := shell()
	l, err := node.Listen(":22")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(Config{HostKey: nodeKey.Signer, User: "mdxuser", Authorized: allowed, Run: s.Run}).Serve(ctx, l)
	}()
	defer func() { cancel(); <-done }()

	dir := t.TempDir()
	_, port, _ := net.SplitHostPort(addr)
	line := func(names string, k *Key) string {
		return names + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.Signer.PublicKey()))) + "\n"
	}
	for name, data := range map[string]string{
		"id":    string(user.Private),
		"known": line("[127.0.0.1]:"+port, hostKey) + line("10.0.0.13", nodeKey),
		"config": "Host bastion\n HostName 127.0.0.1\n Port " + port + "\nHost node\n HostName 10.0.0.13\n ProxyJump bastion\n" +
			"Host *\n User mdxuser\n IdentityFile " + dir + "/id\n IdentitiesOnly yes\n UserKnownHostsFile " + dir + "/known\n StrictHostKeyChecking yes\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	out, err := exec.CommandContext(run, program, "-F", filepath.Join(dir, "config"), "node", "hostname && cat /proc/sys/kernel/random/boot_id").CombinedOutput()
	if err != nil || string(out) != "kube-node3\nboot-1\n" {
		t.Errorf("ssh: %q, %v", out, err)
	}
}
