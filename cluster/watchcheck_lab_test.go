package cluster_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
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
	host, transport := api.Front()
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Authorization") },
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	var held atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/pods") {
			w = heldWriter{w, r, &held}
		}
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	cfg, err := cluster.LoadConfig(cluster.Options{Path: kubeconfigTo(t, server)})
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

	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never seen: %s", what)
			}
		}
	}
	compare := func() []cluster.Kind {
		stale, err := w.Stale(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		return stale
	}
	until("the pods are read", func() bool { return len(w.Snapshot().Pods()) >= 6 })
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
	until("the pod is gone", func() bool {
		p := w.Snapshot().Pod(pod.Key)
		return p == nil || !p.Gone.IsZero() || !p.Deleting.IsZero()
	})
	until("all watches work again", func() bool { return len(compare()) == 0 })
}

// kubeconfigTo writes a kubeconfig that leads to a test server.
func kubeconfigTo(t *testing.T, s *httptest.Server) string {
	t.Helper()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: test, user: {token: t}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, s.URL, ca)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
