package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/testenv"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}

// deadline is generous: tests wait for conditions, not for times.
const deadline = 60 * time.Second

// unhurried are time limits for tests whose requests must not meet one, however busy the machine is.
var unhurried = Timeouts{Connect: deadline, Total: deadline}

// waitFor polls for a condition.
func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(deadline)
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting for: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// rawServer answers each request with whatever the test writes to the
// connection. It reads whole requests and counts them by ID.
type rawServer struct {
	t      testing.TB
	ln     net.Listener
	answer func(c *net.TCPConn, r *http.Request)
	done   chan struct{} // closed when the server is closing
	wg     sync.WaitGroup

	mu    sync.Mutex
	seen  map[string]int // requests by ID
	conns map[net.Conn]bool
	reqs  []*http.Request // the first few
	body  []string
}

// serveRaw starts a server on loopback. answer runs for each request; the
// connection is closed after it unless the request allows for another.
func serveRaw(t testing.TB, answer func(c *net.TCPConn, r *http.Request)) *rawServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{t: t, ln: ln, answer: answer, done: make(chan struct{}), seen: map[string]int{}, conns: map[net.Conn]bool{}}
	s.wg.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

func (s *rawServer) url() string { return "http://" + s.ln.Addr().String() + "/page" }

func (s *rawServer) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(c.(*net.TCPConn)) })
	}
}

func (s *rawServer) serve(c *net.TCPConn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	br := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen[r.Header.Get(idHeader)]++
		if len(s.reqs) < 4 {
			s.reqs = append(s.reqs, r)
			s.body = append(s.body, string(body))
		}
		s.mu.Unlock()
		s.answer(c, r)
		if r.Close {
			return
		}
	}
}

func (s *rawServer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.seen {
		n += k
	}
	return n
}

func (s *rawServer) close() {
	s.ln.Close()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// reset makes the kernel send a RST instead of a FIN.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

func write(c net.Conn, s string) { io.WriteString(c, s) }

// page writes a complete answer.
func page(c net.Conn, status int, body string) {
	write(c, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body))
}

// chunks writes an answer's head and the given chunks, without the last one.
func chunks(c net.Conn, contentType string, parts ...string) {
	write(c, "HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, p := range parts {
		chunk(c, p)
	}
}

func chunk(c net.Conn, s string) { write(c, fmt.Sprintf("%x\r\n%s\r\n", len(s), s)) }

func lastChunk(c net.Conn) { write(c, "0\r\n\r\n") }

// records collects evidence.
type records struct {
	mu   sync.Mutex
	list []Record
}

func (r *records) add(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, rec)
}

func (r *records) all() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Record(nil), r.list...)
}

// start makes a generator that is closed with the test.
func start(t testing.TB, o Options) *Generator {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func wait(t testing.TB, g *Generator) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := g.Wait(ctx); err != nil {
		t.Fatalf("the run did not end: %v; %+v", err, g.Run().Totals)
	}
}

// one sends one request and returns its evidence.
func one(t testing.TB, o Options) Record {
	t.Helper()
	var recs records
	o.Record = recs.add
	g := start(t, o)
	if _, err := g.Begin(Spec{Shape: Burst, N: 1}); err != nil {
		t.Fatal(err)
	}
	wait(t, g)
	all := recs.all()
	if len(all) != 1 {
		t.Fatalf("%d records for one request", len(all))
	}
	run := g.Run()
	var again Totals
	again.Count(all[0])
	if !run.Totals.Balanced() || run.Totals.Scheduled != 1 || run.Totals.Failed[all[0].Class] != again.Failed[all[0].Class] {
		t.Fatalf("totals %+v don't fit the record %+v", run.Totals, all[0])
	}
	if failed := run.Totals.FailedSum() > 0; failed != (run.LastError != "") {
		t.Fatalf("last error %q with %d failed", run.LastError, run.Totals.FailedSum())
	}
	return all[0]
}

func mustContain(t testing.TB, what, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%s %q does not say %q", what, s, p)
		}
	}
}
