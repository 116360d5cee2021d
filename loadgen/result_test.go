package loadgen

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Each run has a result of its own, with the longest wait and what queued.
func TestEachRunHasItsResult(t *testing.T) {
	release := make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { <-release; page(c, 200, "ok") })
	g := start(t, Options{Target: Target{URL: s.url()}, Capacity: func() (now, target int, limited bool) { return 2, 2, true }})
	first, err := g.Begin(Spec{Shape: Burst, N: 4})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "two that queue", func() bool { return g.Result(first).PeakQueued == 2 })
	if r := g.Result(first); !r.Ended.IsZero() || r.Totals.InFlight() != 4 || r.OKPerSecond() != 0 || len(g.Ended(0)) != 0 {
		t.Errorf("while it lasts: %+v", r)
	}
	close(release)
	wait(t, g)
	r := g.Result(first)
	if r.Number != first || r.Spec.N != 4 || r.Totals.OK != 4 || !r.Totals.Balanced() || r.Latency.Count != 4 || r.Latency.Max <= 0 || r.Latency.Max > r.Ended.Sub(r.Started)+time.Millisecond {
		t.Errorf("%+v", r)
	}
	if r.OKPerSecond() <= 0 || r.TokensPerSecond() != 0 {
		t.Errorf("%g ok and %g tokens a second", r.OKPerSecond(), r.TokensPerSecond())
	}
	if ended := g.Ended(0); len(ended) != 1 || ended[0].Number != first || ended[0].Totals.OK != 4 {
		t.Errorf("the results are %+v", ended)
	}
	second, err := g.Begin(Spec{Shape: Hold, N: 2})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "some requests", func() bool { return g.Result(second).Totals.OK > 10 })
	g.StopRun(second)
	wait(t, g)
	if r := g.Result(second); r.Ended.IsZero() || r.Latency.Count != r.Totals.OK || len(g.Ended(1)) != 1 || g.Ended(1)[0].Number != second {
		t.Errorf("%+v", r)
	}
	if r := g.Result(first); r.Totals.Scheduled != 4 || r.Latency.Count != 4 {
		t.Errorf("the first has changed: %+v", r)
	}
	if r := g.Result(99); r.Number != 0 {
		t.Errorf("there is no such run: %+v", r)
	}
}

func TestResultsInWords(t *testing.T) {
	for want, r := range map[string]Result{
		"12 of 12 ok, slowest 19.2 s: up to 4 queued":      {Totals: Totals{Scheduled: 12, OK: 12}, Latency: Quantiles{Count: 12, Max: 19200 * time.Millisecond}, PeakQueued: 4},
		"1 of 6 ok, 2 failed, 3 cancelled, slowest 100 ms": {Totals: Totals{Scheduled: 6, OK: 1, Failed: map[Class]int{ClassReset: 2}, Cancelled: 3}, Latency: Quantiles{Count: 1, Max: 100 * time.Millisecond}},
		"0 of 5 ok, 4 failed, 1 unsent":                    {Totals: Totals{Scheduled: 5, Failed: map[Class]int{ClassReset: 4}, Unsent: 1}},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A gateway that redirects answers also while the service behind it is down.
func TestRedirectsAreCounted(t *testing.T) {
	codes := []int{308, 302, 304, 200, 404}
	var n atomic.Int32
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: 0\r\nLocation: /login\r\n\r\n", codes[int(n.Add(1)-1)%len(codes)])
	})
	g := start(t, Options{Target: Target{URL: s.url()}, Timeouts: Timeouts{Connect: -1}})
	mustStart(t, g, Spec{Shape: Burst, N: len(codes)})
	wait(t, g)
	if got := g.Run(); got.Redirects != 2 || got.Totals.OK != 4 {
		t.Errorf("%d redirects of %d that are ok", got.Redirects, got.Totals.OK)
	}
	first := g.Result(1)
	if got, want := first.Text(), "4 of 5 ok, 2 of them redirects, 1 failed"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
