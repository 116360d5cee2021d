package ssh

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/testenv"
	"lightsout/internal/testenv/leak"

	"go.uber.org/goleak"
	cryptossh "golang.org/x/crypto/ssh"

	"github.com/skeema/knownhosts"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(12) // they mostly wait
	goleak.VerifyTestMain(m, leak.SSH())
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// tool gives the path of a program that a test needs. Without it the test is
// skipped.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if _, statErr := os.Stat("/usr/sbin/" + name); statErr == nil {
			return "/usr/sbin/" + name
		}
		testenv.Skip(t, name+" is not installed")
	}
	return path
}

// me is the user that sshd lets in.
func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// keyPair is a key in a file, with what authorizes it.
type keyPair struct {
	file       string
	signer     cryptossh.Signer
	authorized string
}

// newKey writes a private key, with a passphrase if one is given.
func newKey(t *testing.T, name, passphrase string) keyPair {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return writeKey(t, private, name, passphrase)
}

func newECDSAKey(t *testing.T, name string) keyPair {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return writeKey(t, private, name, "")
}

func writeKey(t *testing.T, private any, name, passphrase string) keyPair {
	t.Helper()
	block, err := cryptossh.MarshalPrivateKey(private, name)
	if err != nil {
		t.Fatal(err)
	}
	k := keyPair{file: filepath.Join(t.TempDir(), name)}
	if err := os.WriteFile(k.file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if passphrase != "" { // -a 1: the usual number of rounds takes seconds under -race
		if out, err := exec.Command(tool(t, "ssh-keygen"), "-p", "-q", "-a", "1", "-N", passphrase, "-f", k.file).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	if k.signer, err = cryptossh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	k.authorized = string(cryptossh.MarshalAuthorizedKey(k.signer.PublicKey()))
	return k
}

// server is a real OpenSSH sshd on a loopback port.
type server struct {
	addr string // 127.0.0.1:port
	port string
	keys []keyPair // its host keys
	cmd  *exec.Cmd
	log  *logBuffer
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBuffer) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), s)
}

// startSSHD starts an sshd that lets the authorized keys in. config holds more
// lines for its configuration.
func startSSHD(t *testing.T, authorized string, hostKeys []keyPair, config ...string) *server {
	t.Helper()
	return startSSHDIn(t, nil, authorized, hostKeys, config...)
}

// startSSHDIn starts an sshd in a world of its own; nil is this one.
func startSSHDIn(t *testing.T, w *world, authorized string, hostKeys []keyPair, config ...string) *server {
	t.Helper()
	sshd := tool(t, "sshd")
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd's own wish when it runs as root
	}
	dir := t.TempDir()
	authDir := dir
	if w != nil {
		authDir = w.dir
	}
	if len(hostKeys) == 0 {
		hostKeys = []keyPair{newKey(t, "host", "")}
	}
	authFile := filepath.Join(authDir, "authorized_keys")
	if err := os.WriteFile(authFile, []byte(authorized), 0o644); err != nil {
		t.Fatal(err)
	}
	// Another program may take the port between our choice and the start of the sshd.
	for range 10 {
		if s := startSSHDOn(t, w, sshd, freePort(t), authFile, hostKeys, config); s != nil {
			return s
		}
	}
	t.Fatal("no port for an sshd, 10 times in a row")
	return nil
}

// startSSHDOn starts an sshd on a port; nil if another program has the port.
func startSSHDOn(t *testing.T, w *world, sshd, port, authFile string, hostKeys []keyPair, config []string) *server {
	t.Helper()
	s := &server{keys: hostKeys, port: port, log: &logBuffer{}}
	s.addr = "127.0.0.1:" + s.port
	conf := filepath.Join(t.TempDir(), "sshd_config")
	// Of most keywords the first value counts.
	lines := append(slices.Clone(config),
		"Port "+s.port, "ListenAddress 127.0.0.1", "AuthorizedKeysFile "+authFile, "PidFile none",
		"UsePAM no", "StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"LogLevel VERBOSE", "PermitRootLogin prohibit-password", "MaxStartups 100",
		// The account's own .bashrc may take seconds, or wait for another login.
		"SetEnv HOME="+t.TempDir())
	for _, k := range hostKeys {
		lines = append(lines, "HostKey "+k.file)
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(sshd, "-D", "-e", "-f", conf)
	if w != nil {
		s.cmd = w.command(sshd, "-D", "-e", "-f", conf)
	}
	s.cmd.Stderr = s.log
	// Its sessions keep the log open when the listener has ended.
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	taken := false
	waitFor(t, "sshd to listen", func() bool {
		taken = s.log.count("Cannot bind any address") > 0
		return taken || s.log.count("Server listening on 127.0.0.1 port "+port) > 0
	})
	if taken {
		return nil
	}
	return s
}

// stop ends the listening sshd; sessions go on.
func (s *server) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// knownHosts writes a known_hosts file with the servers' keys.
func knownHosts(t *testing.T, servers ...*server) string {
	t.Helper()
	var lines []string
	for _, s := range servers {
		for _, k := range s.keys {
			lines = append(lines, knownhosts.Line([]string{s.addr}, k.signer.PublicKey()))
		}
	}
	path := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// emptyConfig is an ssh_config that says nothing, so that no test reads the
// user's own.
func emptyConfig(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ssh_config")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newClient makes a client with quick answers and nothing of the user's own.
func newClient(t *testing.T, opt Options) *Client {
	t.Helper()
	if opt.ConfigFile == "" {
		opt.ConfigFile = emptyConfig(t)
	}
	if opt.AgentSocket == "" {
		opt.AgentSocket = "none"
	}
	if opt.RetryPause == 0 {
		opt.RetryPause = time.Millisecond
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// waitFor polls for a condition.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// echoServer answers every byte with itself.
func echoServer(t *testing.T) string {
	t.Helper()
	return tcpServer(t, func(conn net.Conn) {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if _, err := conn.Write(buf[:n]); err != nil {
				return
			}
		}
	})
}

// tcpServer serves connections until the test ends.
func tcpServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		conns []net.Conn
		wg    sync.WaitGroup
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// echo sends a line over a connection and wants it back.
func echo(conn net.Conn) error {
	if _, err := conn.Write([]byte("ping\n")); err != nil {
		return err
	}
	buf := make([]byte, 5)
	for n := 0; n < len(buf); {
		k, err := conn.Read(buf[n:])
		if err != nil {
			return err
		}
		n += k
	}
	if string(buf) != "ping\n" {
		return fmt.Errorf("got %q back", buf)
	}
	return nil
}
