package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// becomes has f answer for the cluster with a UID, as a tunnel does that leads elsewhere
// now.
func (f *fakeAPI) becomes(uid string) { f.change(func() { f.uid = uid }) }

// While another cluster answers at the same address, the snapshot keeps the data of the
// first one, Confirm fails, and nothing is taken over when the first one is back.
func TestAWatcherTakesNoDataFromAnotherCluster(t *testing.T) {
	for says, forbidden := range map[string]bool{"begins with second, before with first": false, "no longer lets lightsout read the namespace kube-system": true} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			fill16(f)
			f.becomes("first")
			w := watchFake(t, f)
			w.until("everything", synced)
			if err := w.Confirm(t.Context()); err != nil {
				t.Fatalf("the first cluster: %v", err)
			}
			f.mu.Lock()
			first := f.objects["nodes"]["/kube-node1"].DeepCopyObject().(*corev1.Node)
			delete(f.objects["nodes"], "/kube-node1") // the second cluster has no such node
			f.forbidden["kube-system"] = forbidden
			f.mu.Unlock()

			f.becomes("second")
			if err := w.Confirm(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("another cluster answers: %v", err)
			}
			f.forget() // the watches end, and a list would show the second cluster
			w.until("the link is lost", func(s *Snapshot) bool { return s.Link.State == LinkDisconnected && strings.Contains(s.Link.Err, says) })
			if n := w.Snapshot().Node("kube-node1"); n == nil || !n.Gone.IsZero() {
				t.Errorf("the second cluster has taken a node of the first one: %+v", n)
			}
			if _, err := w.client.Identity(t.Context()); err == nil {
				t.Error("the client took the second cluster's UID")
			}

			f.put("nodes", first)
			f.change(func() { f.uid, f.forbidden["kube-system"] = "first", false })
			w.until("the first cluster again", func(s *Snapshot) bool { return s.Link.State == LinkLive && synced(s) })
			if err := w.Confirm(t.Context()); err != nil {
				t.Errorf("the first cluster again: %v", err)
			}
		})
	}
}

// A tunnel leads a new connection to another cluster: the client sends no request over it,
// neither one that reads nor one that changes something.
func TestEachConnectionLeadsToTheSameCluster(t *testing.T) {
	t.Parallel()
	t.Run("HTTP/2", func(t *testing.T) { eachConnectionLeadsToTheSameCluster(t, true) })
	t.Run("HTTP/1", func(t *testing.T) { eachConnectionLeadsToTheSameCluster(t, false) })
}

func eachConnectionLeadsToTheSameCluster(t *testing.T, http2 bool) {
	first, second := newFakeAPIOver(t, http2), newFakeAPIOver(t, http2)
	fill16(first)
	fill16(second)
	first.becomes("first")
	second.becomes("second")
	x, w := watchThrough(t, first)
	w.until("everything", synced)
	c := w.client
	calls := map[string]func() error{
		"a list":  func() error { _, err := c.Nodes(t.Context()); return err },
		"a patch": func() error { _, err := c.Cordon(t.Context(), "kube-node1", nil); return err },
	}
	for name, call := range calls {
		x.leads(func() *fakeAPI { return second })
		x.cut()
		err := call()
		for err != nil && strings.Contains(err.Error(), "closed the connection") { // the old one
			err = call()
		}
		if err == nil || !strings.Contains(err.Error(), "answers for another cluster now") {
			t.Errorf("%s: %v", name, err)
		}
		x.leads(func() *fakeAPI { return first })
		x.cut()
		w.until("the first cluster again", func(s *Snapshot) bool { return s.Link.State == LinkLive && s.Link.Err == "" })
	}
	second.mu.Lock()
	defer second.mu.Unlock()
	delete(second.from, "kube-system") // the UID
	delete(second.from, "namespaces")
	if len(second.from) > 0 {
		t.Errorf("the second cluster was asked for %v", second.from)
	}
}

// A proxy closes each connection after one answer: the link names it within seconds instead
// of looking live, and the attempts become rarer.
func TestAProxyThatClosesEachConnectionIsNamed(t *testing.T) {
	t.Parallel()
	f := newFakeAPIOver(t, false)
	fill16(f)
	f.becomes("first")
	f.change(func() { f.closes = true })
	_, w := watchThrough(t, f)
	s := w.until("the reason", func(s *Snapshot) bool { return s.Link.State == LinkDisconnected })
	if !strings.Contains(s.Link.Err, "closes each connection after one answer") {
		t.Errorf("the link reports %q", s.Link.Err)
	}
	f.mu.Lock()
	if f.requests > 30 {
		t.Errorf("%d requests until lightsout reported it", f.requests)
	}
	f.mu.Unlock()
	// A proxy of a cluster that was in view begins to do so.
	f.change(func() { f.closes = false })
	w.until("everything", synced)
	f.change(func() { f.closes = true; f.drops++ })
	w.until("the reason again", func(s *Snapshot) bool {
		return s.Link.State == LinkDisconnected && strings.Contains(s.Link.Err, "closes each connection")
	})
}

// A load balancer leads every other connection to another cluster. Over HTTP/1 each watch
// has a connection of its own. The snapshot shows the first cluster's nodes alone, then and
// afterwards.
func TestAWatcherTakesNoDataFromAConnectionToAnotherCluster(t *testing.T) {
	t.Parallel()
	first, second := newFakeAPIOver(t, false), newFakeAPIOver(t, false)
	fill16(first)
	fill16(second)
	first.becomes("first")
	second.becomes("second")
	second.mu.Lock()
	delete(second.objects["nodes"], "/kube-node1")
	second.mu.Unlock()
	second.put("nodes", apiNode("ghost", corev1.ConditionTrue))
	x, w := watchThrough(t, first)
	w.until("everything", synced)
	ownNodes := func() {
		t.Helper()
		s := w.Snapshot()
		if n := s.Node("kube-node1"); n == nil || !n.Gone.IsZero() || s.Node("ghost") != nil {
			t.Fatalf("the second cluster's nodes are in the snapshot: kube-node1 %+v, ghost %+v", n, s.Node("ghost"))
		}
	}
	turn := 0
	x.leads(func() *fakeAPI {
		turn++
		return []*fakeAPI{first, second}[turn%2]
	})
	for range 3 {
		x.cut()
		first.forget()
		for range 20 { // as long as new connections, watches and lists take
			asked, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_ = w.Confirm(asked) // it may fail, but must not make the snapshot wrong
			<-asked.Done()
			cancel()
			ownNodes()
		}
	}
	x.leads(func() *fakeAPI { return first })
	x.cut()
	first.put("nodes", apiNode("late", corev1.ConditionTrue))
	w.until("the first cluster's news", func(s *Snapshot) bool { return s.Node("late") != nil && s.Link.State == LinkLive && synced(s) })
	ownNodes()
}
