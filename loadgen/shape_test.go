package loadgen

import (
	"context"
	"errors"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// gate answers nothing until it is told to.
type gate struct {
	*rawServer
	pass chan struct{}
}

func serveGate(t *testing.T) *gate {
	g := &gate{pass: make(chan struct{})}
	var s *rawServer
	ready := make(chan struct{})
	s = serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		<-ready
		select {
		case <-g.pass:
			page(c, 200, "x")
		case <-s.done:
		}
	})
	close(ready)
	g.rawServer = s
	return g
}

func mustStart(t testing.TB, g *Generator, s Spec) {
	t.Helper()
	if _, err := g.Begin(s); err != nil {
		t.Fatal(err)
	}
}

func TestBurstIsInFlightAtOnce(t *testing.T) {
	s := serveGate(t)
	g := start(t, Options{Target: Target{URL: s.url()}})
	mustStart(t, g, Spec{Shape: Burst, N: 12})
	if r := g.Run(); r.Totals.Scheduled != 12 || r.Totals.InFlight() != 12 || r.Active {
		t.Fatalf("right after the start: %+v", r)
	}
	waitFor(t, "12 at the server", func() bool { return s.requests() == 12 && g.Run().Totals.Sent == 12 })
	mustStart(t, g, Spec{Shape: Burst, N: 4})
	waitFor(t, "16 at the server", func() bool { return s.requests() == 16 })
	close(s.pass)
	wait(t, g)
	if tt := g.Run().Totals; tt.OK != 16 || tt.Scheduled != 16 {
		t.Errorf("%+v", tt)
	}
}

func TestHoldKeepsItsNumberOutstanding(t *testing.T) {
	s := serveGate(t)
	g := start(t, Options{Target: Target{URL: s.url()}})
	outstanding := func(n int) func() bool {
		return func() bool { tt := g.Run().Totals; return tt.Sent == n && tt.InFlight() == n }
	}
	mustStart(t, g, Spec{Shape: Hold, N: 8})
	waitFor(t, "8 outstanding", outstanding(8))
	for range 20 {
		s.pass <- struct{}{}
	}
	waitFor(t, "8 outstanding after 20 answers", func() bool { return g.Run().Totals.OK == 20 && outstanding(8)() })
	// More: only the difference is started. Less: the surplus is left to end.
	mustStart(t, g, Spec{Shape: Hold, N: 16})
	waitFor(t, "16 outstanding", outstanding(16))
	if n := g.Run().Totals.Scheduled; n != 36 {
		t.Errorf("%d scheduled, want 36", n)
	}
	mustStart(t, g, Spec{Shape: Hold, N: 4})
	if !outstanding(16)() {
		t.Errorf("a smaller hold has ended requests: %+v", g.Run().Totals)
	}
	for range 12 {
		s.pass <- struct{}{}
	}
	waitFor(t, "4 outstanding", outstanding(4))
	g.Stop(false)
	if r := g.Run(); r.Active || r.Totals.InFlight() != 4 {
		t.Errorf("after Stop: %+v", r)
	}
	close(s.pass)
	wait(t, g)
	if tt := g.Run().Totals; tt.OK != 36 || tt.Cancelled != 0 {
		t.Errorf("%+v", tt)
	}
}

func TestStopCancels(t *testing.T) {
	s := serveGate(t)
	var recs records
	g := start(t, Options{Target: Target{URL: s.url()}, Record: recs.add})
	mustStart(t, g, Spec{Shape: Hold, N: 5})
	waitFor(t, "5 at the server", func() bool { return s.requests() == 5 })
	g.Stop(true)
	wait(t, g)
	if r := g.Run(); r.Totals.Cancelled != 5 || r.Totals.Scheduled != 5 || r.LastError != "" {
		t.Fatalf("%+v", r)
	}
	for _, r := range recs.all() {
		if r.Class != ClassCancelled {
			t.Errorf("%+v", r)
		}
	}
	// It can be started again.
	mustStart(t, g, Spec{Shape: Burst, N: 1})
	close(s.pass)
	wait(t, g)
	if tt := g.Run().Totals; tt.OK != 1 {
		t.Errorf("%+v", tt)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := serveGate(t)
	var recs records
	var d net.Dialer
	g := start(t, Options{
		Target: Target{URL: s.url()}, Record: recs.add,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasSuffix(addr, "1") { // some hang in dialing
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return d.DialContext(ctx, network, addr)
		},
	})
	mustStart(t, g, Spec{Shape: Hold, N: 3})
	mustStart(t, g, Spec{Shape: Burst, N: 5})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(g.Close)
	}
	wg.Wait()
	if r := g.Run(); r.Active || r.Totals.InFlight() != 0 || r.Totals.Cancelled != 8 || !r.Totals.Balanced() {
		t.Errorf("%+v", r)
	}
	if n := len(recs.all()); n != 8 {
		t.Errorf("%d records", n)
	}
	if _, err := g.Begin(Spec{Shape: Burst, N: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("start after close: %v", err)
	}
	wait(t, g)
}

// A rate keeps its absolute schedule: request i is due i intervals after the
// first, whatever sending it took.
func TestRateKeepsItsSchedule(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { page(c, 200, "x") })
	var recs records
	g := start(t, Options{Target: Target{URL: s.url()}, Record: recs.add})
	mustStart(t, g, Spec{Shape: Rate, PerSecond: 400, Requests: 300})
	if r := g.Run(); !r.Active || r.Spec.Shape != Rate {
		t.Errorf("%+v", r)
	}
	wait(t, g)
	run := g.Run()
	if run.Active || run.Totals.Scheduled != 300 || run.Totals.OK+run.Totals.Unsent != 300 {
		t.Fatalf("%+v", run.Totals)
	}
	all := recs.all()
	first := all[0].Scheduled
	for _, r := range all {
		if r.Scheduled.Before(first) {
			first = r.Scheduled
		}
	}
	const interval = time.Second / 400
	for _, r := range all {
		off := r.Scheduled.Sub(first)
		if rest := off % interval; min(rest, interval-rest) > time.Microsecond || off >= 300*interval {
			t.Errorf("a request is due at %v", off)
		}
		if !r.Dial.IsZero() && r.Dial.Before(r.Scheduled) {
			t.Errorf("%s was sent before it was due", r.ID)
		}
	}
}

// What can't be sent is counted, not put off.
func TestRateShedsAtItsBound(t *testing.T) {
	s := serveGate(t)
	var recs records
	g := start(t, Options{Target: Target{URL: s.url()}, MaxInFlight: 10, Record: recs.add})
	mustStart(t, g, Spec{Shape: Rate, PerSecond: 1000, Requests: 60})
	waitFor(t, "the end of the schedule", func() bool { return !g.Run().Active })
	if tt := g.Run().Totals; tt.InFlight() != 10 || tt.Unsent != 50 || !tt.Balanced() {
		t.Errorf("%+v", tt)
	}
	mustStart(t, g, Spec{Shape: Burst, N: 7})
	if tt := g.Run().Totals; tt.InFlight() != 10 || tt.Unsent != 57 {
		t.Errorf("%+v", tt)
	}
	close(s.pass)
	wait(t, g)
	var again Totals
	for _, r := range recs.all() {
		again.Count(r)
	}
	if again.Unsent != 57 || again.OK != 10 || again.Scheduled != 67 {
		t.Errorf("the records add up to %+v", again)
	}
}

func TestBoundsEndARun(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { page(c, 200, "x") })
	g := start(t, Options{Target: Target{URL: s.url()}})
	mustStart(t, g, Spec{Shape: Hold, N: 4, Requests: 50})
	wait(t, g)
	if tt := g.Run().Totals; tt.Scheduled != 50 || tt.OK != 50 {
		t.Errorf("%+v", tt)
	}
	mustStart(t, g, Spec{Shape: Hold, N: 8, Requests: 3})
	wait(t, g)
	if tt := g.Run().Totals; tt.Scheduled != 53 {
		t.Errorf("%+v", tt)
	}
	mustStart(t, g, Spec{Shape: Hold, N: 2, For: 50 * time.Millisecond})
	wait(t, g)
	if r := g.Run(); r.Active || r.Totals.Scheduled < 55 {
		t.Errorf("%+v", r)
	}
}

// A hold on a service that refuses goes on, but does not spin.
func TestHoldDoesNotHammerARefusingService(t *testing.T) {
	var recs records
	g := start(t, Options{Target: Target{URL: "http://" + testenv.Refusing(t)}, Record: recs.add})
	mustStart(t, g, Spec{Shape: Hold, N: 1, Requests: 4})
	wait(t, g)
	all := recs.all()
	if len(all) != 4 {
		t.Fatalf("%d records", len(all))
	}
	for i, r := range all {
		if r.Class != ClassRefused {
			t.Errorf("%+v", r)
		}
		if i > 0 && r.Scheduled.Sub(all[i-1].Scheduled) < failPause {
			t.Errorf("request %d came %v after a failed one", i, r.Scheduled.Sub(all[i-1].Scheduled))
		}
	}
}

func TestSpecsThatMakeNoSense(t *testing.T) {
	g := start(t, Options{Target: Target{URL: "http://127.0.0.1:1"}})
	for _, s := range []Spec{
		{}, {Shape: Burst}, {Shape: Burst, N: -1}, {Shape: Hold}, {Shape: Hold, N: DefaultMaxInFlight + 1},
		{Shape: Rate}, {Shape: Rate, PerSecond: -1}, {Shape: Rate, PerSecond: math.NaN()}, {Shape: Rate, PerSecond: math.Inf(1)},
		{Shape: Hold, N: 1, Requests: -1}, {Shape: Hold, N: 1, For: -1}, {Shape: "wave", N: 1},
	} {
		if _, err := g.Begin(s); err == nil {
			t.Errorf("%+v was started", s)
		}
	}
	if r := g.Run(); r.Totals.Scheduled != 0 || r.Gauge.Basis != BasisIdle || r.Seconds != nil {
		t.Errorf("%+v", r)
	}
}

// A run's own totals balance while others go on, and a run that is stopped
// leaves the others alone.
func TestRunsAreCountedApart(t *testing.T) {
	release := make(chan struct{})
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { <-release; page(c, 503, "") })
	var recs records
	g := start(t, Options{Target: Target{URL: s.url()}, MaxInFlight: 10, Record: recs.add})
	begin := func(sp Spec) int {
		n, err := g.Begin(sp)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	hold := begin(Spec{Shape: Hold, N: 4})
	burst := begin(Spec{Shape: Burst, N: 8})
	if a, b := g.Result(hold).Totals, g.Result(burst).Totals; a.InFlight() != 4 || b.InFlight() != 6 || b.Unsent != 2 || !a.Balanced() || !b.Balanced() {
		t.Errorf("hold %+v, burst %+v", a, b)
	}
	g.StopRun(burst)
	if !g.Run().Active {
		t.Error("stopping the burst has stopped the hold")
	}
	g.StopRun(hold)
	if r := g.Run(); r.Active || r.Totals.InFlight() != 10 {
		t.Errorf("after stopping the hold: %+v", r)
	}
	close(release)
	wait(t, g)
	again := map[int]*Totals{hold: {}, burst: {}}
	for _, r := range recs.all() {
		again[r.Run].Count(r)
	}
	for run, want := range again {
		if got := g.Result(run).Totals; got.Scheduled != want.Scheduled || got.Unsent != want.Unsent || !maps.Equal(got.Failed, want.Failed) {
			t.Errorf("run %d: %+v, by its records %+v", run, got, *want)
		}
	}
	if got := g.Result(99).Totals; got.Scheduled != 0 || !got.Balanced() {
		t.Errorf("a run that there is not: %+v", got)
	}
}

// A run's own bound on a whole request goes before the generator's.
func TestTimeoutOfARun(t *testing.T) {
	s := serveRaw(t, func(c *net.TCPConn, _ *http.Request) { hang(c) })
	for _, sp := range []Spec{{Shape: Burst, N: 2}, {Shape: Hold, N: 2, Requests: 2}, {Shape: Rate, PerSecond: 100, Requests: 2}} {
		sp.Timeout = 50 * time.Millisecond
		g := start(t, Options{Target: Target{URL: s.url()}, Timeouts: Timeouts{Total: time.Hour}})
		mustStart(t, g, sp)
		wait(t, g)
		if tt := g.Run().Totals; tt.Failed[ClassTotal] != 2 {
			t.Errorf("%s: %+v", sp.Shape, tt)
		}
		mustContain(t, "the error", g.Run().LastError, "not complete within 50ms")
	}
}

// After a pause of the process, no more requests are counted as unsent than
// were due while the run lasted.
func TestAStallCountsWhatWasDue(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	var mu sync.Mutex
	var offset time.Duration
	g := start(t, Options{Target: Target{URL: s.URL}, Timeouts: Timeouts{Total: -1, Connect: -1}, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(offset)
	}})
	spec := Spec{Shape: Rate, PerSecond: 10, For: 4 * time.Second}
	mustStart(t, g, spec)
	mu.Lock()
	offset = time.Minute
	mu.Unlock()
	wait(t, g)
	want := 0
	for spec.dueAfter(want) < spec.For {
		want++
	}
	if got := g.Run().Totals; got.Scheduled != want || !got.Balanced() {
		t.Errorf("%+v, want %d scheduled", got, want)
	}
}
