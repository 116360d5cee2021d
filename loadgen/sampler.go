package loadgen

import (
	"slices"
	"time"
)

const (
	sampleEach  = time.Second
	sampleSoon  = 250 * time.Millisecond // while burstTime lasts after a Begin
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
	last float64 // its last answer
	// lost is what it held when its node died; of no time while its node lives.
	lost holding
}

// sampler polls the servers for their requests while requests are outstanding.
type sampler struct {
	*common
	kick chan struct{} // requests a sample now

	// Only the loop uses these: the backends, the kinds of servers that have ever answered, and
	// when the next poll may begin.
	servers  map[string]*server
	heard    map[string]bool
	nextPoll time.Time

	// Guarded by the ledger's lock.
	measured measurement
	// doubtSince is since when requests have waited beside free slots; zero: they have not.
	doubtSince time.Time
}

func newSampler(c *common) *sampler {
	return &sampler{common: c, kick: make(chan struct{}, 1), servers: map[string]*server{}, heard: map[string]bool{}}
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
		if sm.ledger.current != nil || len(sm.ledger.live) > 0 {
			busy = begin
		}
		each := sampleEach
		if begin.Sub(sm.ledger.started) < burstTime {
			each = sampleSoon
		}
		active := !busy.IsZero() && begin.Sub(busy) < sampleAfter
		if !active {
			sm.measured, sm.doubtSince = measurement{}, time.Time{}
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

// sample asks servers, if it is not too soon for that, and puts the gauge into its second. A round
// takes up to fetchBound: the second in which it begins has the reading before.
func (sm *sampler) sample() {
	if !sm.measured.at.IsZero() {
		sm.put()
	}
	m := sm.measure()
	if m != nil {
		sm.ledger.mu.Lock()
		sm.measured = *m
		sm.ledger.mu.Unlock()
	}
	sm.put()
}

// put puts the gauge into the present second.
func (sm *sampler) put() {
	capacity, target, limited := sm.opts.Capacity()
	sm.ledger.mu.Lock()
	defer sm.ledger.mu.Unlock()
	now := sm.now()
	out := sm.gauge(now, capacity, target, limited)
	sm.ledger.time.at(out.At).Sample(out)
	for _, r := range sm.ledger.runs {
		if r.rest == nil {
			r.PeakQueued = max(r.PeakQueued, out.Queued)
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
	m := &sm.measured
	s := sm.ledger.survey(now, m.at, len(m.dead) > 0)
	out := derive(m, &s, capacity, limited)
	out.At, out.Capacity, out.Target, out.Limited = now, capacity, target, limited
	if out.doubtful() && !sm.doubtSince.IsZero() && now.Sub(sm.doubtSince) >= doubtAfter {
		out.Unknown, out.Queued = out.Queued, 0
	}
	if m.at.IsZero() && s.outstanding == 0 && sm.ledger.current == nil {
		out.Basis, out.Source = BasisIdle, ""
	}
	return out
}

// measure asks the servers, side by side; nil: it is too soon.
func (sm *sampler) measure() *measurement {
	m := &measurement{at: sm.now()}
	questions := sm.questions(m)
	switch n := len(questions); {
	case n > mostAsked:
		questions = nil
	case n > 0 && m.at.Before(sm.nextPoll):
		return nil
	default:
		sm.nextPoll = m.at.Add(time.Duration(n) * askEach)
	}
	sm.ask(questions)
	for i := range questions {
		q := &questions[i]
		if q.ok {
			sm.heard[q.Name] = true
		}
		if q.of != nil {
			m.take(q, sm.servers[q.of.key()])
		}
		m.report(q)
	}
	// By default, Knative's activator has no metrics since 1.19.
	m.reported = slices.DeleteFunc(m.reported, func(t Report) bool { return !sm.heard[t.Source] })
	for _, s := range sm.servers {
		if s.lost.n > 0 {
			m.dead = append(m.dead, s.lost)
		}
	}
	slices.SortFunc(m.dead, func(a, b holding) int { return a.since.Compare(b.since) })
	return m
}

func (b *Backend) key() string { return b.Namespace + "/" + b.Pod }

// learn records which servers there are and which have died. A dead server counts with its last
// report. learn remembers it while some request, which may be one of those, has shown no life
// since, even if the pod is deleted meanwhile.
func (sm *sampler) learn(backends []Backend, now time.Time) {
	sm.ledger.mu.Lock()
	s := sm.ledger.survey(now, now, true)
	sm.ledger.mu.Unlock()
	known := sm.servers
	sm.servers = map[string]*server{}
	for key, v := range known {
		if s.silentSince(v.lost.since) == 0 {
			v.lost.n = 0
		}
		if v.lost.n > 0 {
			sm.servers[key] = v
		}
	}
	for _, b := range backends {
		v := known[b.key()]
		switch {
		case v == nil:
			v = &server{}
		case b.OnDead && v.lost.since.IsZero():
			v.lost = holding{now, v.last}
		case !b.OnDead && v.lost.n == 0:
			v.lost = holding{}
		}
		sm.servers[b.key()] = v
	}
}
