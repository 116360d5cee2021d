package session

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/loadgen"
)

// Recorder keeps a session's record. It is made first, so that everything else
// can be told where to put what it sees: each event and each request is on disk
// before anybody is shown it. Safe for use by several goroutines.
type Recorder struct {
	timeline *record.Timeline
	requests *record.Requests
	failing  loadgen.Spells
	names    *record.Names
	kept     bool
	// follower is a running session with a guest, which is told the same.
	follower atomic.Pointer[Session]
}

// NewRecorder makes events.jsonl and requests.jsonl in dir; an empty dir keeps
// the events in memory only. The error says why the record can't be kept.
func NewRecorder(dir string, now func() time.Time) (*Recorder, error) {
	var events, requests string
	if dir != "" {
		events, requests = filepath.Join(dir, record.EventsFile), filepath.Join(dir, record.RequestsFile)
	}
	timeline, err := record.NewTimeline(events, now)
	if err != nil {
		return nil, err
	}
	r := &Recorder{timeline: timeline, kept: dir != ""}
	if r.requests, err = record.NewRequests(requests); err != nil {
		return nil, errors.Join(err, timeline.Close())
	}
	return r, nil
}

// Redact has names replaced in what is kept, from now on; it learns those that
// the cluster shows. It is called before anything is recorded.
func (r *Recorder) Redact(n *record.Names) {
	r.names = n
	r.timeline.Redact(n)
	r.requests.Redact(n)
}

// Timeline is the list of events.
func (r *Recorder) Timeline() *record.Timeline { return r.timeline }

// Transition puts what the cluster shows on the timeline. It is the watcher's sink.
func (r *Recorder) Transition(t cluster.Transition) {
	if r.names != nil {
		r.names.Add(record.NameNamespace, t.Subject.Namespace)
		if t.Subject.Kind == cluster.KindNode {
			r.names.Add(record.NameHost, t.Subject.Name)
		}
	}
	r.timeline.Add(eventOf(t))
	if s := r.follower.Load(); s != nil && s.guest.Tracks() {
		post(s.loop, t, s.guest.Transition)
	}
}

// Request keeps the evidence of one ended request. It is the generator's sink.
func (r *Recorder) Request(q loadgen.Record) {
	r.requests.Add(q)
	if c, ok := r.failing.Note(&q); ok {
		r.timeline.Add(spellEvent(c, &q))
	}
	if s := r.follower.Load(); s != nil && s.guest.Record(q) {
		post(s.loop, q, s.guest.Request)
	}
}

// Err says why the record can't be written at present; it is tried again.
func (r *Recorder) Err() error { return errors.Join(r.timeline.Err(), r.requests.Err()) }

// look says on the timeline when the record can't be written, and when it can
// again.
func (r *Recorder) look(h *record.Health) error {
	err := r.Err()
	if e, changed := h.Look("the session's record", err, r.timeline.Lost()+r.requests.Lost()); changed {
		r.timeline.Add(e)
	}
	return err
}

// Close closes the files.
func (r *Recorder) Close() error { return errors.Join(r.requests.Close(), r.timeline.Close()) }
