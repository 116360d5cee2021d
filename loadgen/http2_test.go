package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// h2Server counts requests by ID and the connections they come on.
type h2Server struct {
	*httptest.Server
	mu    sync.Mutex
	seen  map[string]int
	conns map[string]int // requests by the client's address
	proto map[string]int
}

func serveH2(t testing.TB, secure bool, handle http.HandlerFunc) *h2Server {
	t.Helper()
	s := &h2Server{seen: map[string]int{}, conns: map[string]int{}, proto: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen[r.Header.Get(idHeader)]++
		s.conns[r.RemoteAddr]++
		s.proto[r.Proto]++
		s.mu.Unlock()
		handle(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// ca trusts the server's own certificate authority and no other.
func (s *h2Server) ca() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool}
}

// Over HTTP/1.1 and HTTP/2, plain and with a private CA, fresh and kept: each
// request comes once, is ok, and shares connections only as it should.
func TestProtocolsAndConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		protocol Protocol
		secure   bool
		proto    string
	}{
		{"http1", HTTP1, false, "HTTP/1.1"},
		{"http1-tls", HTTP1, true, "HTTP/1.1"},
		{"http2", HTTP2, false, "HTTP/2.0"},
		{"http2-tls", HTTP2, true, "HTTP/2.0"},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: "-kept", false: "-fresh"}[kept], func(t *testing.T) {
				s := serveH2(t, c.secure, func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					w.Write(b)
				})
				var recs records
				o := Options{Target: Target{URL: s.URL + "/x", Protocol: c.protocol, Reuse: kept, Body: []byte("hello")}, Timeouts: unhurried, Record: recs.add}
				if c.secure {
					o.TLS = s.ca()
				}
				g := start(t, o)
				const n = 60
				mustStart(t, g, Spec{Shape: Hold, N: 4, Requests: n})
				wait(t, g)
				if tt := g.Run().Totals; tt.OK != n || !tt.Balanced() {
					t.Fatalf("%+v: %s", tt, g.Run().LastError)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.proto[c.proto] != n {
					t.Errorf("protocols %v", s.proto)
				}
				switch conns := len(s.conns); {
				case !kept && conns != n:
					t.Errorf("%d connections for %d fresh requests", conns, n)
				case kept && c.protocol == HTTP1 && conns > 4:
					t.Errorf("%d connections for 4 at a time", conns)
				case kept && c.protocol == HTTP2 && conns != 1:
					t.Errorf("%d connections, one carries all", conns)
				}
				for _, r := range recs.all() {
					if s.seen[r.ID] != 1 {
						t.Errorf("%s came %d times", r.ID, s.seen[r.ID])
					}
					if r.Remote != s.Listener.Addr().String() || r.Bytes < 5 || r.Status != 200 || r.Sent.IsZero() || r.FirstByte.IsZero() {
						t.Errorf("%+v", r)
					}
				}
			})
		}
	}
}

// A server that has no HTTP/2 is not asked over another protocol.
func TestHTTP2DoesNotFallBack(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	if r := one(t, Options{Target: Target{URL: s.URL, Protocol: HTTP2}, TLS: &tls.Config{RootCAs: pool}}); r.Class != ClassLocal {
		t.Errorf("%s: %s", r.Class, r.Error)
	}
}

// blackholes are connections of which nothing arrives any more once dead is set.
type blackhole struct {
	net.Conn
	dead *atomic.Bool
	gone chan struct{}
}

func (c *blackhole) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.dead.Load() && err == nil {
		<-c.gone
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *blackhole) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *blackhole) Close() error {
	defer func() { _ = recover() }() // closed twice
	close(c.gone)
	return c.Conn.Close()
}

// Requests on a connection whose peer is silent end together when a PING goes
// unanswered, and the next one gets a connection that lives.
func TestUnansweredPingIsPeerDead(t *testing.T) {
	t.Parallel()
	s := serveH2(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
	})
	var dead atomic.Bool
	var d net.Dialer
	g := start(t, Options{
		Target:    Target{URL: s.URL + "/hang", Protocol: HTTP2, Reuse: true},
		KeepAlive: KeepAlive{PingAfter: 50 * time.Millisecond, PingTimeout: 100 * time.Millisecond},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &blackhole{c, &dead, make(chan struct{})}, nil
		},
	})
	mustStart(t, g, Spec{Shape: Burst, N: 3})
	waitFor(t, "three at the server", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.seen) == 3 })
	dead.Store(true)
	wait(t, g)
	if tt := g.Run().Totals; tt.Failed[ClassPeerDead] != 3 {
		t.Errorf("%+v: %s", tt, g.Run().LastError)
	}
	dead.Store(false)
	mustStart(t, g, Spec{Shape: Burst, N: 1})
	waitFor(t, "another at the server", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.seen) == 4 })
	g.Stop(true)
	wait(t, g)
}

// Several entries are dialed in turn, and each request tells its own.
func TestEntriesInTurn(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }
	a, b := serveH2(t, false, answer), serveH2(t, false, answer)
	for _, p := range []Protocol{HTTP1, HTTP2} {
		for _, kept := range []bool{false, true} {
			var recs records
			g := start(t, Options{Target: Target{
				URL: "http://service.invalid:1/", Protocol: p, Reuse: kept,
				Entries: []string{a.Listener.Addr().String(), b.Listener.Addr().String()},
			}, Record: recs.add})
			mustStart(t, g, Spec{Shape: Hold, N: 2, Requests: 20})
			wait(t, g)
			at := map[string]int{}
			for _, r := range recs.all() {
				at[r.Entry]++
				if r.Class != ClassOK || r.Remote != r.Entry {
					t.Errorf("%+v", r)
				}
			}
			if at[a.Listener.Addr().String()] != 10 || at[b.Listener.Addr().String()] != 10 {
				t.Errorf("%s kept %v: %v", p, kept, at)
			}
		}
	}
}
