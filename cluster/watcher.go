package cluster

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// WatchOptions choose the objects of a Watcher and its receivers.
type WatchOptions struct {
	// Namespaces whose pods, deployments and so on are watched; none: all.
	Namespaces []string
	// Sink receives every Transition, in order, from the one goroutine that owns the
	// state; it may be nil. The watcher drops no Transition and waits for Sink, so Sink
	// must return within milliseconds and must not call Run. Each call comes before the
	// Snapshot that shows the change.
	Sink func(Transition)
	// Past is how far back Events are told, the newest 500, each with its SourceTime; 0: none is.
	Past time.Duration
	// Idle is how long the API server may send nothing before the watcher asks whether it
	// is ready; 0 is 5 s.
	Idle time.Duration
}

// Watcher keeps a Snapshot of a cluster up to date. All methods are safe for
// concurrent use.
type Watcher struct {
	opts   WatchOptions
	client *Client

	deltas chan delta
	checks [lineCount]chan struct{}
	gate   *gate
	// kubelets are those to be asked for their configuration.
	kubelets *kubelets
	// knative is closed by seesKnative, when there is a deployment of Knative's.
	knative     chan struct{}
	seesKnative func()
	// leasesFrom is since when changes of Leases have been coming; nil while they
	// don't.
	leasesFrom atomic.Pointer[time.Time]

	snapshot atomic.Pointer[Snapshot]
	changed  chan struct{}
}

// NewWatcher makes a Watcher that follows through c; nothing is sent before Run.
func NewWatcher(c *Client, o WatchOptions) *Watcher {
	o.Namespaces = slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	o.Idle = cmp.Or(o.Idle, idleMax)
	w := &Watcher{
		opts: o, client: c,
		deltas: make(chan delta, 1024), checks: [lineCount]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)},
		gate: &gate{opened: make(chan struct{})}, kubelets: newKubelets(), changed: make(chan struct{}, 1), knative: make(chan struct{}),
	}
	w.seesKnative = sync.OnceFunc(func() { close(w.knative) })
	w.snapshot.Store(NewSnapshot(Contents{Context: c.cfg.Context, Server: c.cfg.Server, Access: unread(w.sources())}))
	return w
}

// Snapshot gives the newest Snapshot; never nil.
func (w *Watcher) Snapshot() *Snapshot { return w.snapshot.Load() }

// Changed has capacity 1 and holds something whenever there is a Snapshot newer
// than the one that was current at the last receive. One receiver only. A lone
// change is there at once, and of many that follow each other a Snapshot each
// 10 ms: who draws them chooses the pace. Heartbeats that change no word make
// none.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Run watches until ctx ends, closes the Client, and then returns nil when every
// goroutine of the Watcher has ended. No failure of the server ends it: it
// reconnects for ever, and says in Snapshot.Link and Snapshot.Access what is
// wrong. It may be called once; the second call returns an error.
func (w *Watcher) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { w.keepLink(ctx) })
	wg.Go(func() { w.keepHeartbeats(ctx) })
	wg.Go(func() { w.keepComplete(ctx) })
	for range kubeletsAtOnce {
		wg.Go(func() { w.askKubelets(ctx) })
	}
	sources := w.sources()
	readFirst(sources)
	wantPast(sources, w.opts.Past, time.Now())
	for _, src := range sources {
		wg.Go(func() { w.follow(ctx, src) })
	}
	newState(w, sources...).run(ctx)
	cancel()
	w.client.Close()
	wg.Wait()
	return nil
}

// send hands a delta to the owner; it waits for room until ctx ends.
func (w *Watcher) send(ctx context.Context, d delta) {
	select {
	case w.deltas <- d:
	case <-ctx.Done():
	}
}

// kindComponent is for the control plane's own pods, read for their flags.
const kindComponent Kind = "component"

// sources lists the watched kinds.
func (w *Watcher) sources() []*source {
	all := []*source{
		{kind: KindNode, trim: trimming(trimNode)},
		{kind: KindLease, namespace: "kube-node-lease", trim: trimming(trimLease)},
		{kind: kindComponent, namespace: "kube-system", trim: trimming(trimComponent),
			selector: "component in (etcd," + apiServer + "," + controllerManager + ",kube-scheduler)"},
	}
	namespaces := w.opts.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	} else if !slices.Contains(namespaces, "default") {
		// Nodes have no namespace; their events are in this one.
		all = append(all, &source{kind: KindEvent, namespace: "default", trim: trimming(trimEvent),
			fields: "involvedObject.kind=Node", later: true})
	}
	all = append(all, placeSources(namespaces)...)
	for _, ns := range namespaces {
		all = append(all, w.knativeSources(ns)...)
		all = append(all,
			&source{kind: KindPod, namespace: ns, trim: trimming(trimPod)},
			&source{kind: KindDeployment, namespace: ns, trim: trimming(trimDeployment)},
			&source{kind: KindEndpointSlice, namespace: ns, trim: trimming(trimSlice)},
			&source{kind: KindEvent, namespace: ns, trim: trimming(trimEvent), later: true},
		)
	}
	return all
}
