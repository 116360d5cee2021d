package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// health is how an API server stands.
type health int

const (
	serving health = iota
	killed         // nobody listens
	frozen         // stopped with SIGSTOP: it accepts connections and answers nothing
	unready        // its database is gone: /readyz and all requests fail, and watches bring nothing
)

// apiServer is an API server in virtual time: it lists, and watches from a version.
// Its connections are pipes.
type apiServer struct {
	http  *http.Server
	conns chan net.Conn

	mu      sync.Mutex
	health  health
	since   time.Time // when health changed
	epoch   int       // grows when all watches end
	version int
	oldest  int                      // the history begins after this version
	news    map[string]chan struct{} // of each resource: closed and made anew at every change
	objects map[string]map[string][]byte
	history []stored
	open    map[net.Conn]bool
}

// stored is one change in the history.
type stored struct {
	version             int
	resource, namespace string
	kind                string
	object              []byte
}

// historyKept bounds the history.
const historyKept = 4000

func newAPIServer() *apiServer {
	a := &apiServer{
		conns: make(chan net.Conn), version: 1000, news: map[string]chan struct{}{}, objects: map[string]map[string][]byte{}, open: map[net.Conn]bool{},
		since: time.Now(),
	}
	a.http = &http.Server{Handler: a, ConnState: func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			a.mu.Lock()
			delete(a.open, c)
			a.mu.Unlock()
		}
	}}
	go func() { _ = a.http.Serve(a) }()
	return a
}

// Accept, Close and Addr are the net.Listener of the http.Server.
func (a *apiServer) Accept() (net.Conn, error) {
	c, ok := <-a.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (a *apiServer) Close() error   { close(a.conns); return nil }
func (a *apiServer) Addr() net.Addr { return &net.TCPAddr{} }

func (a *apiServer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a.mu.Lock()
	down := a.health == killed
	a.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := net.Pipe()
	select {
	case a.conns <- server:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.mu.Lock()
	a.open[server] = true
	a.mu.Unlock()
	return client, nil
}

// end ends the server for good.
func (a *apiServer) end() {
	a.set(serving)
	a.drop()
	_ = a.http.Close()
}

// set changes how the server stands. A killed one loses its connections and its history.
func (a *apiServer) set(h health) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health, a.since = h, time.Now()
	if h == killed {
		for c := range a.open {
			_ = c.Close()
		}
		a.oldest, a.history = a.version, nil
	}
	a.wake("")
}

// drop ends all watches, as a proxy that is reloaded does.
func (a *apiServer) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch++
	a.wake("")
}

// served reports whether the server has served for that long.
func (a *apiServer) served(d time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.health == serving && time.Since(a.since) >= d
}

// wake wakes those who wait for changes of a resource; of all for the empty one.
func (a *apiServer) wake(resource string) {
	for of, news := range a.news {
		if of == resource || resource == "" {
			close(news)
			delete(a.news, of)
		}
	}
}

// changes is closed at the next change of a resource, or of the server.
func (a *apiServer) changes(resource string) chan struct{} {
	if a.news[resource] == nil {
		a.news[resource] = make(chan struct{})
	}
	return a.news[resource]
}

// put creates or changes an object; remove deletes it. The server must serve.
func (a *apiServer) put(resource string, o metav1.Object) { a.write(resource, o, false) }

func (a *apiServer) remove(resource string, o metav1.Object) { a.write(resource, o, true) }

func (a *apiServer) write(resource string, o metav1.Object, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	all := a.objects[resource]
	if all == nil {
		all = map[string][]byte{}
		a.objects[resource] = all
	}
	key, kind := o.GetNamespace()+"/"+o.GetName(), "MODIFIED"
	switch {
	case gone:
		kind = "DELETED"
		delete(all, key)
	case all[key] == nil:
		kind = "ADDED"
		fallthrough
	default:
		all[key] = text
	}
	a.history = append(a.history, stored{a.version, resource, o.GetNamespace(), kind, text})
	if len(a.history) > historyKept {
		drop := len(a.history) - historyKept/2
		a.oldest = a.history[drop-1].version
		a.history = append([]stored(nil), a.history[drop:]...)
	}
	a.wake(resource)
}

// thawed waits while the server is frozen.
func (a *apiServer) thawed(ctx context.Context) (h health, ok bool) {
	for {
		a.mu.Lock()
		h, news := a.health, a.changes("health")
		a.mu.Unlock()
		if h != frozen {
			return h, true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return h, false
		}
	}
}

// listKinds are the kinds that have objects here. Others have empty lists.
var listKinds = map[string]string{
	"nodes": "Node v1", "pods": "Pod v1", "deployments": "Deployment apps/v1", "leases": "Lease coordination.k8s.io/v1",
	"endpointslices": "EndpointSlice discovery.k8s.io/v1", "replicasets": "ReplicaSet apps/v1", "events": "Event v1",
	"jobs": "Job batch/v1", "statefulsets": "StatefulSet apps/v1", "daemonsets": "DaemonSet apps/v1", "namespaces": "Namespace v1",
	"persistentvolumes": "PersistentVolume v1", "persistentvolumeclaims": "PersistentVolumeClaim v1", "resourcequotas": "ResourceQuota v1",
	"storageclasses": "StorageClass storage.k8s.io/v1", "csidrivers": "CSIDriver storage.k8s.io/v1", "poddisruptionbudgets": "PodDisruptionBudget policy/v1",
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, ok := a.thawed(r.Context())
	if !ok {
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource, namespace := parts[len(parts)-1], ""
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		namespace = parts[i+1]
	}
	q := r.URL.Query()
	if q.Get("labelSelector") != "" {
		resource = "components" // of the control plane, which is elsewhere
	}
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case h == unready:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "[-]etcd failed: reason withheld\n")
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"major":"1","gitVersion":"v1.36.3"}`)
	case listKinds[resource] == "" && resource != "components":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case q.Get("watch") != "":
		seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
		from, _ := strconv.Atoi(q.Get("resourceVersion"))
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		a.watch(ctx, w, resource, namespace, from)
	default:
		a.list(w, resource, namespace)
	}
}

// kindOf names a resource's kind and version.
func kindOf(resource string) (kind, version string) {
	if resource == "components" {
		resource = "pods"
	}
	kind, version, _ = strings.Cut(listKinds[resource], " ")
	return kind, version
}

func (a *apiServer) list(w http.ResponseWriter, resource, namespace string) {
	kind, version := kindOf(resource)
	items := []json.RawMessage{}
	a.mu.Lock()
	for key, o := range a.objects[resource] {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			items = append(items, o)
		}
	}
	at := strconv.Itoa(a.version)
	a.mu.Unlock() // a pipe that nobody reads blocks the answer, and virtual time stands still while others wait for mu
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": kind + "List", "apiVersion": version, "metadata": map[string]string{"resourceVersion": at}, "items": items,
	})
}

// watch sends what comes after a version, and a bookmark each minute.
func (a *apiServer) watch(ctx context.Context, w http.ResponseWriter, resource, namespace string, from int) {
	kind, version := kindOf(resource)
	bookmark := time.NewTicker(time.Minute)
	defer bookmark.Stop()
	a.mu.Lock()
	epoch, oldest := a.epoch, a.oldest
	a.mu.Unlock()
	if from < oldest {
		fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`)
		return
	}
	w.(http.Flusher).Flush()
	for {
		a.mu.Lock()
		h, news, ended := a.health, a.changes(resource), a.epoch != epoch
		var fresh []stored
		if h == serving {
			i, _ := slices.BinarySearchFunc(a.history, from+1, func(s stored, v int) int { return s.version - v })
			for _, s := range a.history[i:] {
				if s.resource == resource && (namespace == "" || s.namespace == namespace) {
					fresh = append(fresh, s)
				}
			}
			from = a.version
		}
		a.mu.Unlock()
		if ended {
			return
		}
		for _, s := range fresh {
			fmt.Fprintf(w, "{\"type\":%q,\"object\":%s}\n", s.kind, s.object)
		}
		if len(fresh) > 0 {
			w.(http.Flusher).Flush()
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		case <-bookmark.C:
			if h == serving && resource != "events" {
				fmt.Fprintf(w, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":%q,\"apiVersion\":%q,\"metadata\":{\"resourceVersion\":\"%d\"}}}\n", kind, version, from)
				w.(http.Flusher).Flush()
			}
		}
	}
}
