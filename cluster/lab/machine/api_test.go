package machine

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"lightsout/cluster/lab/network"
)

const apiAddress = "10.0.0.10:6443"

// api is a recorder in the API server's place: it keeps nodes and leases,
// knows no pods, and writes down every write with the sender's name. What the
// real API server makes of a machine is tested in package scenario.
type api struct {
	host *network.Host

	mu     sync.Mutex
	nodes  map[string]*corev1.Node
	leases map[string]*coordinationv1.Lease
	writes map[string][]string // by node: "PUT leases", ...
	events []corev1.Event
}

func newAPI(t *testing.T, n *network.Network) *api {
	t.Helper()
	a := &api{
		host:   n.AddHost("api", "10.0.0.10"),
		nodes:  map[string]*corev1.Node{},
		leases: map[string]*coordinationv1.Lease{},
		writes: map[string][]string{},
	}
	l, err := a.host.Listen(apiAddress)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	return a
}

func (a *api) config() *rest.Config { return &rest.Config{Host: "http://api.test"} }

// written returns what a node has written so far.
func (a *api) written(node string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.writes[node]...)
}

func (a *api) node(name string) *corev1.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nodes[name].DeepCopy()
}

// reasons are those of the events of one node.
func (a *api) reasons(node string) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]int{}
	for _, e := range a.events {
		if e.InvolvedObject.Name == node {
			out[e.Reason]++
		}
	}
	return out
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a sender without power
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.Method != http.MethodGet {
		_, sender, _ := strings.Cut(r.UserAgent(), "node/")
		kind := "nodes"
		for _, k := range []string{"leases", "events", "pods"} {
			if strings.Contains(r.URL.Path, "/"+k) {
				kind = k
			}
		}
		a.writes[sender] = append(a.writes[sender], r.Method+" "+kind)
	}
	name := parts[len(parts)-1]
	switch {
	case strings.Contains(r.URL.Path, "/events"):
		e := decode(body).(*corev1.Event)
		a.events = append(a.events, *e)
		answer(w, http.StatusCreated, "v1", "Event", e)
	case strings.Contains(r.URL.Path, "/leases"):
		a.serveLease(w, r.Method, name, body)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		answer(w, http.StatusOK, "v1", "PodList", &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	case r.Method == http.MethodPost:
		node := decode(body).(*corev1.Node)
		if a.nodes[node.Name] != nil {
			status(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
		node.UID = "uid-of-" + node.GetUID()
		a.nodes[node.Name] = node
		answer(w, http.StatusCreated, "v1", "Node", node)
	case r.Method == http.MethodPatch: // nodes/<name>/status, merged roughly
		node := a.nodes[parts[len(parts)-2]]
		patch := corev1.Node{}
		if err := json.Unmarshal(body, &patch); err != nil {
			status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		node.Status = patch.Status
		answer(w, http.StatusOK, "v1", "Node", node)
	default:
		answer(w, http.StatusOK, "v1", "Node", a.nodes[name])
	}
}

func (a *api) serveLease(w http.ResponseWriter, method, name string, body []byte) {
	if method == http.MethodGet {
		if l := a.leases[name]; l != nil {
			answer(w, http.StatusOK, "coordination.k8s.io/v1", "Lease", l)
			return
		}
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	l := decode(body).(*coordinationv1.Lease)
	a.leases[l.Name] = l
	answer(w, http.StatusOK, "coordination.k8s.io/v1", "Lease", l)
}

// decode reads an object in whatever encoding a client sends.
func decode(body []byte) apiruntime.Object {
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	return o
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	answer(w, code, "v1", "Status", &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason})
}

func answer(w http.ResponseWriter, code int, version, kind string, o any) {
	data, _ := json.Marshal(o)
	var fields map[string]any
	json.Unmarshal(data, &fields)
	fields["apiVersion"], fields["kind"] = version, kind
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(fields)
}
