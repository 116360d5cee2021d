package session

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// RecordWriter keeps a session's record. Create it first, so that all other parts can write
// to it: each event and each request is on disk before a screen shows it. It is safe
// for concurrent use.
type RecordWriter struct {
	timeline *record.Timeline
	requests *record.Requests
	failing  loadgen.Spells
	names    *record.Names
	kept     bool
	// follower is a running session with a guest; the guest receives the same events.
	follower atomic.Pointer[Session]
}

// NewRecordWriter makes events.jsonl and requests.jsonl in dir; an empty dir keeps the
// events in memory only. The error is the reason why it cannot keep the record.
func NewRecordWriter(dir string, now func() time.Time) (*RecordWriter, error) {
	var events, requests string
	if dir != "" {
		events, requests = filepath.Join(dir, record.EventsFile), filepath.Join(dir, record.RequestsFile)
	}
	timeline, err := record.NewTimeline(events, now)
	if err != nil {
		return nil, err
	}
	r := &RecordWriter{timeline: timeline, kept: dir != ""}
	r.requests, err = record.NewRequests(requests)
	if err != nil {
		return nil, errors.Join(err, timeline.Close())
	}
	return r, nil
}

// Redact replaces names in the record from now on; it learns the names in the cluster.
// Call it before recording anything.
func (r *RecordWriter) Redact(n *record.Names) {
	r.names = n
	r.timeline.Redact(n)
	r.requests.Redact(n)
}

// Timeline is the list of events.
func (r *RecordWriter) Timeline() *record.Timeline { return r.timeline }

// Transition adds a change of the cluster to the timeline. It is the watcher's sink.
func (r *RecordWriter) Transition(t cluster.Transition) {
	r.names.Add(record.NameNamespace, t.Subject.Namespace)
	if t.Subject.Kind == cluster.KindNode {
		r.names.Add(record.NameHost, t.Subject.Name)
	}
	r.timeline.Add(view.Transition(t))
	if s := r.follower.Load(); s != nil {
		s.post(func() { s.guest.Handle(t) })
	}
}

// Request keeps the evidence of one ended request. It is the generator's sink.
func (r *RecordWriter) Request(q loadgen.Record) {
	r.requests.Add(q)
	if c, ok := r.failing.Note(&q); ok {
		if zero := r.timeline.Zero(); c.At.Before(zero) && !q.End.Before(zero) {
			c.At = zero // as in an error window, which counts a request in flight at zero from there
		}
		r.timeline.Add(spellEvent(c, &q))
	}
	if s := r.follower.Load(); s != nil && s.guest.Record(q) {
		s.post(func() { s.guest.Handle(q) })
	}
}

// sayHealth reports on the timeline that the record cannot be written, and that it can be
// written again.
func (r *RecordWriter) sayHealth(h *record.Health) error {
	err := errors.Join(r.timeline.Err(), r.requests.Err())
	if e, changed := h.Observe("the session's record", err, r.timeline.Lost()+r.requests.Lost()); changed {
		r.timeline.Add(e)
	}
	return err
}

// Close closes the files.
func (r *RecordWriter) Close() error { return errors.Join(r.requests.Close(), r.timeline.Close()) }

// spellEvent returns the timeline's event for a change of failures; r is the request
// that revealed it.
func spellEvent(c loadgen.SpellChange, r *loadgen.Record) (e view.Event) {
	switch c.Kind {
	case loadgen.SpellBegins:
		e = view.NewEvent(view.CodeRequestsFail, "load", view.Facts{Class: r.Class, Reported: r.Error})
	case loadgen.SpellPart:
		e = view.NewEvent(view.CodeRequestsPartFail, "load", view.Facts{N: c.N, Of: c.Of})
	case loadgen.SpellEnds:
		e = view.NewEvent(view.CodeRequestsRecover, "load", view.Facts{N: c.N, Of: c.Of, Seconds: c.Length().Seconds()})
	}
	e.At = c.At
	return e
}
