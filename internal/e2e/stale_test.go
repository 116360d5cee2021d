//go:build linux

package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// heldWriter delivers nothing while held is true.
type heldWriter struct {
	http.ResponseWriter
	r    *http.Request
	held *atomic.Bool
}

func (w heldWriter) Write(b []byte) (int, error) {
	for w.held.Load() {
		select {
		case <-w.r.Context().Done():
			return 0, w.r.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return w.ResponseWriter.Write(b)
}

func (w heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A proxy before the real API server holds the watch of the pods, and nothing else.
func TestStaleNamesThePodsWhoseWatchAProxyHolds(t *testing.T) {
	testenv.Long(t, 30)
	t.Parallel()
	api := labtest.Start(t, "vagrant").API()
	f := newFront(t, api)
	var held atomic.Bool
	f.behave(func(w http.ResponseWriter, r *http.Request) bool {
		if isWatch(r) && strings.HasSuffix(r.URL.Path, "/pods") {
			f.proxy.ServeHTTP(heldWriter{w, r, &held}, r)
			return true
		}
		return false
	})
	cfg, err := cluster.LoadConfig(cluster.Options{Path: f.kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := cluster.NewWatcher(c, cluster.WatchOptions{Namespaces: []string{"default"}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() { cancel(); <-ended }()

	compare := func() []cluster.Kind {
		stale, err := w.Stale(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		return stale
	}
	until(t, "the pods are read", func() bool { return len(w.Snapshot().Pods()) >= 6 })
	if stale := compare(); len(stale) > 0 {
		t.Fatalf("all watches work, but these are stale: %v", stale)
	}
	held.Store(true)
	pod := w.Snapshot().Pods()[0]
	api.Do(http.MethodDelete, "/api/v1/namespaces/default/pods/"+pod.Name, nil, nil)
	if stale := compare(); !slices.Equal(stale, []cluster.Kind{cluster.KindPod}) {
		t.Errorf("a proxy holds the watch of the pods, and these are stale: %v", stale)
	}
	held.Store(false)
	until(t, "the pod is gone", func() bool { p := w.Snapshot().Pod(pod.Key); return p == nil || !p.Gone.IsZero() || !p.Deleting.IsZero() })
	until(t, "all watches work again", func() bool { return len(compare()) == 0 })
}
