package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubelet is that part of a kubelet's configuration which decides how an outage
// goes. The names are KubeletConfiguration's.
type Kubelet struct {
	// StatusUpdate is nodeStatusUpdateFrequency, Lease nodeLeaseDurationSeconds.
	StatusUpdate time.Duration `json:"status_update,omitzero"`
	Lease        time.Duration `json:"lease,omitzero"`
	// ShutdownGrace is shutdownGracePeriod, ShutdownGraceCritical
	// shutdownGracePeriodCriticalPods. With 0 the kubelet does not report a shutdown,
	// which then looks like a power cut.
	ShutdownGrace         time.Duration `json:"shutdown_grace,omitzero"`
	ShutdownGraceCritical time.Duration `json:"shutdown_grace_critical,omitzero"`
}

const (
	// kubeletsAsked is the number of kubelets that lightsout asks by itself: an answer
	// has some kilobytes, and in most clusters all are alike.
	kubeletsAsked = 50
	// kubeletsAtOnce bounds the questions under way.
	kubeletsAtOnce = 4
	kubeletTimeout = 2 * time.Second
)

// parseConfigz reads a kubelet's answer to /configz.
func parseConfigz(body []byte) (Kubelet, error) {
	var answer struct {
		Config *struct {
			StatusUpdate          metav1.Duration `json:"nodeStatusUpdateFrequency"`
			Lease                 int32           `json:"nodeLeaseDurationSeconds"`
			ShutdownGrace         metav1.Duration `json:"shutdownGracePeriod"`
			ShutdownGraceCritical metav1.Duration `json:"shutdownGracePeriodCriticalPods"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Config == nil {
		return Kubelet{}, errors.New("its answer is not a kubelet's configuration")
	}
	c := answer.Config
	k := Kubelet{
		StatusUpdate:  cmp.Or(c.StatusUpdate.Duration, defaultStatusUpdate),
		Lease:         cmp.Or(time.Duration(c.Lease)*time.Second, defaultLease),
		ShutdownGrace: c.ShutdownGrace.Duration, ShutdownGraceCritical: c.ShutdownGraceCritical.Duration,
	}
	if min(k.StatusUpdate, k.Lease, k.ShutdownGrace, k.ShutdownGraceCritical) < 0 {
		return Kubelet{}, errors.New("its configuration contains a negative duration")
	}
	return k, nil
}

// kubelets keeps whom to ask. Safe for use by several goroutines.
type kubelets struct {
	queue chan string // nodes whose kubelets to ask
	// denied: the user may not ask any.
	denied atomic.Bool

	mu    sync.Mutex
	asked map[string]string // by node, with which boot id
}

func newKubelets() *kubelets {
	return &kubelets{queue: make(chan string, 1024), asked: map[string]string{}}
}

// want queues a node, once for each of its boots: always a wanted node, and of the
// others the first few. If very many wait, it does so at the next call.
func (k *kubelets) want(node, boot string, wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, known := k.asked[node]
	if k.denied.Load() || known && at == boot || !known && !wanted && len(k.asked) >= kubeletsAsked {
		return
	}
	select {
	case k.queue <- node:
		k.asked[node] = boot
	default:
	}
}

// WantKubelets asks the kubelets of these nodes for their configuration, unless it has
// asked since they booted. In a cluster of up to 50 nodes lightsout asks all of them
// anyway. The answers come with a later Snapshot.
func (w *Watcher) WantKubelets(nodes ...string) {
	s := w.Snapshot()
	for _, name := range nodes {
		if n := s.Node(name); n != nil && n.Ready == TriTrue && n.Gone.IsZero() {
			w.kubelets.want(n.Name, n.BootID, true)
		}
	}
}

// askKubelets asks those that are queued until ctx ends, one after the other. It
// is done while the link is live only, and not at all once it was forbidden.
func (w *Watcher) askKubelets(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case node := <-w.kubelets.queue:
			if w.gate.wait(ctx) && !w.kubelets.denied.Load() {
				w.askKubelet(ctx, node)
			}
		}
	}
}

// askKubelet asks one kubelet, and hands on its answer or the error.
func (w *Watcher) askKubelet(ctx context.Context, node string) {
	asking, cancel := context.WithTimeout(ctx, kubeletTimeout)
	defer cancel()
	config, err := w.client.Kubelet(asking, node)
	failure := "" // in one sentence
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsForbidden(err):
		w.kubelets.denied.Store(true)
		failure = "forbidden: the user needs get on nodes/proxy"
	case err != nil:
		w.kubelets.mu.Lock()
		w.kubelets.asked[node] = "none yet" // it is asked again at its node's next change
		w.kubelets.mu.Unlock()
		failure = err.Error()
	}
	w.send(ctx, func(s *state) { s.kubeletAnswered(node, config, failure) })
}

// kubeletAnswered takes the answer of a kubelet, or the error.
func (s *state) kubeletAnswered(node string, config Kubelet, failure string) {
	defer s.renewSettings()
	if failure != "" {
		s.kubeletErrs[node] = failure
		return
	}
	delete(s.kubeletErrs, node)
	s.kubelets[node] = config
	if n := s.node(node); n != nil && (n.Kubelet == nil || *n.Kubelet != config) {
		x := *n
		x.Kubelet = &config
		s.t.nodes.set(&x)
	}
}

// kubeletSettings sums up the kubelets' settings: each value is the most frequent one.
func kubeletSettings(all map[string]Kubelet) (s Settings) {
	for _, f := range []struct {
		to  *Setting[time.Duration]
		get func(Kubelet) time.Duration
	}{
		{&s.StatusUpdate, func(k Kubelet) time.Duration { return k.StatusUpdate }},
		{&s.LeaseDuration, func(k Kubelet) time.Duration { return k.Lease }},
		{&s.ShutdownGrace, func(k Kubelet) time.Duration { return k.ShutdownGrace }},
		{&s.ShutdownGraceCritical, func(k Kubelet) time.Duration { return k.ShutdownGraceCritical }},
	} {
		votes := map[time.Duration]int{}
		var best time.Duration
		for _, k := range all {
			v := f.get(k)
			votes[v]++
			if votes[v] > votes[best] || votes[v] == votes[best] && v > best {
				best = v
			}
		}
		switch len(votes) {
		case 0:
		case 1:
			*f.to = Setting[time.Duration]{best, KubeletConfigz}
		default:
			*f.to = Setting[time.Duration]{best, KubeletConfigz + " (differs by node)"}
		}
	}
	return s
}
