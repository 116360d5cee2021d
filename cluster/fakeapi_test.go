package cluster

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// fakeAPI is an API server over TLS that lists, watches from a version, and fails on
// request in the ways of real ones.
type fakeAPI struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	wake      chan struct{} // closed and replaced at every change
	version   int
	oldest    int // the history starts at this version
	objects   map[string]map[string]runtime.Object
	history   []fakeEvent
	forbidden map[string]bool
	held      map[string]string // the page of a resource, "first" or "second", that it does not answer
	cutAt     map[string]string // the page at which it breaks the connection
	denyAll   bool              // answers 401
	unready   bool              // /readyz fails
	frozen    bool              // accepts connections, but neither answers nor sends
	closes    bool              // closes each HTTP/1 connection after one answer
	drops     int               // an increase ends all running watches
	watches   int               // counts the watches
	lists     map[string]int
	from      map[string]string // the address that last requested a resource
	gitVer    string
	uid       string        // the UID of the namespace kube-system; empty: there is none
	clock     time.Duration // ahead of this machine's clock
	other     http.HandlerFunc
}

type fakeEvent struct {
	version  int
	resource string
	kind     string
	object   []byte
}

func newFakeAPI(t *testing.T) *fakeAPI { return newFakeAPIOver(t, true) }

// newFakeAPIOver makes a fakeAPI that speaks HTTP/2, or else only HTTP/1.
func newFakeAPIOver(t *testing.T, http2 bool) *fakeAPI {
	f := &fakeAPI{
		t: t, wake: make(chan struct{}), version: 100, gitVer: "v1.36.3",
		objects: map[string]map[string]runtime.Object{}, forbidden: map[string]bool{}, lists: map[string]int{}, held: map[string]string{}, cutAt: map[string]string{}, from: map[string]string{},
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.Server.EnableHTTP2 = http2
	f.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that are meant to fail
	f.Server.StartTLS()
	t.Cleanup(func() {
		f.change(func() { f.drops++; f.frozen = false })
		f.Server.CloseClientConnections()
		f.Server.Close()
	})
	return f
}

// change alters the server's state and wakes everybody who waits.
func (f *fakeAPI) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	close(f.wake)
	f.wake = make(chan struct{})
}

// put creates or updates an object of a resource.
func (f *fakeAPI) put(resource string, o runtime.Object) {
	f.change(func() {
		f.version++
		m := o.(metav1.Object)
		m.SetResourceVersion(strconv.Itoa(f.version))
		key := m.GetNamespace() + "/" + m.GetName()
		kind := "MODIFIED"
		if f.objects[resource] == nil {
			f.objects[resource] = map[string]runtime.Object{}
		}
		if f.objects[resource][key] == nil {
			kind = "ADDED"
		}
		if m.GetUID() == "" {
			m.SetUID(types.UID("uid of " + key))
		}
		f.objects[resource][key] = o.DeepCopyObject()
		f.history = append(f.history, fakeEvent{f.version, resource, kind, encode(f.t, o)})
	})
}

// stick has the running watches of a resource send nothing more.
func (f *fakeAPI) remove(resource, namespace, name string) {
	f.change(func() {
		key := namespace + "/" + name
		o := f.objects[resource][key]
		delete(f.objects[resource], key)
		f.version++
		o.(metav1.Object).SetResourceVersion(strconv.Itoa(f.version))
		f.history = append(f.history, fakeEvent{f.version, resource, "DELETED", encode(f.t, o)})
	})
}

// forget makes every version up to now too old to be continued from, and ends
// the watches.
func (f *fakeAPI) forget() {
	f.change(func() { f.oldest = f.version + 1; f.version++; f.drops++ })
}

func encode(t *testing.T, o runtime.Object) []byte {
	kinds, _, err := scheme.ObjectKinds(o)
	if err != nil {
		t.Fatal(err)
	}
	o = o.DeepCopyObject()
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// waits holds a request while held returns true, and reports whether the client still waits for it. The
// caller holds f.mu.
func (f *fakeAPI) waits(r *http.Request, held func() bool) bool {
	for held() && r.Context().Err() == nil {
		wake := f.wake
		f.mu.Unlock()
		select {
		case <-wake:
		case <-r.Context().Done():
		}
		f.mu.Lock()
	}
	return r.Context().Err() == nil
}

func (f *fakeAPI) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	w.Header().Set("Date", time.Now().Add(f.clock).UTC().Format(http.TimeFormat))
	if !f.waits(r, func() bool { return f.frozen }) {
		f.mu.Unlock()
		return
	}
	if f.closes {
		w.Header().Set("Connection", "close")
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource, namespace := parts[len(parts)-1], ""
	for i, p := range parts[:len(parts)-1] {
		if p == "namespaces" {
			namespace = parts[i+1]
		}
	}
	if r.URL.Query().Get("labelSelector") != "" {
		resource = "components"
	}
	f.from[resource] = r.RemoteAddr
	switch {
	case f.denyAll:
		f.fail(w, 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	case r.URL.Path == "/readyz" && f.unready:
		f.mu.Unlock()
		w.WriteHeader(500)
		fmt.Fprint(w, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n")
		return
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/api/v1/namespaces/kube-system" && f.uid != "" && !f.forbidden["kube-system"]:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, f.uid)
	case r.URL.Path == "/version":
		fmt.Fprintf(w, `{"major":"1","gitVersion":%q}`, f.gitVer)
	case f.other != nil && (strings.Contains(r.URL.Path, "/proxy") || strings.Contains(r.URL.Path, "/deployments/")):
		f.mu.Unlock()
		f.other(w, r)
		return
	case f.forbidden[resource]:
		f.fail(w, 403, metav1.StatusReasonForbidden, resource+" is forbidden")
	case r.URL.Query().Get("watch") != "":
		f.mu.Unlock()
		f.watch(w, r, resource, namespace)
		return
	default:
		f.list(w, r, resource, namespace)
	}
	f.mu.Unlock()
}

func (f *fakeAPI) fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(status(code, reason, message))
}

func status(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: "Failure", Code: int32(code), Reason: reason, Message: message}
}

var listKinds = map[string]string{
	"nodes": "NodeList v1", "pods": "PodList v1", "components": "PodList v1", "events": "EventList v1",
	"deployments":    "DeploymentList apps/v1",
	"endpointslices": "EndpointSliceList discovery.k8s.io/v1", "leases": "LeaseList coordination.k8s.io/v1",
	"services": "ServiceList serving.knative.dev/v1", "revisions": "RevisionList serving.knative.dev/v1",
}

func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	kind, version, ok := strings.Cut(listKinds[resource], " ")
	if !ok {
		f.fail(w, 404, metav1.StatusReasonNotFound, "not found")
		return
	}
	page := cmp.Or(r.URL.Query().Get("continue"), "first")
	if !f.waits(r, func() bool { return f.held[resource] == page }) {
		return
	}
	if f.cutAt[resource] == page {
		f.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	f.lists[resource]++
	items := []json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(f.objects[resource])) {
		o := f.objects[resource][key]
		if namespace == "" || o.(metav1.Object).GetNamespace() == namespace {
			items = append(items, encode(f.t, o))
		}
	}
	// Two pages, where two are allowed.
	meta := map[string]string{"resourceVersion": strconv.Itoa(f.version)}
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 1 && len(items) > 1 {
		half := len(items) / 2
		if page == "first" {
			items, meta["continue"] = items[:half], "second"
		} else {
			items = items[half:]
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": version, "metadata": meta, "items": items})
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	q := r.URL.Query()
	f.mu.Lock()
	generation := f.drops
	f.watches++
	from, _ := strconv.Atoi(q.Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	send := func(kind string, object []byte) {
		fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", kind, object)
	}
	if from < f.oldest {
		gone, _ := json.Marshal(status(410, metav1.StatusReasonExpired, "too old resource version"))
		send("ERROR", gone)
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	for {
		f.mu.Lock()
		wake := f.wake
		if f.drops != generation {
			f.mu.Unlock()
			return
		}
		if !f.frozen {
			for _, e := range f.history {
				if e.version > from && e.resource == resource {
					var m struct{ Metadata metav1.ObjectMeta }
					json.Unmarshal(e.object, &m)
					if namespace == "" || m.Metadata.Namespace == namespace {
						send(e.kind, e.object)
					}
				}
			}
			from = f.version
		}
		f.mu.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// kubeconfig writes a kubeconfig that leads to the server.
func (f *fakeAPI) kubeconfig() string {
	ca := filepath.Join(f.t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return writeKubeconfig(f.t, f.URL, "certificate-authority: "+ca)
}

func writeKubeconfig(t *testing.T, server, extra string) string {
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {cluster: c, user: u}
clusters:
- name: c
  cluster:
    server: %s
    %s
users:
- name: u
  user: {token: secret-token-value}
`, server, extra)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
