package cluster

import (
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// publishEvery is the shortest time between two Snapshots.
	publishEvery = 100 * time.Millisecond
	// tombstoneFor is how long what was deleted stays visible.
	tombstoneFor = 30 * time.Second
	// catchUp is for how long after a watch was taken up again its events may
	// be about what happened before.
	catchUp = 2 * time.Second
)

type op int

const (
	opReplace op = iota // items is everything there is in src
	opSet               // item is new or has changed
	opDelete            // item is gone
	opAccess            // access of src has changed
	opLink              // link and version have changed
	opContact           // the server has answered a question
)

// delta is one piece of news for the owner.
type delta struct {
	op      op
	src     *source
	item    any
	items   []any
	seen    time.Time
	access  Access
	link    Link
	version string
}

// state is everything that is known. One goroutine owns it: Watcher.Run's.
type state struct {
	w *Watcher
	t *tables

	leases     map[string]heartbeat
	beats      beatHeap
	beating    map[string]bool // nodes that are in beats
	sets       map[Key]string  // replica set to deployment
	slices     map[Key]*slice
	services   map[Key]map[Key]*slice
	readyOn    map[string]int // ready endpoints by node
	components map[string]Settings
	kubelets   map[string]Kubelet
	// kubeletErrs says why a kubelet could not be asked, by node.
	kubeletErrs map[string]string
	tombs       []tombstone // in order of their end

	sources        map[*source]Access
	access         map[Kind]Access
	link           Link
	serverVersion  string
	settings       Settings
	heartbeatsFrom time.Time
	heartbeatsTo   time.Time

	version   uint64
	dirty     bool
	published time.Time
}

// heartbeat is what is known of a node's Lease.
type heartbeat struct {
	lease
	seen time.Time
	// behind is seen - renewed of a renewal that was delivered live: the
	// difference between the node's clock and ours.
	behind time.Duration
	live   bool // behind is known
}

type tombstone struct {
	end time.Time
	ref Ref
}

func newState(w *Watcher, sources ...*source) *state {
	s := &state{
		w: w, t: newTables(),
		leases: map[string]heartbeat{}, beating: map[string]bool{},
		sets: map[Key]string{}, slices: map[Key]*slice{}, services: map[Key]map[Key]*slice{},
		readyOn: map[string]int{}, components: map[string]Settings{}, kubelets: map[string]Kubelet{}, kubeletErrs: map[string]string{},
		sources: map[*source]Access{}, access: map[Kind]Access{},
	}
	for _, src := range sources {
		s.sources[src] = Access{} // a kind is not synced before all of them are
	}
	s.resettle()
	return s
}

// run applies deltas until ctx ends. The first change after a quiet time is
// published at once, those that follow at most every publishEvery.
func (s *state) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.untilDue(time.Now()))
		select {
		case <-ctx.Done():
			return
		case d := <-s.w.deltas:
			s.apply(d)
			s.drain(time.Now().Add(publishEvery / 2))
		case <-timer.C:
		}
		now := time.Now()
		s.bury(now)
		s.listen(now)
		if s.dirty && now.Sub(s.published) >= publishEvery {
			s.publish(now)
		}
	}
}

// drain applies what is waiting, up to a moment: under a flood of news there
// must still be Snapshots.
func (s *state) drain(until time.Time) {
	for n := 1; ; n++ {
		select {
		case d := <-s.w.deltas:
			s.apply(d)
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
	if len(s.tombs) > 0 {
		earlier(s.tombs[0].end)
	}
	if len(s.beats) > 0 {
		earlier(s.beats[0].at)
	}
	return max(0, due.Sub(now))
}

func (s *state) publish(now time.Time) {
	s.version++
	s.dirty, s.published = false, now
	link := s.link
	link.LastContact = s.w.client.pulse.contact()
	snap := &Snapshot{
		Version: s.version, At: now,
		Context: s.w.cfg.Context, Server: s.w.cfg.Server, ServerVersion: s.serverVersion,
		Link: link, Access: s.access, Settings: s.settings,
		heartbeatsSince: s.heartbeatsFrom, heartbeatsUntil: s.heartbeatsTo,
	}
	s.t.freezeInto(snap)
	s.w.snapshot.Store(snap)
	select {
	case s.w.changed <- struct{}{}:
	default:
	}
}

func (s *state) apply(d delta) {
	switch d.op {
	case opReplace:
		s.replace(d)
		s.admit(d.src, Access{Synced: true}, d.seen)
	case opSet:
		s.set(d.item, d.seen, false)
	case opDelete:
		s.remove(d.item, d.seen)
	case opAccess:
		if s.sources[d.src].Synced {
			d.access.Synced = true
		}
		s.admit(d.src, d.access, time.Now())
	case opLink:
		if d.link.State == LinkLive {
			s.hearAgain(time.Now())
			if d.version != "" {
				s.serverVersion = d.version
			}
			s.resettle()
		}
		s.link, s.dirty = d.link, true
	case opContact:
		s.dirty = true
	}
}

// admit notes how far a source can be read, and sums up its kind.
func (s *state) admit(src *source, a Access, now time.Time) {
	if src.kind == KindLease {
		switch {
		case a.Err == "" && (!s.heartbeatsTo.IsZero() || s.heartbeatsFrom.IsZero()):
			s.heartbeatsTo = time.Time{}
			s.hearAgain(now)
		case a.Err != "" && s.heartbeatsTo.IsZero():
			s.heartbeatsTo = now
		}
	}
	if old, known := s.sources[src]; (known && old == a) || src.kind == kindComponent {
		s.sources[src] = a
		return
	}
	s.sources[src] = a
	sum := Access{Synced: true, Forbidden: true}
	for _, one := range slices.SortedFunc(maps.Keys(s.sources), func(a, b *source) int {
		return compareKeys(Key{Name: a.namespace}, Key{Name: b.namespace})
	}) {
		if one.kind != src.kind {
			continue
		}
		a := s.sources[one]
		sum.Synced = sum.Synced && a.Synced
		sum.Forbidden = sum.Forbidden && a.Forbidden
		if sum.Err == "" {
			sum.Err = a.Err
		}
	}
	s.access = maps.Clone(s.access)
	s.access[src.kind] = sum
	s.dirty = true
}

// resettle works out the settings in force: what the control plane's pods and
// the kubelets say, else what the caller gave, else the server version's
// defaults.
func (s *state) resettle() {
	var read Settings
	for _, pod := range slices.Sorted(maps.Keys(s.components)) {
		read = read.or(s.components[pod])
	}
	s.settings = read.or(kubeletSettings(s.kubelets)).or(s.w.opts.Settings).or(DefaultSettings(s.serverVersion))
	s.settings.KubeletErr = kubeletErr(s.kubeletErrs)
	s.dirty = true
}

// replace takes a whole list: what is not in it any more is gone. The first
// list of a source makes no transitions.
func (s *state) replace(d delta) {
	first := !s.sources[d.src].Synced
	in := func(ns string) bool { return d.src.namespace == "" || d.src.namespace == ns }
	var gone []any
	switch d.src.kind {
	case KindNode:
		gone = missing(s.t.nodes.view, d.items, func(n *Node) (string, bool) { return n.Name, n.Gone.IsZero() })
	case KindPod:
		gone = missing(s.t.pods.view, d.items, func(p *Pod) (Key, bool) { return p.Key, p.Gone.IsZero() && in(p.Namespace) })
	case KindDeployment:
		gone = missing(s.t.deployments.view, d.items, func(x *Deployment) (Key, bool) { return x.Key, x.Gone.IsZero() && in(x.Namespace) })
	case KindEndpointSlice:
		still := map[Key]bool{}
		for _, it := range d.items {
			still[it.(*slice).key] = true
		}
		for k, sl := range s.slices {
			if !still[k] && in(k.Namespace) {
				gone = append(gone, sl)
			}
		}
	case KindReplicaSet:
		maps.DeleteFunc(s.sets, func(k Key, _ string) bool { return in(k.Namespace) })
	case kindComponent:
		clear(s.components)
		s.resettle()
	}
	for _, g := range gone {
		s.remove(g, d.seen)
	}
	for _, it := range d.items {
		// Renewals in a list are never fresh ones.
		s.set(it, d.seen, first || d.src.kind == KindLease)
	}
}

// missing gives what v has and items have not, of those that key admits.
func missing[T any, K comparable](v view[T], items []any, key func(*T) (K, bool)) (gone []any) {
	still := make(map[K]bool, len(items))
	for _, it := range items {
		k, _ := key(it.(*T))
		still[k] = true
	}
	v.each(func(x *T) bool {
		if k, mine := key(x); mine && !still[k] {
			gone = append(gone, x)
		}
		return true
	})
	return gone
}

// bury takes away what was deleted long enough ago.
func (s *state) bury(now time.Time) {
	for len(s.tombs) > 0 && !s.tombs[0].end.After(now) {
		ref := s.tombs[0].ref
		s.tombs = s.tombs[1:]
		past := func(gone time.Time) bool { return !gone.IsZero() && !gone.Add(tombstoneFor).After(now) }
		switch ref.Kind {
		case KindNode:
			if n := s.node(ref.Name); n != nil && past(n.Gone) {
				s.dirty = s.t.nodes.del(n) || s.dirty
			}
		case KindPod:
			if p := s.t.pod(ref.Key); p != nil && past(p.Gone) {
				s.t.delPod(p)
				s.dirty = true
			}
		case KindDeployment:
			if d := s.deployment(ref.Key); d != nil && past(d.Gone) {
				s.dirty = s.t.deployments.del(d) || s.dirty
			}
		}
	}
}

func (s *state) entomb(kind Kind, k Key, gone time.Time) {
	s.tombs = append(s.tombs, tombstone{gone.Add(tombstoneFor), Ref{kind, k}})
}

func (s *state) node(name string) *Node {
	n := s.t.nodes.first(func(n *Node) bool { return n.Name >= name })
	if n == nil || n.Name != name {
		return nil
	}
	return n
}

func (s *state) deployment(k Key) *Deployment {
	d := s.t.deployments.first(func(d *Deployment) bool { return !d.Key.less(k) })
	if d == nil || d.Key != k {
		return nil
	}
	return d
}

// beat is when a node's heartbeat has to be looked for again.
type beat struct {
	at   time.Time
	node string
}

// beatHeap has the soonest at its root, and each node at most once: a renewal
// does not touch it, the look finds the later time by itself.
type beatHeap []beat

func (h beatHeap) Len() int           { return len(h) }
func (h beatHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h beatHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *beatHeap) Push(x any)        { *h = append(*h, x.(beat)) }
func (h *beatHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (s *state) await(n *Node) {
	if at, ok := overdueAt(n, s.heartbeatsFrom); ok && !n.Overdue && n.Gone.IsZero() && !s.beating[n.Name] {
		s.beating[n.Name] = true
		heap.Push(&s.beats, beat{at, n.Name})
	}
}

// hearAgain starts the clocks of silence anew: what was not heard while nothing
// could be heard proves nothing.
func (s *state) hearAgain(now time.Time) {
	s.heartbeatsFrom = now
	s.dirty = true
	s.t.nodes.each(func(n *Node) bool {
		s.await(n)
		return true
	})
}

// listen finds the nodes whose heartbeat is overdue.
func (s *state) listen(now time.Time) {
	contact := s.w.client.pulse.contact()
	for len(s.beats) > 0 && !s.beats[0].at.After(now) {
		b := heap.Pop(&s.beats).(beat)
		delete(s.beating, b.node)
		n := s.node(b.node)
		if n == nil || s.link.State != LinkLive || !s.heartbeatsTo.IsZero() {
			continue // hearAgain takes it up
		}
		at, ok := overdueAt(n, s.heartbeatsFrom)
		switch {
		case !ok || n.Overdue || !n.Gone.IsZero():
		case at.After(now):
			s.await(n)
		case contact.Before(at):
			// Is it the node that is silent, or the server?
			s.w.doubt()
			s.beating[n.Name] = true
			heap.Push(&s.beats, beat{now.Add(250 * time.Millisecond), n.Name})
		default:
			s.overdue(n, now)
		}
	}
}
