package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// publishEvery is the shortest time between two Snapshots while changes
	// keep coming. It bounds the cost of a flood and is no pace for the eye:
	// whoever draws chooses that.
	publishEvery = 10 * time.Millisecond
	// shownFor is how long a deleted object stays visible.
	shownFor = 30 * time.Second
)

// state is everything that is known. One goroutine owns it: Watcher.Run's.
type state struct {
	w *Watcher
	t *tables

	leases     map[string]*heartbeat
	nextCheck  time.Time // at heartbeats
	slices     map[Key]*slice
	services   map[Key]*service
	readyOn    map[string]*readyCount
	unsettled  map[string]*readyCount // of readyOn, those that have just changed
	components map[string]*component
	knative    map[Ref]*knativePart
	kubelets   map[string]Kubelet
	// kubeletErrs holds the error of each kubelet that did not answer, by node.
	kubeletErrs map[string]string
	expiries    []expiry // in order of their end

	sources        map[*source]Access
	unwatched      map[*source]time.Time // sources whose watch has ended: up to when they are complete
	access         map[Kind]Access
	link           Link
	heartbeats     Access // of their line alone: Err and Until
	serverVersion  string
	settings       Settings
	settingsRead   bool
	heartbeatsFrom time.Time
	// answersFrom is when the API server answered again after it had not; zero: it always has.
	answersFrom  time.Time
	heartbeatsTo time.Time

	version   uint64
	dirty     bool
	published time.Time
	sight     Sight
	nextLook  time.Time // of sight
}

// expiry is when an object that is gone ceases to be shown.
type expiry struct {
	Ref
	gone time.Time
}

func newState(w *Watcher, sources ...*source) *state {
	s := &state{
		w: w, t: newTables(),
		leases: map[string]*heartbeat{},
		slices: map[Key]*slice{}, services: map[Key]*service{},
		readyOn: map[string]*readyCount{}, unsettled: map[string]*readyCount{}, components: map[string]*component{}, knative: map[Ref]*knativePart{}, kubelets: map[string]Kubelet{}, kubeletErrs: map[string]string{},
		sources: map[*source]Access{}, unwatched: map[*source]time.Time{}, access: unread(sources),
	}
	for _, src := range sources {
		s.sources[src] = Access{} // a kind is not synced before all of them are
	}
	s.renewSettings()
	return s
}

// run applies deltas until ctx ends. A lone change is published at once.
func (s *state) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.untilDue(time.Now()))
		select {
		case <-ctx.Done():
			return
		case d := <-s.w.deltas:
			s.look(time.Now())
			d(s)
			s.applyWaiting(time.Now().Add(publishEvery))
		case <-timer.C:
		}
		now := time.Now()
		s.look(now)
		s.expire(now)
		s.checkHeartbeats(now)
		s.settleEndpoints(now)
		if s.dirty && now.Sub(s.published) >= publishEvery {
			s.publish(now)
		}
	}
}

// look follows up to when the watches have delivered everything. It comes before the news, which may
// have waited.
func (s *state) look(now time.Time) {
	if now.Before(s.nextLook) {
		return
	}
	s.nextLook = now.Add(lookEvery)
	s.dateUnwatched(now)
	s.dirty = s.sight.Look(s.w.Snapshot(), now) || s.dirty
}

// applyWaiting applies the waiting deltas, up to a moment: under a flood of news
// there must still be Snapshots.
func (s *state) applyWaiting(until time.Time) {
	for n := 1; ; n++ {
		select {
		case d := <-s.w.deltas:
			d(s)
		default:
			return
		}
		if n%64 == 0 && time.Now().After(until) {
			return
		}
	}
}

// untilDue is how long nothing has to be done unless there is news.
func (s *state) untilDue(now time.Time) time.Duration {
	due := now.Add(time.Hour)
	earlier := func(t time.Time) {
		if t.Before(due) {
			due = t
		}
	}
	if s.dirty {
		earlier(s.published.Add(publishEvery))
	}
	if len(s.expiries) > 0 {
		earlier(s.expiries[0].gone.Add(shownFor))
	}
	earlier(s.nextCheck)
	earlier(s.nextLook)
	for _, c := range s.unsettled {
		earlier(c.changed.Add(endpointsSettle))
	}
	return max(0, due.Sub(now))
}

func (s *state) publish(now time.Time) {
	s.version++
	s.dirty, s.published = false, now
	cfg, link := s.w.client.cfg, s.link
	if link.State != LinkDisconnected {
		link.LastContact = s.w.client.traffic.contact()
	}
	snap := &Snapshot{contents: Contents{
		Version: s.version, At: now,
		Context: cfg.Context, Server: cfg.Server, ServerVersion: s.serverVersion,
		Link: link, Access: s.access, Settings: s.settings,
		HeartbeatsSince: s.heartbeatsFrom, HeartbeatsUntil: s.heartbeatsTo, Blind: s.sight.spans,
	}, SettingsRead: s.settingsRead, traffic: s.w.client.traffic}
	s.t.freezeInto(snap)
	s.w.snapshot.Store(snap)
	select {
	case s.w.changed <- struct{}{}:
	default:
	}
}

// expire removes the objects whose time to stay visible is over.
func (s *state) expire(now time.Time) {
	for len(s.expiries) > 0 && !s.expiries[0].gone.Add(shownFor).After(now) {
		x := s.expiries[0]
		n, d, p := s.node(x.Name), s.deployment(x.Key), s.t.pod(x.Key)
		switch {
		case x.Kind == KindNode && n != nil && n.Gone.Equal(x.gone):
			s.t.nodes.del(n)
		case x.Kind == KindDeployment && d != nil && d.Gone.Equal(x.gone):
			s.t.deployments.del(d)
		case x.Kind == KindPod && p != nil && p.Gone.Equal(x.gone):
			s.t.delPod(p)
		}
		s.expiries, s.dirty = s.expiries[1:], true
	}
}

// ended shows an object that is gone for a while, and tells the sink.
func (s *state) ended(t Transition) {
	s.expiries = append(s.expiries, expiry{t.Subject, t.When.By})
	t.Cause, s.dirty = CauseDeleted, true
	s.transit(t)
}

func (s *state) node(name string) *Node { return keyed(s.t.nodes.view, Key{Name: name}) }

func (s *state) deployment(k Key) *Deployment { return keyed(s.t.deployments.view, k) }

// renewSettings works out the settings in force: what the control plane's pods
// and the kubelets say, else the server version's defaults.
func (s *state) renewSettings() {
	var read Settings
	for _, pod := range slices.Sorted(maps.Keys(s.components)) {
		read = read.or(s.components[pod].settings)
	}
	s.settings = read.or(kubeletSettings(s.kubelets)).or(DefaultSettings(s.serverVersion))
	s.settings.KubeletErr = s.kubeletErrs[cmp.Or(slices.Sorted(maps.Keys(s.kubeletErrs))...)] // that of the first node
	s.dirty = true
}

// transit tells the sink.
func (s *state) transit(t Transition) {
	if s.w.opts.Sink != nil {
		source := t.SourceTime
		if !source.IsZero() {
			source = source.Add(-s.w.client.traffic.ahead())
		}
		t.When = within(s.sight.spans, t.When.By, source)
		s.w.opts.Sink(t)
	}
}
