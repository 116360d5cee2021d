package power

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// queue holds the entries that wait to be written, in order: a slow or hung disk must not keep
// a machine off, and none of them may get lost or come after a later one.
type queue struct {
	mu      sync.Mutex
	waiting []queued
	// began is when lightsout began to write the entry that it is writing; zero if it writes none.
	began time.Time
}

// queued is an entry that waits. written receives the result.
type queued struct {
	entry   Entry
	written chan error
}

func (q *queue) add(e Entry) <-chan error {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := queued{e, make(chan error, 1)}
	q.waiting = append(q.waiting, x)
	return x.written
}

// next takes the first entry out; ok is false if there is none.
func (q *queue) next() (x queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return x, false
	}
	x, q.waiting = q.waiting[0], q.waiting[1:]
	return x, true
}

// writes notes that lightsout begins to write an entry; zero: that it has ended.
func (q *queue) writes(began time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = began
}

// hangs reports whether an entry has been written for about as long as appendSoon waits.
func (q *queue) hangs() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.began.IsZero() && time.Since(q.began) > diskWait-time.Second
}

// diskWait is how long powering on waits for the journal. It is shorter than the 10 s within which
// lightsout reports every wait.
const diskWait = 8 * time.Second

// appendSoon is append that returns a lateError after diskWait, and at once while the disk hangs. The
// entry is written later then, before those that follow.
func (j *Journal) appendSoon(e Entry) error {
	if j == nil {
		return errNoJournal
	}
	written := j.queue.add(e)
	go func() {
		j.writing.Lock()
		defer j.writing.Unlock()
		j.writeQueue()
	}()
	if j.queue.hangs() {
		return j.notWritten(diskWait)
	}
	select {
	case err := <-written:
		return err
	case <-time.After(diskWait):
		return j.notWritten(diskWait)
	}
}

// writeQueue writes the entries that wait. The caller holds writing.
func (j *Journal) writeQueue() {
	for x, ok := j.queue.next(); ok; x, ok = j.queue.next() {
		x.written <- j.appendHeld(x.entry)
	}
}

// lateError reports that an entry was not written in time; lightsout goes on trying.
type lateError struct {
	path   string
	within time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the journal %s could not be written within %s, and lightsout goes on trying: check its disk, and the other programs that use it", e.path, e.within)
}

func isLate(err error) bool {
	var late *lateError
	return errors.As(err, &late)
}

func (j *Journal) notWritten(within time.Duration) error { return &lateError{j.path, within} }
