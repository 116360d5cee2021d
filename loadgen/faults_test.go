package loadgen

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// faults are what the mixed server does over HTTP/1.1, by request; want is the
// class. Those that end the connection are what provokes silent retries when it
// had been used before.
var faults = []struct {
	want   Class
	ends   bool // the connection ends with it
	answer func(s *rawServer, c *net.TCPConn)
}{
	{ClassOK, false, func(_ *rawServer, c *net.TCPConn) { page(c, 200, "hello") }},
	{ClassOK, false, func(_ *rawServer, c *net.TCPConn) { chunks(c, "text/plain", "a", "b"); lastChunk(c) }},
	{ClassOK, false, func(s *rawServer, c *net.TCPConn) { // a slow start
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.done:
		}
		page(c, 200, "late")
	}},
	{ClassReset, true, func(_ *rawServer, c *net.TCPConn) { reset(c) }},
	{ClassOK, false, func(_ *rawServer, c *net.TCPConn) { page(c, 200, "hello") }},
	{ClassReset, true, func(_ *rawServer, c *net.TCPConn) {}},
	{ClassReset, true, func(_ *rawServer, c *net.TCPConn) {
		write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		reset(c)
	}},
	{ClassOK, false, func(_ *rawServer, c *net.TCPConn) { page(c, 200, "hello") }},
	{ClassTruncated, true, func(_ *rawServer, c *net.TCPConn) { write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") }},
	{ClassTruncated, true, func(_ *rawServer, c *net.TCPConn) { chunks(c, "text/plain", "half") }},
	{ClassTruncated, false, func(_ *rawServer, c *net.TCPConn) {
		chunks(c, "text/plain", "half", "activator request timeout")
		lastChunk(c)
	}},
	{Class503, false, func(_ *rawServer, c *net.TCPConn) { page(c, 503, "pending request queue full") }},
	{Class502, false, func(_ *rawServer, c *net.TCPConn) { page(c, 502, "") }},
	{Class5xx, false, func(_ *rawServer, c *net.TCPConn) { page(c, 500, "") }},
	{Class4xx, false, func(_ *rawServer, c *net.TCPConn) { page(c, 429, "") }},
}

// faults2 are the same for HTTP/2.
var faults2 = []struct {
	want   Class
	answer http.HandlerFunc
}{
	{ClassOK, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
	{ClassOK, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		io.WriteString(w, "late")
	}},
	{ClassReset, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	{ClassReset, func(w http.ResponseWriter, _ *http.Request) { half(w); panic(http.ErrAbortHandler) }},
	{ClassTruncated, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "half activator request timeout") }},
	{Class503, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "pending request queue full", 503) }},
	{Class502, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }},
	{Class4xx, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }},
}

func half(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, "half")
	w.(http.Flusher).Flush()
}

// faultOf picks one of n faults by a request's number.
func faultOf(id string, n int) int {
	k, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return k % n
}

// Whatever happens to 3,000 requests of all shapes, over fresh, kept and shared connections: the
// ledger balances at every look, and agrees with the server on every single one of them.
func TestLedgerAgreesWithServerOnEveryRequest(t *testing.T) {
	t.Parallel()
	const all = 3000
	server1 := func(t *testing.T) (string, func() map[string]int) {
		var s *rawServer
		s = serveRaw(t, func(c *net.TCPConn, r *http.Request) {
			f := &faults[faultOf(r.Header.Get(idHeader), len(faults))]
			f.answer(s, c)
			if f.ends {
				c.Close()
			}
		})
		return s.url(), func() map[string]int { s.close(); return s.seen }
	}
	server2 := func(t *testing.T) (string, func() map[string]int) {
		s := serveH2(t, false, func(w http.ResponseWriter, r *http.Request) {
			faults2[faultOf(r.Header.Get(idHeader), len(faults2))].answer(w, r)
		})
		return s.URL, func() map[string]int { s.CloseClientConnections(); s.Close(); return s.seen }
	}
	want1 := func(id string) Class { return faults[faultOf(id, len(faults))].want }
	want2 := func(id string) Class { return faults2[faultOf(id, len(faults2))].want }
	for _, c := range []struct {
		name   string
		target Target
		share  int // of 10
		serve  func(*testing.T) (string, func() map[string]int)
		want   func(string) Class
	}{
		{"fresh", Target{}, 4, server1, want1},
		{"kept", Target{Reuse: true}, 4, server1, want1},
		{"http2", Target{Protocol: HTTP2, Reuse: true}, 2, server2, want2},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, seen := c.serve(t)
			c.target.URL = url
			testLedger(t, c.target, all*c.share/10, seen, c.want)
		})
	}
}

// testLedger sends all requests in all shapes and compares what is known of
// them with what the server has seen.
func testLedger(t *testing.T, target Target, all int, seen func() map[string]int, want func(string) Class) {
	gone := testenv.Refusing(t)
	rated, bursts, burst := all/5, 6, all/40
	held := all - rated - bursts*min(burst, 500)
	burst = min(burst, 500)

	var dials, refusals atomic.Int64
	var mu sync.Mutex
	var again Totals
	ended := make(map[string]Class, all)
	var d net.Dialer
	g := start(t, Options{
		Target:      target,
		MaxInFlight: 600,
		WindowLimit: 3600,
		Timeouts:    unhurried,
		KeepAlive:   KeepAlive{PingAfter: -1},
		Record: func(r Record) {
			mu.Lock()
			defer mu.Unlock()
			again.Count(r)
			if _, twice := ended[r.ID]; twice {
				t.Errorf("two records for %s", r.ID)
			}
			ended[r.ID] = r.Class
			if r.Class == ClassStale && want(r.ID) == ClassReset && r.Reused && r.Bytes == 0 {
				return // the server did see it, but a client cannot know
			}
			if r.Class != ClassRefused && r.Class != ClassUnsent && r.Class != want(r.ID) {
				t.Errorf("%s: class %q (%s), the server did %q", r.ID, r.Class, r.Error, want(r.ID))
			}
		},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if target.Protocol != HTTP2 && dials.Add(1)%50 == 0 { // an address where nobody listens
				refusals.Add(1)
				addr = gone
			}
			return d.DialContext(ctx, network, addr)
		},
	})

	stop := make(chan struct{})
	var looking sync.WaitGroup
	var looks atomic.Int64
	for range 2 {
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
				if ga := run.Gauge; ga.Outstanding != run.Totals.InFlight() || ga.Served+ga.Queued+ga.Stalled+ga.OnDead+ga.Unknown != ga.Outstanding {
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
	waitAll := func() {
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustStart(t, g, Spec{Shape: Rate, PerSecond: 1500, Requests: rated})
	for range bursts {
		mustStart(t, g, Spec{Shape: Burst, N: burst})
		n := g.Run().Totals.Scheduled
		waitFor(t, "the next burst's time", func() bool { r := g.Run(); return !r.Active || r.Totals.Scheduled >= n+rated/10 })
	}
	waitAll()
	mustStart(t, g, Spec{Shape: Hold, N: 300, Requests: held})
	waitAll()
	close(stop)
	mustStart(t, g, Spec{Shape: Burst, N: 1}) // wakes the lookers
	looking.Wait()
	waitAll()

	run := g.Run()
	g.Close()
	came := seen() // stands still from here
	if run.Active || run.Totals.InFlight() != 0 || run.Totals.Scheduled != all+1 {
		t.Fatalf("%d scheduled, want %d: %+v", run.Totals.Scheduled, all+1, run.Totals)
	}
	refused := 0
	for id, class := range ended {
		n := came[id]
		switch class {
		case ClassUnsent:
			if n != 0 {
				t.Errorf("%s is unsent, but the server saw it", id)
			}
		case ClassRefused:
			refused++
			if n != 0 {
				t.Errorf("%s is refused, but the server saw it", id)
			}
		default:
			if n != 1 {
				t.Errorf("%s (%s): the server saw it %d times", id, class, n)
			}
		}
		delete(came, id)
	}
	if len(came) != 0 {
		t.Errorf("the server saw %d requests that have no record", len(came))
	}
	if refused != int(refusals.Load()) {
		t.Errorf("%d refused, %d dialed a closed port", refused, refusals.Load())
	}
	if !maps.Equal(again.Failed, run.Totals.Failed) || again.OK != run.Totals.OK || again.Unsent != run.Totals.Unsent || again.Scheduled != run.Totals.Scheduled {
		t.Errorf("the records add up to %+v, the totals are %+v", again, run.Totals)
	}
	sum := Second{}
	for _, w := range run.Seconds {
		sum.Sent += w.Sent
		sum.OK += w.OK
		sum.Unresolved += w.Unresolved
		if w.Sent != w.OK+w.FailedSum()+w.Cancelled+w.Unresolved {
			t.Errorf("second %v does not balance: %+v", w.At, w)
		}
	}
	if sum.Sent+run.Totals.Unsent != all+1 || sum.OK != run.Totals.OK || sum.Unresolved != 0 {
		t.Errorf("the seconds add up to %+v, the totals are %+v", sum, run.Totals)
	}
	t.Logf("%d looks; %+v", looks.Load(), run.Totals)
}
