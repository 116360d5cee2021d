package labtest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// API asks the lab's API server as its administrator.
type API struct {
	t      testing.TB
	client *http.Client
	host   string

	mu   sync.Mutex
	made []string // the paths of objects that Do made, the oldest first
}

// API leads to the lab's API server. It is the same for all of a test, and may be used
// concurrently.
func (l *Lab) API() *API { l.t.Helper(); return l.api() }

func (l *Lab) newAPI() *API {
	cfg, err := clientcmd.BuildConfigFromFlags("", l.info.Kubeconfig)
	l.must(err)
	cfg.Dial = l.dial()
	client, err := rest.HTTPClientFor(cfg)
	l.must(err)
	l.t.Cleanup(client.CloseIdleConnections)
	return &API{t: l.t, client: client, host: cfg.Host}
}

// Do sends an object, or nothing where it is nil, and reads the answer into
// into, if that is wanted. A conflict (the object exists already) is
// no failure; a patch is a merge patch. What it makes is deleted when the lab is given back.
func (a *API) Do(method, path string, object, into any) {
	a.t.Helper()
	if err := a.Try(method, path, object, into); err != nil {
		a.t.Fatal(err)
	}
	if name := nameOf(object); method == http.MethodPost && name != "" && !strings.HasSuffix(path, "/eviction") {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.made = append(a.made, path+"/"+name)
	}
}

// Try is Do for a server that may not answer.
func (a *API) Try(method, path string, object, into any) error {
	body := ""
	if object != nil {
		b, err := json.Marshal(object)
		if err != nil {
			return err
		}
		body = string(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return ask(ctx, a.client, method, a.host+path, body, into, http.StatusConflict)
}

// Front is for a proxy before the lab's API server: its URL, and the way there
// as its administrator.
func (a *API) Front() (host string, way http.RoundTripper) { return a.host, a.client.Transport }
