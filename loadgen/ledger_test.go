package loadgen

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// faults are what the mixed server does, by request; want is the class.
var faults = []struct {
	want   Class
	answer func(s *rawServer, c *net.TCPConn)
}{
	{ClassOK, func(_ *rawServer, c *net.TCPConn) { page(c, 200, "hello") }},
	{ClassOK, func(_ *rawServer, c *net.TCPConn) { chunks(c, "text/plain", "a", "b"); lastChunk(c) }},
	{ClassOK, func(s *rawServer, c *net.TCPConn) { // a slow start
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.done:
		}
		page(c, 200, "late")
	}},
	{ClassReset, func(_ *rawServer, c *net.TCPConn) { reset(c) }},
	{ClassReset, func(_ *rawServer, c *net.TCPConn) {}},
	{ClassReset, func(_ *rawServer, c *net.TCPConn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		reset(c)
	}},
	{ClassTruncated, func(_ *rawServer, c *net.TCPConn) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") }},
	{ClassTruncated, func(_ *rawServer, c *net.TCPConn) { chunks(c, "text/plain", "half") }},
	{ClassTruncated, func(_ *rawServer, c *net.TCPConn) {
		chunks(c, "text/plain", "half", "activator request timeout")
		lastChunk(c)
	}},
	{Class503, func(_ *rawServer, c *net.TCPConn) { page(c, 503, "pending request queue full") }},
	{Class502, func(_ *rawServer, c *net.TCPConn) { page(c, 502, "") }},
	{Class5xx, func(_ *rawServer, c *net.TCPConn) { page(c, 500, "") }},
	{Class4xx, func(_ *rawServer, c *net.TCPConn) { page(c, 429, "") }},
	{ClassFirstByte, func(_ *rawServer, c *net.TCPConn) { hang(c) }},
	{ClassIdle, func(_ *rawServer, c *net.TCPConn) { chunks(c, "text/plain", "half"); hang(c) }},
}

// faultOf picks a fault by a request's number; hangs are rare.
func faultOf(id string) int {
	n, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if n%101 == 0 {
		return len(faults) - 1 - n/101%2
	}
	return n % (len(faults) - 2)
}

// Whatever happens to 20,000 requests of all shapes, the ledger balances at
// every look, and agrees with the servers on every single one of them.
func TestLedgerAgreesWithServerOnEveryRequest(t *testing.T) {
	var s *rawServer
	s = serveRaw(t, func(c *net.TCPConn, r *http.Request) { faults[faultOf(r.Header.Get(idHeader))].answer(s, c) })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()

	const held, rated, bursts, burst = 13_000, 4000, 6, 500
	const all = held + rated + bursts*burst
	var dials, refusals atomic.Int64
	var recs records
	var d net.Dialer
	g := start(t, Options{
		Target: Target{URL: s.url()},
		// Few enough that a slow machine gets to each well before its bound.
		MaxInFlight: 600,
		Timeouts:    Timeouts{FirstByte: 4 * time.Second, Idle: 4 * time.Second, Connect: deadline, Total: deadline},
		Record:      recs.add,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1)%50 == 0 { // an address where nobody listens
				refusals.Add(1)
				addr = gone.Addr().String()
			}
			return d.DialContext(ctx, network, addr)
		},
	})

	stop := make(chan struct{})
	var looking sync.WaitGroup
	var looks atomic.Int64
	for range 3 {
		looking.Go(func() {
			last := 0
			for {
				run := g.Run()
				if !run.Totals.Balanced() {
					t.Errorf("does not balance: %+v", run.Totals)
					return
				}
				if run.Totals.Scheduled < last {
					t.Errorf("scheduled went from %d to %d", last, run.Totals.Scheduled)
				}
				last = run.Totals.Scheduled
				if ga := run.Gauge; ga.Outstanding != run.Totals.InFlight() || ga.Served+ga.Queued+ga.Stalled+ga.OnDead != ga.Outstanding {
					t.Errorf("the gauge %+v does not add up to %d in flight", ga, run.Totals.InFlight())
				}
				looks.Add(1)
				select {
				case <-stop:
					return
				case <-g.Changed():
				}
			}
		})
	}

	send := func(sp Spec) {
		if err := g.Start(sp); err != nil {
			t.Fatal(err)
		}
	}
	send(Spec{Shape: Rate, PerSecond: 1500, Requests: rated})
	for i := range bursts {
		send(Spec{Shape: Burst, N: burst})
		waitFor(t, "the next burst's time", func() bool { return g.Run().Totals.Scheduled >= (i+1)*(burst+500) })
	}
	wait(t, g)
	send(Spec{Shape: Hold, N: 400, Requests: held})
	wait(t, g)
	close(stop)
	g.Start(Spec{Shape: Burst, N: 1}) // wakes the lookers
	looking.Wait()
	wait(t, g)

	s.close() // its counts stand still from here
	run := g.Run()
	if run.Active || run.Totals.InFlight() != 0 || run.Totals.Scheduled != all+1 {
		t.Fatalf("%d scheduled, want %d: %+v", run.Totals.Scheduled, all+1, run.Totals)
	}
	var again Totals
	ids := map[string]bool{}
	refused := 0
	for _, r := range recs.all() {
		again.Count(r)
		if ids[r.ID] {
			t.Errorf("two records for %s", r.ID)
		}
		ids[r.ID] = true
		switch n := s.seen[r.ID]; {
		case r.Class == ClassUnsent:
			if n != 0 {
				t.Errorf("%s is unsent, but the server saw it", r.ID)
			}
		case r.Class == ClassRefused:
			refused++
			if n != 0 {
				t.Errorf("%s is refused, but the server saw it", r.ID)
			}
		case n != 1:
			t.Errorf("%s (%s: %s): the server saw it %d times", r.ID, r.Class, r.Error, n)
		case r.Class != faults[faultOf(r.ID)].want:
			t.Errorf("%s: class %q (%s), the server did %q (%d)", r.ID, r.Class, r.Error, faults[faultOf(r.ID)].want, faultOf(r.ID))
		}
		delete(s.seen, r.ID)
	}
	if len(s.seen) != 0 {
		t.Errorf("the server saw %d requests that have no record", len(s.seen))
	}
	if refused != int(refusals.Load()) {
		t.Errorf("%d refused, %d dialed a closed port", refused, refusals.Load())
	}
	if !maps.Equal(again.Failed, run.Totals.Failed) || again.OK != run.Totals.OK || again.Unsent != run.Totals.Unsent || again.Scheduled != run.Totals.Scheduled {
		t.Errorf("the records add up to %+v, the totals are %+v", again, run.Totals)
	}
	sum := Window{}
	for _, w := range run.Windows {
		sum.Sent += w.Sent
		sum.OK += w.OK
		sum.Unresolved += w.Unresolved
		sum.Cancelled += w.Cancelled
		if w.Sent != w.OK+w.FailedSum()+w.Cancelled+w.Unresolved {
			t.Errorf("second %v does not balance: %+v", w.Second, w)
		}
	}
	if len(run.Windows) < DefaultWindowLimit && (sum.Sent+run.Totals.Unsent != all+1 || sum.OK != run.Totals.OK || sum.Unresolved != 0) {
		t.Errorf("the seconds add up to %+v, the totals are %+v", sum, run.Totals)
	}
	t.Logf("%d looks; %+v", looks.Load(), run.Totals)
}

// A request is counted in the second in which it was sent, when its end comes
// in a later one.
func TestWindowsBelongToTheSecondOfSending(t *testing.T) {
	release := make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { <-release; page(c, 503, "") })
	var mu sync.Mutex
	offset := time.Duration(0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(offset)
	}
	g := start(t, Options{Target: Target{URL: s.url()}, Now: clock, WindowLimit: 10, Timeouts: Timeouts{Total: time.Hour, Connect: time.Hour}})
	if err := g.Start(Spec{Shape: Burst, N: 3}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "three requests at the server", func() bool { return s.requests() == 3 })
	mu.Lock()
	offset = 5 * time.Second
	mu.Unlock()
	before := g.Run().Windows
	if n := len(before); n < 6 || before[0].Sent != 3 || before[0].Unresolved != 3 {
		t.Fatalf("while unresolved: %+v", before)
	}
	close(release)
	wait(t, g)
	after := g.Run().Windows
	if w := after[0]; w.Sent != 3 || w.Unresolved != 0 || w.Failed[Class503] != 3 {
		t.Errorf("after the end: %+v", w)
	}
	if before[0].Unresolved != 3 || before[0].FailedSum() != 0 {
		t.Error("a Run that was handed out has changed")
	}
	for i, w := range after {
		if i > 0 && w.Second.Sub(after[i-1].Second) != time.Second {
			t.Errorf("a gap between %v and %v", after[i-1].Second, w.Second)
		}
		if i > 0 && w.Sent != 0 {
			t.Errorf("%d sent in second %d", w.Sent, i)
		}
	}
	mu.Lock()
	offset = time.Hour
	mu.Unlock()
	if w := g.Run().Windows; len(w) != 10 || w[0].Sent != 0 {
		t.Errorf("an hour later there are %d seconds, the first %+v", len(w), w[0])
	}
}

// A kept connection that the server closes between two requests is not used
// again; one that it resets under a request is a failure, not a second try.
func TestKeptConnections(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	s := serveRaw(t, func(c *net.TCPConn, r *http.Request) {
		mu.Lock()
		count[c.RemoteAddr().String()]++
		n := count[c.RemoteAddr().String()]
		mu.Unlock()
		switch {
		case n == 4:
			reset(c)
		default:
			page(c, 200, "x")
		}
	})
	var recs records
	g := start(t, Options{Target: Target{URL: s.url(), Reuse: true}, Record: recs.add})
	if err := g.Start(Spec{Shape: Hold, N: 1, Requests: 12}); err != nil {
		t.Fatal(err)
	}
	wait(t, g)
	if n := s.requests(); n != 12 {
		t.Errorf("the server saw %d requests, 12 were sent", n)
	}
	reused := 0
	for _, r := range recs.all() {
		if r.Reused {
			reused++
		}
	}
	if tt := g.Run().Totals; tt.OK != 9 || tt.Failed[ClassReset] != 3 || reused != 9 || len(count) != 3 {
		t.Errorf("%+v, %d reused, %d connections", tt, reused, len(count))
	}

	// The server closes while the connection waits.
	s2 := serveRaw(t, func(c *net.TCPConn, r *http.Request) { page(c, 200, "x"); c.CloseWrite() })
	g2 := start(t, Options{Target: Target{URL: s2.url(), Reuse: true}})
	for range 3 {
		if err := g2.Start(Spec{Shape: Burst, N: 1}); err != nil {
			t.Fatal(err)
		}
		wait(t, g2)
		waitFor(t, "the close to arrive", func() bool {
			g2.idle.mu.Lock()
			defer g2.idle.mu.Unlock()
			return len(g2.idle.conns) == 0 || !open(g2.idle.conns[0].raw)
		})
	}
	if tt := g2.Run().Totals; tt.OK != 3 {
		t.Errorf("%+v, %s", tt, g2.Run().LastError)
	}
}

// Marked as stalled while silent, for as long as it lasts, and not ended.
func TestStallIsAFlagWithTimes(t *testing.T) {
	resume, again := make(chan struct{}), make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		chunks(c, stream, token("a"))
		<-resume
		write(c, fmt.Sprintf("%x\r\n%s\r\n", len(": ping\n\n"), ": ping\n\n"))
		<-again
		write(c, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(done), done))
	})
	var recs records
	g := start(t, Options{Target: Target{URL: s.url(), Profile: Chat, Prompt: "x"}, Timeouts: Timeouts{Stall: 30 * time.Millisecond}, Record: recs.add})
	if err := g.Start(Spec{Shape: Burst, N: 1}); err != nil {
		t.Fatal(err)
	}
	stalled := func(n int) func() bool {
		return func() bool { tt := g.Run().Totals; return tt.Stalled == n && tt.Streaming == 1 }
	}
	waitFor(t, "a stall", stalled(1))
	if ga := g.Run().Gauge; ga.Stalled != 1 || ga.Served != 0 {
		t.Errorf("%+v", ga)
	}
	close(resume)
	waitFor(t, "the second stall", func() bool { return len(stallsOf(g)) == 2 })
	close(again)
	wait(t, g)
	r := recs.all()[0]
	if r.Class != ClassOK || len(r.Stalls) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, s := range r.Stalls {
		if !s.To.After(s.From) {
			t.Errorf("a stall from %v to %v", s.From, s.To)
		}
	}
}

func stallsOf(g *Generator) []Stall {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	return append([]Stall(nil), g.ledger.live[0].stalls...)
}

// A dead peer whose keep-alives go unanswered ends as such, whatever phase.
func TestUnansweredKeepAlivesArePeerDead(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { chunks(c, "text/plain", "half"); hang(c) })
	var d net.Dialer
	rec := one(t, Options{Target: Target{URL: s.url()}, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		return &dyingConn{Conn: c}, err
	}})
	if rec.Class != ClassPeerDead || rec.Errno != "ETIMEDOUT" || rec.FirstByte.IsZero() {
		t.Fatalf("%+v", rec)
	}
}

// dyingConn gives the kernel's error for unanswered keep-alives after its
// first bytes.
type dyingConn struct {
	net.Conn
	n int
}

func (c *dyingConn) Read(p []byte) (int, error) {
	if c.n++; c.n > 1 {
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ETIMEDOUT}
	}
	return c.Conn.Read(p)
}
