package cluster

import (
	"context"
	"time"

	"lightsout/internal/clock"
)

const (
	// askEvery is the interval at which the watcher asks a question on the connection of the
	// watches, as long as somebody wants to know what Snapshot.Blind tells.
	askEvery = time.Second
	// wantedFor is how long somebody wants that who has asked for it.
	wantedFor = 5 * time.Second
)

// keepComplete asks that question. What the API server sent before it had the question arrives
// before the answer, and the owner has it before the next question is answered.
func (w *Watcher) keepComplete(ctx context.Context) {
	t := w.client.traffic
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var before time.Time
	for w.gate.wait(ctx) {
		began := time.Now()
		switch {
		case began.Sub(t.wanted.get()) > wantedFor:
			before = time.Time{}
		case w.ask(ctx, mainLine) == nil:
			if !before.IsZero() {
				t.watched.set(before)
			}
			before = began
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchedUntil is up to when the watches have delivered everything; zero if that is unknown, as
// it is until somebody has wanted to know it for some seconds.
func (t *traffic) watchedUntil() time.Time {
	if time.Since(t.wanted.get()) > wantedFor {
		return time.Time{}
	}
	return t.watched.get()
}

// wantWatched records that somebody wants to know watchedUntil.
func (t *traffic) wantWatched() {
	if time.Since(t.wanted.get()) > wantedFor {
		t.watched.set(time.Time{})
	}
	t.wanted.set(time.Now())
}

// complete is up to when lightsout has seen every change of nodes, pods, deployments and endpoints,
// as of now; zero if that is unknown. It is at most a few seconds ago while all goes well and
// somebody calls Blind each second.
func (s *Snapshot) complete() time.Time {
	at := s.Link.LastContact
	if s.traffic != nil && s.Link.State != LinkDisconnected {
		at = s.traffic.watchedUntil()
	}
	for _, k := range []Kind{KindNode, KindPod, KindDeployment, KindEndpointSlice} {
		if until := s.Access[k].Until; !until.IsZero() && until.Before(at) {
			at = until
		}
	}
	return at
}

// When is when something became so: it was not yet so at After, and so at By. The two are the same
// moment if a watch delivered the change at once. The zero When is that of nothing.
type When struct{ After, By time.Time }

// At is a When that is known exactly.
func At(at time.Time) When { return When{at, at} }

// IsZero reports that it has not become so.
func (w When) IsZero() bool { return w.By.IsZero() }

// Exact reports whether it is one moment.
func (w When) Exact() bool { return w.After.Equal(w.By) }

// Dated narrows w by the time that its source gives, which has whole seconds. A time that can't be
// tells nothing.
func (w When) Dated(source time.Time) When {
	if w.Exact() || source.Before(w.After.Add(-time.Second)) || source.After(w.By) {
		return w
	}
	return When{clock.Latest(w.After, source), clock.Earliest(w.By, source.Add(time.Second))}
}
