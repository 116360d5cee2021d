package loadgen

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	sampleEach  = time.Second
	sampleSoon  = 250 * time.Millisecond // while burstTime lasts after a Start
	burstTime   = 2 * time.Second
	sampleAfter = 3 * time.Second // how long it continues after the last request
	fetchBound  = time.Second

	// askEach is the time for each question: they go through the API server, which others need
	// too, so that there are about 10 in a second. Of more than mostAsked servers none is asked:
	// their words would be too old.
	askEach   = 95 * time.Millisecond
	mostAsked = 40
)

// server is the gauge's memory of a backend.
type server struct {
	seen      time.Time // when it was last among the backends
	onDead    bool      // it was on a dead node then
	last      float64   // its last answer
	deadSince time.Time // zero: its node lives
	held      float64   // at deadSince
}

// sampler polls the servers for their requests while requests are outstanding.
type sampler struct {
	*common
	kick chan struct{} // requests a sample now
	// state reports whether a hold or rate is running, and the time of the last Start;
	// the caller holds the ledger's lock.
	state func() (sending bool, started time.Time)

	// Only the loop uses these: the backends, the sources that have ever answered, and when
	// the next poll may begin.
	servers  map[string]*server
	heard    map[string]bool
	nextPoll time.Time

	// Guarded by the ledger's lock.
	measured *measurement
	// doubtSince is since when requests have waited beside free slots; zero: they have not.
	doubtSince time.Time
}

func newSampler(c *common, state func() (sending bool, started time.Time)) *sampler {
	return &sampler{common: c, kick: make(chan struct{}, 1), state: state, servers: map[string]*server{}, heard: map[string]bool{}}
}

// wake asks for a sample now.
func (sm *sampler) wake() {
	select {
	case sm.kick <- struct{}{}:
	default:
	}
}

// loop samples while requests are outstanding, and a little longer.
func (sm *sampler) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var busy time.Time
	for {
		begin := sm.now()
		sm.ledger.mu.Lock()
		sending, started := sm.state()
		if sending || len(sm.ledger.live) > 0 {
			busy = begin
		}
		each := sampleEach
		if begin.Sub(started) < burstTime {
			each = sampleSoon
		}
		active := !busy.IsZero() && begin.Sub(busy) < sampleAfter
		if !active {
			sm.measured, sm.doubtSince = nil, time.Time{}
			clear(sm.servers)
			clear(sm.heard)
		}
		sm.ledger.mu.Unlock()
		if active {
			sm.sample()
			timer.Reset(max(each-sm.now().Sub(begin), 0))
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-sm.kick:
		case <-sm.ctx.Done():
			return
		}
	}
}

// sample asks servers, if it is not too soon for that, and puts the gauge into
// its second.
func (sm *sampler) sample() {
	m := sm.measure()
	capacity, target, limited := sm.capacity()
	sm.ledger.mu.Lock()
	defer sm.ledger.mu.Unlock()
	if m != nil {
		sm.measured = m
	}
	now := sm.now()
	out := sm.gauge(now, capacity, target, limited)
	sm.ledger.time.at(out.At).Sample(out)
	for _, r := range sm.ledger.runs {
		if r.rest == nil {
			r.PeakQueued = max(r.PeakQueued, out.LeastQueued())
		}
	}
	switch doubtful := out.Unknown > 0 || out.doubtful(); {
	case !doubtful:
		sm.doubtSince = time.Time{}
	case sm.doubtSince.IsZero():
		sm.doubtSince = now
	}
	sm.ledger.notify()
}

// gauge puts the last measurement and the ledger together; the ledger's lock
// is held.
func (sm *sampler) gauge(now time.Time, capacity, target int, limited bool) Gauge {
	m := sm.measured
	if m == nil {
		m = &measurement{}
	}
	s := sm.ledger.survey(now, m.at, len(m.dead) > 0)
	out := derive(m, &s, capacity, limited)
	out.At, out.Capacity, out.Target, out.Limited = now, capacity, target, limited
	if out.doubtful() && !sm.doubtSince.IsZero() && now.Sub(sm.doubtSince) >= doubtAfter {
		out.Unknown, out.Queued = out.Queued, 0
	}
	if sending, _ := sm.state(); sm.measured == nil && s.outstanding == 0 && !sending {
		out.Basis, out.Source = BasisIdle, ""
	}
	return out
}

// measure asks the servers, side by side; nil: it is too soon.
func (sm *sampler) measure() *measurement {
	var backends []Backend
	var sources []Source
	if sm.opts.Backends != nil {
		backends = sm.opts.Backends()
	}
	if sm.opts.Sources != nil && sm.opts.Fetch != nil {
		sources = sm.opts.Sources()
	}
	m := &measurement{at: sm.now()}
	sm.learn(backends, m.at)
	asked := sm.room(m, backends)
	switch n := len(asked) + len(sources); {
	case n > mostAsked:
		asked, sources = nil, nil
	case n > 0 && m.at.Before(sm.nextPoll):
		return nil
	default:
		sm.nextPoll = m.at.Add(time.Duration(n) * askEach)
	}
	loads, told := sm.poll(asked, sources)
	var all reports
	for i, r := range told {
		key := sources[i].key()
		sm.heard[key] = sm.heard[key] || r.ok
		all.add(clean(sources[i].Name, 40), &sources[i].Metrics, r, sm.heard[key])
	}
	for i, r := range loads {
		if b := &asked[i]; b.Metrics.Served != "" {
			all.add(clean(b.Metrics.Name, 40), &b.Metrics, r, true)
		}
	}
	m.reported = all.results()
	sm.sum(m, asked, loads)
	return m
}

// sum adds up what the backends have answered, and what the dead ones held.
func (sm *sampler) sum(m *measurement, asked []Backend, loads []reading) {
	var names []string // of the servers that answered
	for i, r := range loads {
		b := &asked[i]
		if b.Ready {
			m.asked++
		}
		if !r.ok {
			continue
		}
		if b.Ready {
			m.answered++
		}
		s := sm.servers[b.key()]
		// What it had lost, it has told again or will never tell.
		s.last, s.deadSince, s.held = r.load(b), time.Time{}, 0
		m.served += s.last
		if name := clean(b.Metrics.Name, 40); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	m.source = strings.Join(names, ", ")
	for _, s := range sm.servers {
		if s.held > 0 {
			m.dead = append(m.dead, holding{s.deadSince, s.held})
		}
	}
	slices.SortFunc(m.dead, bySince)
}

// load is the number of requests that a backend works on: those above its limit wait in
// its own queue.
func (r reading) load(b *Backend) float64 {
	if b.Concurrency > 0 {
		return min(r.served, float64(b.Concurrency))
	}
	return r.served
}

// room returns the capacity of the living backends, and the backends to poll, with the
// metrics to read.
func (sm *sampler) room(m *measurement, backends []Backend) (asked []Backend) {
	m.known = len(backends) > 0
	unlimited := false
	for _, b := range backends {
		if b.OnDead {
			continue
		}
		m.most += b.Concurrency
		if b.Concurrency <= 0 {
			unlimited = true
		}
		if b.Ready {
			m.room += b.Concurrency
			m.known = m.known && b.Concurrency > 0
		}
		b.Metrics = b.asks()
		tells := b.Metrics.Served != "" || b.Metrics.load != nil
		if sm.opts.Fetch != nil && tells && (b.Ready || sm.servers[b.key()].last > 0) {
			asked = append(asked, b)
		}
	}
	if unlimited {
		m.most = 0
	}
	return asked
}

func (b *Backend) key() string { return b.Namespace + "/" + b.Pod }

// learn records which servers there are and which have died. A dead server counts with its last
// report. learn remembers it while some request, which may be one of those, has shown no life
// since, even if the pod is deleted meanwhile.
func (sm *sampler) learn(backends []Backend, now time.Time) {
	sm.ledger.mu.Lock()
	s := sm.ledger.survey(now, now, true)
	sm.ledger.mu.Unlock()
	for _, b := range backends {
		v := sm.servers[b.key()]
		if v == nil {
			v = &server{}
			sm.servers[b.key()] = v
		}
		v.seen, v.onDead = now, b.OnDead
		if b.OnDead && v.deadSince.IsZero() {
			v.deadSince, v.held = now, v.last
		}
	}
	for key, v := range sm.servers {
		if v.held > 0 && s.silentSince(v.deadSince) == 0 {
			v.held = 0
		}
		switch {
		case v.held > 0:
		case !v.seen.Equal(now):
			delete(sm.servers, key)
		case !v.onDead:
			v.deadSince = time.Time{}
		}
	}
}

// poll fetches the report of each backend and each source, in parallel and within one
// bound.
func (sm *sampler) poll(backends []Backend, sources []Source) (loads, reports []reading) {
	loads, reports = make([]reading, len(backends)), make([]reading, len(sources))
	ctx, cancel := context.WithTimeout(sm.ctx, fetchBound)
	defer cancel()
	var wg sync.WaitGroup
	for i := range sources {
		s := &sources[i]
		wg.Go(func() { reports[i] = sm.askMetrics(ctx, s.Namespace, s.Pod, &s.Metrics) })
	}
	for i := range backends {
		wg.Go(func() { loads[i] = sm.askMetrics(ctx, backends[i].Namespace, backends[i].Pod, &backends[i].Metrics) })
	}
	wg.Wait()
	return loads, reports
}

// capacity asks for the capacity of the service.
func (sm *sampler) capacity() (now, target int, limited bool) {
	if sm.opts.Capacity == nil {
		return 0, 0, false
	}
	now, target, limited = sm.opts.Capacity()
	return max(now, 0), max(target, 0), limited
}
