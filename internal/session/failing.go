package session

import (
	"fmt"
	"sync"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// healedAfter is how long requests must be sent without a failure until they are
// said to succeed again.
const healedAfter = 3 * time.Second

// failing tells when requests begin to fail and when they succeed again. Safe
// for use by several goroutines.
type failing struct {
	mu sync.Mutex
	// since is when the first failed request of the spell was sent, last when
	// the newest was, end when the newest failed. Zero outside a spell.
	since, last, end time.Time
	failed           int
}

// note takes the end of one request; ok reports whether e is to be told.
func (f *failing) note(r loadgen.Record) (e view.Event, ok bool) {
	sent := r.Scheduled
	if !r.Sent.IsZero() {
		sent = r.Sent
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Class.Failed():
		f.failed += max(1, r.Count)
		if sent.After(f.last) {
			f.last = sent
		}
		if r.End.After(f.end) {
			f.end = r.End
		}
		if !f.since.IsZero() {
			return e, false
		}
		f.since = sent
		text := "requests begin to fail: " + string(r.Class)
		if r.Error != "" {
			text += " (" + r.Error + ")"
		}
		return view.Event{At: sent, Lane: "load", Subject: "load", Text: text, Level: view.Bad}, true
	case r.Class == loadgen.ClassOK && !f.since.IsZero() && sent.Sub(f.last) >= healedAfter && r.End.After(f.end):
		e = view.Event{Lane: "load", Subject: "load", Level: view.Good, Text: fmt.Sprintf(
			"requests succeed again: %d failed that were sent within %.1f s", f.failed, f.last.Sub(f.since).Seconds())}
		f.since, f.last, f.end, f.failed = time.Time{}, time.Time{}, time.Time{}, 0
		return e, true
	}
	return e, false
}
