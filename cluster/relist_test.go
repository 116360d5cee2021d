package cluster

import (
	"testing"
	"time"
)

// settledWatch is a Watcher of a cluster that has watched everything for longer than a second.
func settledWatch(t *testing.T) (*fakeAPI, *watching) {
	t.Helper()
	f := newFakeAPI(t)
	fill16(f)
	w := watchFake(t, f)
	w.until("everything", synced)
	began := time.Now()
	w.until("a second", func(*Snapshot) bool { return time.Since(began) > time.Second+settledAfter })
	return f, w
}

// The API server no longer has the history of a watch, and the new list hangs while it answers everything
// else: the snapshot dates what it shows by the end of the watch.
func TestAListThatHangsAfterAWatchIsDated(t *testing.T) {
	t.Parallel()
	for kind, resource := range map[Kind]string{KindPod: "pods", KindLease: "leases"} {
		f, w := settledWatch(t)
		f.change(func() { f.held[resource] = "first" })
		ended := time.Now()
		f.forget()
		s := w.until("the label", func(s *Snapshot) bool { return s.Access[kind].Err != "" })
		until := s.Access[kind].Until
		if a := s.Access[kind]; !a.Synced || a.Until.Before(ended) || time.Since(a.Until) < unwatchedFor || s.Link.State != LinkLive {
			t.Errorf("%s: %+v, %s after the watch ended", resource, a, a.Until.Sub(ended))
		}
		f.change(func() { delete(f.held, resource); f.cutAt[resource] = "first" })
		s = w.until("the failure", func(s *Snapshot) bool { return s.Access[kind].Err != "" })
		if a := s.Access[kind]; !a.Until.Equal(until) {
			t.Errorf("%s: after the list has failed: %s, not %s", resource, a.Until, until)
		}
		f.change(func() { delete(f.cutAt, resource) })
		w.until("the next watch", func(s *Snapshot) bool { return s.Access[kind] == Access{Synced: true} })
	}
}

// The list is answered, and the watch after it hangs, the first one or a later one: the snapshot dates what
// it shows by the list.
func TestAWatchThatHangsAfterItsListIsDated(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		f := newFakeAPI(t)
		fill16(f)
		if first {
			f.held["pods"] = "watch"
		}
		asked := time.Now()
		w := watchFake(t, f)
		w.until("everything", synced)
		if !first {
			began := time.Now()
			w.until("a second", func(*Snapshot) bool { return time.Since(began) > time.Second+settledAfter })
			f.change(func() { f.held["pods"] = "first" })
			asked = time.Now()
			f.forget()
			w.until("the label", func(s *Snapshot) bool { return s.Access[KindPod].Err != "" })
		}
		released := time.Now()
		f.change(func() { f.held["pods"] = "watch" })
		s := w.until("the label for the watch", func(s *Snapshot) bool {
			return s.Access[KindPod].Err != "" && time.Since(released) > unwatchedFor
		})
		if until := s.Access[KindPod].Until; until.Before(asked) || until.After(released) {
			t.Errorf("first %v: the pods count until %s, listed between %s and %s", first, until, asked, released)
		}
		f.change(func() { delete(f.held, "pods") })
		w.until("the watch", func(s *Snapshot) bool { return s.Access[KindPod] == Access{Synced: true} })
	}
}

// The pages of a list take long, and the watch after it hangs: the snapshot dates what it shows by the first
// page, whose version all have.
func TestAListOfLatePagesIsDatedByTheFirst(t *testing.T) {
	t.Parallel()
	f, w := settledWatch(t)
	f.change(func() { f.held["pods"] = "second" })
	f.forget()
	w.until("the label", func(s *Snapshot) bool { return s.Access[KindPod].Err != "" })
	first := time.Now() // the first page came before
	w.until("a while", func(*Snapshot) bool { return time.Since(first) > 3*time.Second })
	released := time.Now()
	f.change(func() { f.held["pods"] = "watch" })
	s := w.until("the label for the watch", func(s *Snapshot) bool {
		return s.Access[KindPod].Err != "" && time.Since(released) > unwatchedFor+500*time.Millisecond
	})
	if until := s.Access[KindPod].Until; until.After(first) {
		t.Errorf("the pods count until %s after the version that they are of", until.Sub(first))
	}
}
