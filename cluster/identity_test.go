package cluster

import (
	"strings"
	"testing"

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

// A tunnel leads new connections to another cluster: the client changes nothing there.
func TestNothingIsChangedInAnotherCluster(t *testing.T) {
	t.Parallel()
	first, second := newFakeAPI(t), newFakeAPI(t)
	for uid, f := range map[string]*fakeAPI{"first": first, "second": second} {
		fill16(f)
		f.becomes(uid)
	}
	x, w := watchThrough(t, first)
	w.until("everything", synced)
	d := w.Snapshot().Deployments()[0]
	for name, call := range map[string]func() error{
		"a cordon":  func() error { _, err := w.client.Cordon(t.Context(), "kube-node1", agreed); return err },
		"a restart": func() error { return w.client.RolloutRestart(t.Context(), d.Key) },
	} {
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
}

// A proxy speaks HTTP/1 and closes each connection after one answer.
func TestAWatcherWorksBehindAProxyThatClosesEachConnection(t *testing.T) {
	t.Parallel()
	f := newFakeAPIOver(t, false)
	fill16(f)
	f.becomes("first")
	f.change(func() { f.closes = true })
	_, w := watchThrough(t, f)
	w.until("everything", func(s *Snapshot) bool { return s.Link.State == LinkLive && synced(s) })
	if err := w.Confirm(t.Context()); err != nil {
		t.Error(err)
	}
}
