package loadgen

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// A service that stops for a while is not flattered: the time from when a
// request was due shows it.
func TestLatencyCountsFromTheSchedule(t *testing.T) {
	release := make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { <-release; page(c, 200, "x") })
	g := start(t, Options{Target: Target{URL: s.url()}})
	mustStart(t, g, Spec{Shape: Rate, PerSecond: 100, Requests: 20})
	waitFor(t, "all sent", func() bool { return g.Run().Totals.Sent == 20 })
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	wait(t, g)
	r := g.Run()
	q := r.Latency.Scheduled
	if q.Count != 20 || q.P50 < 100*time.Millisecond || q.Max < q.P99 || q.P99 < q.P90 || q.P90 < q.P50 {
		t.Errorf("%+v", q)
	}
	if s := r.Latency.Sent; s.Count != 20 || s.Max > q.Max {
		t.Errorf("from sent %+v, from scheduled %+v", s, q)
	}
}

// A chat tells the times of its text.
func TestChatTimes(t *testing.T) {
	next := make(chan struct{}, 3)
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		chunks(c, stream, token("a"))
		<-next
		chunk(c, token("b"))
		<-next
		chunk(c, token("c"))
		chunk(c, done)
		lastChunk(c)
	})
	var recs records
	g := start(t, Options{Target: Target{URL: s.url(), Profile: Chat}, Record: recs.add})
	mustStart(t, g, Spec{Shape: Burst, N: 1})
	for range 2 {
		time.AfterFunc(50*time.Millisecond, func() { next <- struct{}{} })
		waitFor(t, "the answer to go on", func() bool { return len(next) == 0 })
	}
	wait(t, g)
	l, r := g.Run().Latency, recs.all()[0]
	if l.FirstToken.Count != 1 || l.PerToken.Count != 1 || g.Run().Tokens != 3 {
		t.Errorf("%+v, %d tokens", l, g.Run().Tokens)
	}
	if !r.LastToken.After(r.FirstToken) {
		t.Errorf("%+v", r)
	}
}

func TestPromptsInTurn(t *testing.T) {
	prompts, err := ParsePrompts([]byte("# a comment\n\nfirst\\nline\n  second  \n"))
	if err != nil || len(prompts) != 2 || prompts[0] != "first\nline" || prompts[1] != "second" {
		t.Fatalf("%q, %v", prompts, err)
	}
	for _, bad := range []string{"", "# nothing", "\xff"} {
		if _, err := ParsePrompts([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { chunks(c, stream, token("a"), done); lastChunk(c) })
	g := start(t, Options{Target: Target{URL: s.url(), Profile: Chat, Prompts: prompts}})
	mustStart(t, g, Spec{Shape: Hold, N: 1, Requests: 3})
	wait(t, g)
	for i, want := range []string{`first\nline`, "second", `first\nline`} {
		mustContain(t, "the body", s.body[i], want)
	}
}

// A rate that lasts for a while schedules exactly what is due in that time.
func TestRateForATime(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { page(c, 200, "x") })
	for _, c := range []struct {
		spec Spec
		want int
	}{
		{Spec{PerSecond: 400, For: 250 * time.Millisecond}, 100},
		{Spec{PerSecond: 1, For: 100 * time.Millisecond}, 1},
	} {
		g := start(t, Options{Target: Target{URL: s.url()}})
		c.spec.Shape = Rate
		mustStart(t, g, c.spec)
		wait(t, g)
		if tt := g.Run().Totals; tt.Scheduled != c.want || !tt.Balanced() {
			t.Errorf("%+v: %+v", c.spec, tt)
		}
	}
}
