package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// revision is a Knative revision behind an activator: pods that take one
// request each, and a queue for the rest.
type revision struct {
	*rawServer
	finish chan struct{} // each value lets one request end

	mu     sync.Mutex
	pods   []*revisionPod
	freed  chan struct{} // closed when a pod may have become free
	asked  map[string]int
	silent map[string]bool // pods that don't answer, whatever their node does
	lag    bool            // queue-proxies tell the state before the burst
}

type revisionPod struct {
	name       string
	busy, dead bool
}

func serveRevision(t *testing.T, pods int) *revision {
	v := &revision{finish: make(chan struct{}), freed: make(chan struct{}), asked: map[string]int{}, silent: map[string]bool{}}
	for i := range pods {
		v.pods = append(v.pods, &revisionPod{name: fmt.Sprintf("llm-%02d", i)})
	}
	started := make(chan struct{})
	v.rawServer = serveRaw(t, func(c *net.TCPConn, _ *http.Request) {
		<-started
		p := v.acquire()
		if p == nil {
			return
		}
		select {
		case <-v.finish:
		case <-v.done:
			return
		}
		page(c, 200, "x")
		v.mu.Lock()
		p.busy = false
		close(v.freed)
		v.freed = make(chan struct{})
		v.mu.Unlock()
	})
	close(started)
	return v
}

func (v *revision) acquire() *revisionPod {
	for {
		v.mu.Lock()
		for _, p := range v.pods {
			if !p.busy && !p.dead {
				p.busy = true
				v.mu.Unlock()
				return p
			}
		}
		freed := v.freed
		v.mu.Unlock()
		select {
		case <-freed:
		case <-v.done:
			return nil
		}
	}
}

func (v *revision) busy() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, p := range v.pods {
		if p.busy {
			n++
		}
	}
	return n
}

func (v *revision) backends() []Backend {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []Backend
	for i, p := range v.pods {
		out = append(out, Backend{Namespace: "default", Pod: p.name, Node: fmt.Sprintf("node%d", i/4), Ready: true,
			Concurrency: 1, OnDead: p.dead, Metrics: QueueProxyMetrics()})
	}
	return out
}

func (v *revision) fetch(ctx context.Context, namespace, pod string, port int32, path string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if namespace != "default" || port != 9090 || path != "metrics" {
		return nil, errors.New("404")
	}
	v.asked[pod]++
	for _, p := range v.pods {
		if p.name != pod {
			continue
		}
		if p.dead || v.silent[pod] {
			return nil, errors.New("no route to host")
		}
		load := 0.0
		if p.busy && !v.lag {
			load = 1
		}
		return statMessage(pod, load), nil
	}
	return nil, errors.New("not found")
}

func (v *revision) capacity() (int, int, bool) {
	n := 0
	for _, p := range v.backends() {
		if !p.OnDead {
			n++
		}
	}
	return n, 16, true
}

func (v *revision) options() Options {
	return Options{Target: Target{URL: v.url()}, Backends: v.backends, Capacity: v.capacity, Fetch: v.fetch}
}

// gaugeIs checks the gauge as soon as it is measured (or not, as basis says).
func gaugeIs(t *testing.T, g *Generator, basis Basis, served, queued, stalled, onDead int) {
	t.Helper()
	var ga Gauge
	end := time.Now().Add(deadline)
	for time.Now().Before(end) {
		ga = g.Run().Gauge
		if ga.Basis == basis && ga.Served == served && ga.Queued == queued && ga.Stalled == stalled && ga.OnDead == onDead {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("want %s: served %d, queued %d, stalled %d, on dead %d; the gauge stays at %+v", basis, served, queued, stalled, onDead, ga)
}

// silence makes pods not answer the gauge.
func (v *revision) silence(pods ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range pods {
		v.silent[p] = true
	}
}

// The gauge of requests at a service whose pods take one each: who answers makes its basis and its
// source. No answer is not an answer of zero.
func TestTheGaugeShowsServedAndQueued(t *testing.T) {
	t.Parallel()
	own := func(v *revision, o *Options) {
		fetch := o.Fetch
		o.Backends = func() []Backend {
			l := v.backends()
			for i := range l {
				l[i].Metrics = LlamaMetrics(8080)
			}
			return l
		}
		o.Fetch = func(ctx context.Context, namespace, pod string, _ int32, path string) ([]byte, error) {
			stat, err := fetch(ctx, namespace, pod, QueueProxyMetrics().Port, path)
			if err != nil {
				return nil, err
			}
			n, err := decodeStat(stat)
			return fmt.Appendf(nil, "llamacpp:requests_processing %g\nllamacpp:requests_deferred 0\n", n), err
		}
	}
	for name, c := range map[string]struct {
		pods, requests int
		set            func(*revision, *Options)
		basis          Basis
		served, queued int
		source         string
		noAnswer       int
	}{
		"all are served":        {16, 16, nil, BasisMeasured, 16, 0, "queue-proxy", 0},
		"some are queued":       {8, 12, nil, BasisMeasured, 8, 4, "queue-proxy", 0},
		"the averages lag":      {8, 12, func(v *revision, _ *Options) { v.lag = true }, BasisPartial, 8, 4, "queue-proxy", 0},
		"two pods are silent":   {8, 12, func(v *revision, _ *Options) { v.silence("llm-00", "llm-01") }, BasisPartial, 8, 4, "queue-proxy", 2},
		"all pods are silent":   {2, 3, func(v *revision, _ *Options) { v.silence("llm-00", "llm-01") }, BasisEstimated, 2, 1, "ready x concurrency", 2},
		"pods have own metrics": {4, 6, own, BasisMeasured, 4, 2, "llama.cpp", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := serveRevision(t, c.pods)
			o := v.options()
			if c.set != nil {
				c.set(v, &o)
			}
			g := start(t, o)
			mustStart(t, g, Spec{Shape: Burst, N: c.requests})
			gaugeIs(t, g, c.basis, c.served, c.queued, 0, 0)
			waitFor(t, "the source", func() bool {
				ga := g.Run().Gauge
				return ga.Source == c.source && ga.NoAnswer == c.noAnswer && ga.Outstanding == c.requests
			})
			close(v.finish)
			wait(t, g)
			gaugeIs(t, g, BasisIdle, 0, 0, 0, 0)
		})
	}
}

// What the pods of a dead node held is shown as such, and goes on being so
// when the pods are deleted; the node's pods are not asked.
func TestGaugeShowsRequestsOnDeadNodes(t *testing.T) {
	t.Parallel()
	v := serveRevision(t, 16)
	g := start(t, v.options())
	mustStart(t, g, Spec{Shape: Burst, N: 12})
	waitFor(t, "twelve in service", func() bool { return v.busy() == 12 })
	gaugeIs(t, g, BasisMeasured, 12, 0, 0, 0)
	// Every request must be in the averages: its pod was seen at work.
	waitFor(t, "a second look", func() bool {
		g.ledger.mu.Lock()
		defer g.ledger.mu.Unlock()
		return g.sampler.measured.served == 12
	})
	v.mu.Lock()
	for _, p := range v.pods[8:] { // of these, four are at work
		p.dead = true
	}
	v.mu.Unlock()
	gaugeIs(t, g, BasisMeasured, 8, 0, 0, 4)
	v.mu.Lock()
	asked := v.asked["llm-08"]
	v.pods = v.pods[:8]
	v.mu.Unlock()
	mustStart(t, g, Spec{Shape: Burst, N: 3})
	gaugeIs(t, g, BasisMeasured, 8, 3, 0, 4)
	v.mu.Lock()
	if v.asked["llm-08"] != asked {
		t.Error("a pod on a dead node is asked")
	}
	v.mu.Unlock()
	g.Stop(true)
	wait(t, g)
}

func TestDerive(t *testing.T) {
	t.Parallel()
	t0 := time.Unix(1_700_000_000, 0)
	before, after := t0.Add(-time.Second), t0.Add(time.Second)
	times := func(n int, at time.Time) (out []time.Time) {
		for range n {
			out = append(out, at)
		}
		return out
	}
	pods := func(asked, answered int, served float64) measurement {
		return measurement{at: t0, asked: asked, answered: answered, served: served, room: asked, known: true, sources: []string{"queue-proxy"}}
	}
	n := func(n int) *int { return &n }
	reporting := func(m measurement, r *Report) measurement {
		r.Asked, r.Answered = 1, 1
		m.reported = []Report{*r}
		return m
	}
	most := func(m measurement, n int) measurement {
		m.most = n
		return m
	}
	tests := []struct {
		name     string
		m        measurement
		s        survey
		capacity int // -1: it is known, and it is 0
		want     Gauge
	}{
		{"nothing", measurement{}, survey{}, 8, Gauge{Basis: BasisEstimated}},
		{"12 at 8", pods(8, 8, 8), survey{outstanding: 12}, 8, Gauge{Served: 8, Heard: 8, Queued: 4, Basis: BasisMeasured}},
		{"16 at 16", pods(16, 16, 15.6), survey{outstanding: 16}, 16, Gauge{Served: 16, Heard: 16, Basis: BasisMeasured}},
		{"a hold whose requests change", pods(16, 16, 14.2), survey{outstanding: 16, young: 3}, 16, Gauge{Served: 16, Heard: 14, Basis: BasisPartial}},
		{"new requests take no more than the free slots", pods(8, 8, 7), survey{outstanding: 12, young: 5}, 8, Gauge{Served: 8, Heard: 7, Queued: 4, Basis: BasisPartial}},
		{"new requests behind hung ones do not count as measured", pods(16, 16, 8), survey{outstanding: 16, young: 8}, 16, Gauge{Served: 16, Heard: 8, Basis: BasisPartial}},
		{"no pod at all", measurement{}, survey{outstanding: 8}, -1, Gauge{Queued: 8, Basis: BasisEstimated}},
		{"the gauge shows slots that hung requests hold", pods(9, 9, 6), survey{outstanding: 12}, 9, Gauge{Served: 6, Heard: 6, Queued: 6, Basis: BasisMeasured}},
		{"servers lag behind the end", pods(16, 16, 16), survey{outstanding: 3, most: 16}, 16, Gauge{Served: 3, Heard: 3, Basis: BasisMeasured}},
		{"ends under way", most(pods(8, 8, 8), 8), survey{outstanding: 12, flowing: 10}, 8, Gauge{Served: 8, Heard: 8, Streaming: 8, Queued: 4, Basis: BasisMeasured}},
		{"bytes are coming", pods(8, 8, 2), survey{outstanding: 9, flowing: 5}, 8, Gauge{Served: 5, Heard: 5, Streaming: 5, Queued: 4, Basis: BasisMeasured}},
		{"no limit known", measurement{asked: 3, answered: 3, served: 2}, survey{outstanding: 5, young: 2}, 0, Gauge{Served: 4, Heard: 2, Queued: 1, Basis: BasisPartial}},
		{"no answers", pods(8, 0, 0), survey{outstanding: 12}, 8, Gauge{Served: 8, Queued: 4, Basis: BasisEstimated, NoAnswer: 8}},
		{"nothing known", measurement{}, survey{outstanding: 5}, 0, Gauge{Served: 5, Basis: BasisEstimated}},
		{"no ready server", measurement{known: true}, survey{outstanding: 5}, 16, Gauge{Queued: 5, Basis: BasisEstimated}},
		{"connections don't come about", measurement{}, survey{outstanding: 5, slow: 2}, 0, Gauge{Served: 3, Stalled: 2, Basis: BasisEstimated}},
		{"streams stall on living servers", pods(8, 8, 8), survey{outstanding: 12, stalled: 2}, 8, Gauge{Served: 6, Heard: 6, Queued: 4, Stalled: 2, Basis: BasisMeasured}},
		{"dead", func() measurement {
			m := pods(8, 8, 8)
			m.dead = []holding{{since: t0, n: 4}}
			return m
		}(), survey{outstanding: 16, lastActive: append(times(6, before), times(10, after)...)}, 8,
			Gauge{Served: 8, Heard: 8, Queued: 4, OnDead: 4, Basis: BasisMeasured}},
		{"the last words of the dead are averages over a second in which their requests began", func() measurement {
			m := pods(8, 8, 8)
			for range 8 {
				m.dead = append(m.dead, holding{since: t0, n: 0.8})
			}
			return m
		}(), survey{outstanding: 16, lastActive: append(times(8, before), times(8, after)...)}, 8,
			Gauge{Served: 8, Heard: 8, OnDead: 8, Basis: BasisMeasured}},
		{"most requests of the dead have ended", func() measurement {
			m := pods(8, 8, 8)
			m.dead = []holding{{since: t0, n: 4}}
			return m
		}(), survey{outstanding: 11, lastActive: append(times(1, before), times(10, after)...)}, 8,
			Gauge{Served: 8, Heard: 8, Queued: 2, OnDead: 1, Basis: BasisMeasured}},
		{"streams on dead nodes stall, and are told once", func() measurement {
			m := pods(8, 8, 8)
			m.dead = []holding{{since: t0, n: 4}}
			return m
		}(), survey{outstanding: 12, stalled: 4, lastActive: append(times(4, before), times(8, after)...)}, 8,
			Gauge{Served: 8, Heard: 8, OnDead: 4, Basis: BasisMeasured}},
		{"servers that do not answer are as busy as those that do", most(pods(8, 4, 4), 8), survey{outstanding: 12}, 8,
			Gauge{Served: 8, Heard: 4, Queued: 4, Basis: BasisPartial, NoAnswer: 4}},
		{"the activator reports the same", reporting(pods(8, 8, 8), &Report{Served: n(8), Queued: n(4)}), survey{outstanding: 12, most: 12}, 8,
			Gauge{Served: 8, Heard: 8, Queued: 4, Basis: BasisMeasured}},
		{"the activator has others' too", reporting(pods(8, 8, 8), &Report{Served: n(8), Queued: n(12)}), survey{outstanding: 12, most: 12}, 8,
			Gauge{Served: 8, Others: 8, Queued: 4, Basis: BasisEstimated}},
		{"and two of ours stream", reporting(pods(8, 8, 8), &Report{Served: n(8), Queued: n(12)}), survey{outstanding: 12, most: 12, flowing: 2}, 8,
			Gauge{Served: 8, Others: 8, Heard: 2, Streaming: 2, Queued: 4, Basis: BasisEstimated}},
		{"its numbers are of a moment ago", reporting(pods(8, 8, 8), &Report{Served: n(8), Queued: n(12)}), survey{outstanding: 12, most: 20}, 8,
			Gauge{Served: 8, Heard: 8, Queued: 4, Basis: BasisMeasured}},
		{"one more is within the tolerance", reporting(pods(8, 8, 8), &Report{Served: n(8), Queued: n(5)}), survey{outstanding: 12, most: 12}, 8,
			Gauge{Served: 8, Heard: 8, Queued: 4, Basis: BasisMeasured}},
		{"the pods have others' too", pods(8, 8, 8), survey{outstanding: 3, most: 3}, 8, Gauge{Served: 3, Others: 5, Basis: BasisEstimated}},
	}
	for _, tt := range tests {
		if tt.s.lastActive == nil {
			tt.s.lastActive = times(tt.s.outstanding, after)
		}
		got := derive(&tt.m, &tt.s, max(tt.capacity, 0), tt.capacity != 0)
		got.Source, got.Reported, got.Disagreement = "", nil, ""
		tt.want.Outstanding = tt.s.outstanding
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

// There are about ten questions in a second, however often the gauge is wanted; of more pods than
// can be asked in time none is, and the gauge says that it estimates.
func TestTheGaugeAsksNoMoreThanTenQuestionsASecond(t *testing.T) {
	t.Parallel()
	for pods, want := range map[int]Basis{4: BasisMeasured, 16: BasisMeasured, 40: BasisMeasured, 300: BasisEstimated} {
		t.Run(fmt.Sprint(pods, " pods"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var questions atomic.Int64
				backends := make([]Backend, pods)
				for i := range backends {
					backends[i] = Backend{Namespace: "default", Pod: fmt.Sprint("llm-", i), Ready: true, Concurrency: 1, Metrics: QueueProxyMetrics()}
				}
				opts, err := Options{Backends: func() []Backend { return backends }, Fetch: func(_ context.Context, _, pod string, _ int32, _ string) ([]byte, error) {
					questions.Add(1)
					return statMessage(pod, 0.5), nil
				}}.withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				sm := newSampler(&common{now: time.Now, ctx: t.Context(), ledger: newLedger(60), opts: opts})
				sm.ledger.current = &oneRun{}
				for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(sampleSoon) {
					sm.sample()
				}
				if n := questions.Load(); n > 60*11+int64(pods) {
					t.Errorf("%d questions in a minute", n)
				}
				if g := sm.gauge(time.Now(), pods, pods, true); g.Basis != want {
					t.Errorf("%+v", g)
				}
			})
		})
	}
}

// A server that does not answer delays a reading, and leaves no second of the chart without one.
func TestASilentServerLeavesNoSecondUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backends := make([]Backend, 16)
		for i := range backends {
			backends[i] = Backend{Namespace: "default", Pod: fmt.Sprint("llm-", i), Ready: true, Concurrency: 1, Metrics: QueueProxyMetrics()}
		}
		opts, err := Options{Backends: func() []Backend { return backends }, Fetch: func(ctx context.Context, _, pod string, _ int32, _ string) ([]byte, error) {
			if pod == "llm-3" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return statMessage(pod, 0.5), nil
		}}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		sm := newSampler(&common{now: time.Now, ctx: ctx, ledger: newLedger(60), opts: opts})
		sm.ledger.current = &oneRun{}
		go sm.loop()
		time.Sleep(30 * time.Second)
		stop()
		synctest.Wait()
		for i, x := range sm.ledger.time.seconds(time.Now())[1:30] {
			if !x.Sampled {
				t.Errorf("second %d was not read", i+1)
			}
		}
	})
}

// The parts always add up, and none is negative, whatever the servers say.
func FuzzDerive(f *testing.F) {
	f.Add(uint8(16), uint8(4), uint8(2), uint8(3), uint8(5), 8.5, 2.0, 1.5, uint8(16), uint8(8))
	f.Add(uint8(0), uint8(0), uint8(0), uint8(0), uint8(0), 1e6, 1e6, 1e6, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, out, stalled, slow, young, flowing uint8, served, dead, lost float64, room, answered uint8) {
		for _, v := range []float64{served, dead, lost} {
			if !(v >= 0 && v <= 1e6) {
				return
			}
		}
		s := survey{outstanding: int(out)}
		rest := out
		take := func(v uint8) int { v = min(v, rest); rest -= v; return int(v) }
		s.slow, s.stalled, s.flowing = take(slow), take(stalled), take(flowing)
		s.young = min(int(young), int(out)-s.slow)
		t0 := time.Unix(1_700_000_000, 0)
		for i := range int(out) - s.slow {
			s.lastActive = append(s.lastActive, t0.Add(time.Duration(i-int(young))*time.Second))
		}
		m := measurement{at: t0, asked: int(room), answered: int(min(answered, room)), served: served,
			room: int(room), known: room > 0, dead: []holding{{since: t0, n: dead}, {since: t0, n: lost}}}
		g := derive(&m, &s, int(answered), answered > 0)
		if g.Served < 0 || g.Queued < 0 || g.Stalled < 0 || g.OnDead < 0 || g.Served+g.Queued+g.Stalled+g.OnDead != int(out) {
			t.Fatalf("%+v of %+v and %+v", g, m, s)
		}
	})
}
