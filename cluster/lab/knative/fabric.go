package knative

import (
	"sort"
	"sync"
	"time"

	"lightsout/cluster/lab/kubeproxy/endpoints"
)

// Route leads from a host name to a revision.
type Route struct {
	// Host is the name in the Host header.
	Host string
	// Namespace, Service and Revision are Knative's own names.
	Namespace, Service, Revision string
	// Endpoints is the Kubernetes service (the revision's private one) whose
	// endpoints are the revision's pods; its port is named "http".
	Endpoints string
	// Concurrency is the containerConcurrency; at least 1.
	Concurrency int
	// Timeouts are the revision's.
	Timeouts Timeouts
}

// Fabric is what the programs of this package have in common: the routes, the
// view of the API, and the list of who is running, for tests and for people
// who want to see the truth behind the measurements.
type Fabric struct {
	routes []Route
	view   func() *endpoints.View

	mu         sync.Mutex
	activators map[*activator]struct{}
	proxies    map[*queueProxy]struct{}
}

// New returns a Fabric. view is called when a program starts.
func New(routes []Route, view func() *endpoints.View) *Fabric {
	return &Fabric{
		routes:     routes,
		view:       view,
		activators: map[*activator]struct{}{},
		proxies:    map[*queueProxy]struct{}{},
	}
}

// State is how many requests are where, at one moment.
type State struct {
	Activators   []ActivatorState  `json:"activators"`
	QueueProxies []QueueProxyState `json:"queueProxies"`
}

// ActivatorState is one revision at one activator.
type ActivatorState struct {
	Pod      string `json:"pod"`
	Revision string `json:"revision"` // namespace/name
	// Active requests hold a slot of a pod, Queued ones wait for one.
	Active   int `json:"active"`
	Queued   int `json:"queued"`
	Capacity int `json:"capacity"`
}

// QueueProxyState is one queue-proxy on a machine that has power.
type QueueProxyState struct {
	Pod     string `json:"pod"`
	Node    string `json:"node"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	// Average is the AverageConcurrentRequests of its Stat.
	Average float64 `json:"average"`
}

// State returns the present counts, sorted by pod.
func (f *Fabric) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := State{Activators: []ActivatorState{}, QueueProxies: []QueueProxyState{}}
	for a := range f.activators {
		s.Activators = append(s.Activators, a.state()...)
	}
	now := time.Now()
	for q := range f.proxies {
		one := QueueProxyState{Pod: q.pod, Node: q.node, Average: q.meter.stat(now).AverageConcurrentRequests}
		if q.limits != nil {
			one.Running, one.Waiting, _ = q.limits.counts()
		}
		s.QueueProxies = append(s.QueueProxies, one)
	}
	sort.Slice(s.Activators, func(i, j int) bool {
		a, b := s.Activators[i], s.Activators[j]
		return a.Pod < b.Pod || a.Pod == b.Pod && a.Revision < b.Revision
	})
	sort.Slice(s.QueueProxies, func(i, j int) bool { return s.QueueProxies[i].Pod < s.QueueProxies[j].Pod })
	return s
}

func (f *Fabric) addActivator(a *activator) (forget func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.activators[a] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.activators, a)
	}
}

func (f *Fabric) addQueueProxy(q *queueProxy) (forget func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proxies[q] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.proxies, q)
	}
}
