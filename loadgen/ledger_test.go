package loadgen

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A request is counted in the second in which it was sent, when its end comes
// in a later one.
func TestSecondsBelongToTheSecondOfSending(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { <-release; page(c, 503, "") })
	var mu sync.Mutex
	offset, now := time.Duration(0), time.Now() // it stands still, so that no second ends meanwhile
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now.Add(offset)
	}
	g := start(t, Options{Target: Target{URL: s.url()}, Now: clock, WindowLimit: 10, Timeouts: Timeouts{Total: time.Hour, Connect: time.Hour}})
	if _, err := g.Begin(Spec{Shape: Burst, N: 3}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "three requests at the server", func() bool { return s.requests() == 3 })
	mu.Lock()
	offset = 5 * time.Second
	mu.Unlock()
	before := g.Run().Seconds
	if n := len(before); n < 6 || before[0].Sent != 3 || before[0].Unresolved != 3 {
		t.Fatalf("while unresolved: %+v", before)
	}
	close(release)
	wait(t, g)
	after := g.Run().Seconds
	if w := after[0]; w.Sent != 3 || w.Unresolved != 0 || w.Failed[Class503] != 3 {
		t.Errorf("after the end: %+v", w)
	}
	if n := len(after) - 1; after[0].Waited() != 3 || len(after[0].FailedIn()) != 0 || after[n].FailedIn()[Class503] != 3 || after[n].FailedSum() != 0 {
		t.Errorf("requests that failed 5 s after they were sent: %+v, at the end %+v", after[0], after[n])
	}
	if before[0].Unresolved != 3 || before[0].FailedSum() != 0 {
		t.Error("a Run that was handed out has changed")
	}
	for i, w := range after {
		if i > 0 && w.At.Sub(after[i-1].At) != time.Second {
			t.Errorf("a gap between %v and %v", after[i-1].At, w.At)
		}
		if i > 0 && w.Sent != 0 {
			t.Errorf("%d sent in second %d", w.Sent, i)
		}
	}
	mu.Lock()
	offset = time.Hour
	mu.Unlock()
	if w := g.Run().Seconds; len(w) != 10 || w[0].Sent != 0 {
		t.Errorf("an hour later there are %d seconds, the first %+v", len(w), w[0])
	}
}

// A kept connection that the server closes between two requests is not used
// again; one that it resets under a request is a failure, not a second try.
func TestKeptConnections(t *testing.T) {
	t.Parallel()
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
	if _, err := g.Begin(Spec{Shape: Hold, N: 1, Requests: 12}); err != nil {
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
	if tt := g.Run().Totals; tt.OK != 9 || tt.Failed[ClassStale] != 3 || reused != 9 || len(count) != 3 {
		t.Errorf("%+v, %d reused, %d connections", tt, reused, len(count))
	}

	// The server closes while the connection waits.
	s2 := serveRaw(t, func(c *net.TCPConn, r *http.Request) { page(c, 200, "x"); c.CloseWrite() })
	g2 := start(t, Options{Target: Target{URL: s2.url(), Reuse: true}})
	for range 3 {
		if _, err := g2.Begin(Spec{Shape: Burst, N: 1}); err != nil {
			t.Fatal(err)
		}
		wait(t, g2)
		waitFor(t, "the close to arrive", func() bool {
			g2.client.entries[0].idle.mu.Lock()
			defer g2.client.entries[0].idle.mu.Unlock()
			return len(g2.client.entries[0].idle.conns) == 0 || !open(g2.client.entries[0].idle.conns[0].raw)
		})
	}
	if tt := g2.Run().Totals; tt.OK != 3 {
		t.Errorf("%+v, %s", tt, g2.Run().LastError)
	}
}

// Marked as stalled while silent, for as long as it lasts, and not ended.
func TestStallIsAFlagWithTimes(t *testing.T) {
	t.Parallel()
	resume, again := make(chan struct{}), make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		chunks(c, stream, token("a"))
		<-resume
		chunk(c, ": ping\n\n")
		chunk(c, token("b"))
		<-again
		write(c, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(done), done))
	})
	var recs records
	g := start(t, Options{Target: Target{URL: s.url(), Profile: Chat, Prompts: []string{"x"}}, Timeouts: Timeouts{Stall: 30 * time.Millisecond}, Record: recs.add})
	if _, err := g.Begin(Spec{Shape: Burst, N: 1}); err != nil {
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
	waitFor(t, "the second stall", func() bool { return len(stallsOf(g)) >= 2 })
	close(again)
	wait(t, g)
	r := recs.all()[0]
	if r.Class != ClassOK || len(r.Stalls) < 2 { // a slow machine may add some
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
	return append([]Stall(nil), g.ledger.live[0].Stalls...)
}
