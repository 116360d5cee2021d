package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lightsout/internal/view"
)

// Timeline is the list of all events, in the order of observation. Add writes each
// event to its file before it returns. It is safe for concurrent use.
type Timeline struct {
	now func() time.Time

	mu     sync.Mutex
	events []view.Event
	first  int // Seq of events[0]
	zero   time.Time
	file   *file
	tee    *file // a trial's own
	names  *Names
	notify chan struct{}
}

// timelineKept bounds the events kept in memory; the file keeps them all.
const timelineKept = 20_000

const noTimeline = "the timeline can't be kept"

// NewTimeline keeps events in memory and appends each, as a line of JSON, to the file
// at path, which it creates with mode 0600. An empty path keeps no file. The error is
// the reason why it cannot create the file.
func NewTimeline(path string, now func() time.Time) (*Timeline, error) {
	f, err := openFile(path, noTimeline)
	return &Timeline{now: now, first: 1, notify: make(chan struct{}, 1), file: f, tee: &file{}}, err
}

// Redact has names replaced in the files, from now on. In memory they stay.
func (t *Timeline) Redact(n *Names) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = n
	t.file.Redact(n)
}

// Start sets the zero of the clock, and reports whether it was the first call. Later
// calls change nothing.
func (t *Timeline) Start(zero time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.zero.IsZero() {
		return false
	}
	t.zero = zero
	return true
}

// Zero is the clock's zero; the zero time before Start.
func (t *Timeline) Zero() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.zero
}

// Add numbers e, gives it its offset and writes it down. A zero Seen is now, a
// zero At is Seen. It returns the event as kept.
func (t *Timeline) Add(e view.Event) view.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Seen = cmp.Or(e.Seen, t.now())
	e.At = cmp.Or(e.At, e.Seen)
	e.Seq, e.Text = t.first+len(t.events), e.Sentence()
	if !t.zero.IsZero() {
		e.Offset = new(e.At.Sub(t.zero).Seconds())
	}
	t.write(e, t.file, t.tee)
	t.events = append(t.events, e)
	if len(t.events) > timelineKept {
		drop := len(t.events) - timelineKept*3/4
		t.events = append([]view.Event(nil), t.events[drop:]...)
		t.first += drop
	}
	select {
	case t.notify <- struct{}{}:
	default:
	}
	return e
}

func (t *Timeline) write(e view.Event, files ...*file) {
	b, err := json.Marshal(e)
	if err != nil { // a source's year of more than four digits
		e.At, e.Offset = e.Seen, nil
		b, _ = json.Marshal(e)
	}
	b = append(b, '\n')
	for _, f := range files {
		f.write(b)
		if e.Lane == view.LanePower || e.Lane == view.LaneOperator {
			f.sync()
		}
	}
}

// Tee begins a trial: events are written to a second file at path as well, beginning
// with those of this moment, and the clock gets a new zero with the next Start. The
// events keep their numbers. The error is the reason why it cannot create the file.
func (t *Timeline) Tee(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.openTee(path)
}

func (t *Timeline) openTee(path string) error {
	if t.tee.open() {
		return fmt.Errorf("a trial is being recorded already")
	}
	f, err := openFile(path, noTimeline)
	if err != nil {
		return err
	}
	f.Redact(t.names)
	t.tee, t.zero = f, time.Time{}
	return nil
}

// Untee ends the writing to a trial's file.
func (t *Timeline) Untee() error {
	t.mu.Lock()
	f := t.tee
	t.tee = &file{}
	t.mu.Unlock()
	return f.Close()
}

// Err returns the reason why it cannot write events now; the Timeline retries. Nil if
// all events are written except those in Lost.
func (t *Timeline) Err() error {
	t.mu.Lock()
	file, tee := t.file, t.tee
	t.mu.Unlock()
	return errors.Join(file.Err(), tee.Err())
}

// Lost is how many events are missing in the session's file.
func (t *Timeline) Lost() int { return t.file.Lost() }

// Last returns at most n of the newest events, oldest first. The slice must
// not be changed.
func (t *Timeline) Last(n int) []view.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events[max(0, len(t.events)-n):len(t.events):len(t.events)]
}

// Since returns the events kept that come after seq, oldest first. The slice
// must not be changed.
func (t *Timeline) Since(seq int) []view.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := min(max(0, seq+1-t.first), len(t.events))
	return t.events[i:len(t.events):len(t.events)]
}

// Changed is signalled after events were added; signals are merged.
func (t *Timeline) Changed() <-chan struct{} { return t.notify }

// Close closes the file.
func (t *Timeline) Close() error { return t.file.Close() }
