package ssh

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

func TestEverythingGoesThroughTheBastionAndTheHostsBeforeIt(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	outer, inner := startSSHD(t, key.authorized, nil), startSSHD(t, key.authorized, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer web.Close()
	config := emptyConfig(t,
		"Host outer", "  HostName 127.0.0.1", "  Port "+outer.port, "  User "+me(t),
		"Host bastion", "  HostName 127.0.0.1", "  Port "+inner.port, "  User "+me(t), "  ProxyJump outer",
		"Host *", "  IdentityFile "+key.file, "  UserKnownHostsFile "+knownHosts(t, outer, inner))
	c := newClient(t, Options{Bastion: "bastion", ConfigFile: config})
	if got := c.Via(); got != me(t)+"@bastion:"+inner.port {
		t.Errorf("via %q", got)
	}
	if s := c.status(); s.Connected {
		t.Error("connected before anything was asked for")
	}
	client := &http.Client{Transport: &http.Transport{DialContext: c.DialContext}, Timeout: patience}
	defer client.CloseIdleConnections()
	for range 3 {
		resp, err := client.Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "hello" {
			t.Errorf("got %q", body)
		}
	}
	if s := c.status(); !s.Connected || s.Err != "" {
		t.Errorf("status %+v", s)
	}
	if outer.log.count("Accepted publickey") != 1 || inner.log.count("Accepted publickey") != 1 {
		t.Error("each host on the way is to be logged in to once")
	}
}

func TestManyWhoDialAtOnceShareOneConnection(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
	addr := echoServer(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			conn, err := c.DialContext(soon(t), "tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if err := echo(conn); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.log.count("Accepted publickey"); n != 1 {
		t.Errorf("logged in %d times", n)
	}
}

// sessionPID is the process of the server that holds the client's connection.
func sessionPID(t *testing.T, c *Client) int {
	t.Helper()
	client, err := c.bastion.get(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := runOn(soon(t), client, "bastion", job{command: "echo $PPID"})
	pid, convErr := strconv.Atoi(strings.TrimSpace(r.Stdout))
	if err != nil || convErr != nil {
		t.Fatal(r, err, convErr)
	}
	return pid
}

func TestALostBastionIsDialledAgain(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "silent": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			key := newKey(t, "id", "")
			s := startSSHD(t, key.authorized, nil)
			c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)},
				KeepAlive: 20 * time.Millisecond, KeepAliveTimeout: 500 * time.Millisecond,
				RetryPause: time.Hour}) // which is for what could not be connected to
			addr := echoServer(t)
			before, err := c.DialContext(soon(t), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer before.Close()
			if err := echo(before); err != nil {
				t.Fatal(err)
			}
			pid := sessionPID(t, c)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
			// What went over it ends, by the loss or by the missing sign of life.
			if err := echo(before); err == nil {
				t.Error("a connection outlived the bastion's")
			}
			waitFor(t, "the loss to be told", func() bool { return !c.status().Connected })
			after, err := c.DialContext(soon(t), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer after.Close()
			if err := echo(after); err != nil {
				t.Error(err)
			}
			if s := c.status(); !s.Connected || s.Err != "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestUnreachableHostsAreOneSentence(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	mute := tcpServer(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	rude := tcpServer(t, func(conn net.Conn) {})
	web := tcpServer(t, func(conn net.Conn) { io.WriteString(conn, "HTTP/1.0 400 \x1b[31mno\r\n\r\n") })
	cases := map[string]struct {
		bastion string
		cause   cause
		says    string
	}{
		"refused":       {"u@" + testenv.Refusing(t), causeRefused, "refused the connection"},
		"no such name":  {"u@no-such-host.invalid", causeOther, "can't be resolved"},
		"mute":          {"u@" + mute, causeSilent, "sent nothing"},
		"closes":        {"u@" + rude, causeLost, "closed the connection"},
		"not ssh":       {"u@" + web, causeLost, "closed the connection"},
		"not routed to": {"u@255.255.255.255", causeOther, "255.255.255.255"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			within := time.Minute
			if c.cause == causeSilent {
				within = 300 * time.Millisecond
			}
			client := newClient(t, Options{Bastion: c.bastion, IdentityFiles: []string{key.file}, ConnectTimeout: within,
				KnownHosts: []string{t.TempDir() + "/none"}})
			_, err := client.DialContext(soon(t), "tcp", "10.0.0.10:6443")
			var e *ConnectError
			if !errors.As(err, &e) || (e.cause != c.cause && c.cause != causeOther) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %T: %v", err, err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\r\n") {
				t.Errorf("%q is not harmless", err)
			}
			if got := client.status().Err; got != err.Error() {
				t.Errorf("status says %q", got)
			}
		})
	}
}

func TestErrorsDistinguishTheBastionFromHostsBehindIt(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	open := startSSHD(t, key.authorized, nil)
	closed := startSSHD(t, key.authorized, nil, "AllowTcpForwarding no")
	known := knownHosts(t, open, closed)
	dial := func(s *server, addr string) error {
		c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{known}})
		_, err := c.DialContext(soon(t), "tcp", addr)
		return err
	}
	refused := testenv.Refusing(t)
	err := dial(open, refused)
	if causeOf(err) != causeRefused || !strings.Contains(err.Error(), refused) {
		t.Errorf("a closed port: %v", err)
	}
	if err := dial(closed, echoServer(t)); err == nil || !strings.Contains(err.Error(), "AllowTcpForwarding") {
		t.Errorf("forwarding is not allowed: %v", err)
	}
}

func TestWithoutABastionConnectionsAreDirect(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	conn, err := c.DialContext(soon(t), "tcp", echoServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := echo(conn); err != nil {
		t.Error(err)
	}
	if c.Via() != "" || !c.status().Direct {
		t.Errorf("via %q, %+v", c.Via(), c.status())
	}
	if _, err := c.DialContext(soon(t), "tcp", testenv.Refusing(t)); causeOf(err) != causeRefused {
		t.Errorf("a closed port: %v", err)
	}
}

func TestTheBastionIsAskedWhoItIs(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	s := startSSHD(t, key.authorized, nil)
	c := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// A bastion that took too long is asked again.
	waitFor(t, "the bastion's own name", func() bool { return slices.Contains(c.BastionIdentity(soon(t)).Names, host) })
	for _, a := range c.BastionIdentity(soon(t)).Addresses {
		if ip := net.ParseIP(a); ip == nil || ip.IsLoopback() {
			t.Errorf("address %q", a)
		}
	}
}

// status is how the connection to the bastion stands.
type status struct {
	// Direct: there is no bastion.
	Direct, Connected bool
	// Err is one sentence on the last failure; empty when connected.
	Err string
}

// status tells how the connection to the bastion stands.
func (c *Client) status() status {
	if c.bastion == nil {
		return status{Direct: true}
	}
	return c.bastion.status()
}

func (l *link) status() status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.err == nil {
		return status{Connected: l.last != nil && l.last.ssh != nil}
	}
	return status{Err: l.last.err.Error()}
}

// A bastion without a shell does not reveal its inner addresses: lightsout reports
// that, and does not conclude that it is not one of these machines.
func TestTheAddressesOfABastionWithoutAShellAreUnknown(t *testing.T) {
	t.Parallel()
	key := newKey(t, "id", "")
	for name, c := range map[string]struct {
		config  []string
		unknown bool
	}{"a shell": {nil, false}, "none": {[]string{"ForceCommand /bin/false"}, true}, "a silent command": {[]string{"ForceCommand /bin/true"}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSSHD(t, key.authorized, nil, c.config...)
			client := newClient(t, Options{Bastion: me(t) + "@" + s.addr, IdentityFiles: []string{key.file}, KnownHosts: []string{knownHosts(t, s)}})
			waitFor(t, "an answer", func() bool { return len(client.BastionIdentity(soon(t)).Unknown) > 0 == c.unknown })
			ips, err := client.LookupHost(soon(t), "localhost")
			if c.unknown != (err != nil) || !c.unknown && !slices.ContainsFunc(ips, func(a string) bool { return net.ParseIP(a).IsLoopback() }) {
				t.Errorf("its name service: %v, %v", ips, err)
			}
			if _, err := client.LookupHost(soon(t), "a; reboot"); err == nil {
				t.Error("the client took a shell command for a name")
			}
		})
	}
}
