package power

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// queue holds the entries that wait to be written, in order: a slow or hung disk must not keep
// a machine off, and none of them may get lost or come after a later one.
type queue struct {
	mu      sync.Mutex
	waiting []*queued
	// began is when lightsout began to write the entry that it is writing; zero if it writes none.
	began time.Time
	// again: a timer will try the late entries again.
	again bool
}

// queued is an entry that waits. written receives the result.
type queued struct {
	entry   Entry
	written chan error
	// late: nobody waits for the result any more.
	late bool
}

func (q *queue) add(e Entry) *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := &queued{entry: e, written: make(chan error, 1)}
	q.waiting = append(q.waiting, x)
	return x
}

// first returns the entry that is next; nil if there is none.
func (q *queue) first() *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// wrote removes the first entry, which is written.
func (q *queue) wrote(x *queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = q.waiting[1:]
	x.written <- nil
}

// failed ends the wait of all whose entries could not be written. The late entries stay. It reports
// whether the caller has to try them again.
func (q *queue) failed(err error) (again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(x *queued) bool {
		if !x.late {
			x.written <- err
		}
		return !x.late
	})
	if len(q.waiting) == 0 || q.again || errors.Is(err, errClosed) || errors.Is(err, errRemoved) {
		return false
	}
	q.again = true
	return true
}

// triesAgain notes that the timer has ended.
func (q *queue) triesAgain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.again = false
}

// tooLate marks an entry whose writer no longer waits. If it has just been written, or has failed, it
// returns that result and done.
func (q *queue) tooLate(x *queued) (err error, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case err := <-x.written:
		return err, true
	default:
	}
	x.late = true
	return nil, false
}

// length is the number of entries that wait, with the one that is being written.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.waiting); n > 0 || q.began.IsZero() {
		return n
	}
	return 1
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
// lightsout reports every wait. While the disk hangs it waits for hungWait.
const (
	diskWait = 8 * time.Second
	hungWait = time.Second
)

// appendSoon is append that returns a lateError after diskWait, or after hungWait while the disk hangs. The
// entry is written later then, before those that follow.
func (j *Journal) appendSoon(e Entry) error {
	if j == nil {
		return errNoJournal
	}
	x := j.queue.add(e)
	go j.tryQueue()
	wait := diskWait
	if j.queue.hangs() {
		wait = hungWait
	}
	select {
	case err := <-x.written:
		return err
	case <-time.After(wait):
	}
	if err, done := j.queue.tooLate(x); done {
		return err
	}
	return &lateError{j.path}
}

// tryQueue is writeQueue for callers who do not hold writing. The entries have the result.
func (j *Journal) tryQueue() {
	j.writing.Lock()
	defer j.writing.Unlock()
	_ = j.writeQueue()
}

// lateAgain is the pause before lightsout tries again to write entries that are late.
const lateAgain = 10 * time.Second

// writeQueue writes the entries that wait. After an error the late ones still wait, and lightsout tries
// them again, unless the journal is gone for good. The caller holds writing.
func (j *Journal) writeQueue() error {
	for x := j.queue.first(); x != nil; x = j.queue.first() {
		if err := j.appendHeld(x.entry); err != nil {
			if j.queue.failed(err) {
				time.AfterFunc(lateAgain, func() {
					j.queue.triesAgain()
					j.tryQueue()
				})
			}
			return err
		}
		j.queue.wrote(x)
	}
	return nil
}

// lateError reports that an entry was not written within diskWait; lightsout goes on trying.
type lateError struct{ path string }

func (e *lateError) Error() string {
	return fmt.Sprintf("the journal %s could not be written within %s, and lightsout goes on trying: check its disk, and the other programs that use it", e.path, diskWait)
}

// IsLate reports whether an error means that an entry of the journal is written later.
func IsLate(err error) bool {
	var late *lateError
	return errors.As(err, &late)
}
