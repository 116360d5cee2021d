package power

import (
	"errors"
	"fmt"
	"time"
)

// diskWait is how long powering on waits for the journal. It is shorter than the 10 s within which
// lightsout reports every wait. While an entry is late already it waits for hungWait.
const (
	diskWait = 8 * time.Second
	hungWait = time.Second
)

// appendSoon is append that returns a lateError after diskWait, or after hungWait while others are late: a slow or
// hung disk must not keep a machine off. The entry is written later then. Entries are facts, so
// their order does not matter.
func (j *Journal) appendSoon(e Entry) error {
	wait := diskWait
	if j.late.Load() > 0 {
		wait = hungWait
	}
	e.At = time.Now().UTC()
	written := make(chan error)
	late := make(chan struct{})
	j.waiting.Add(1)
	go func() {
		defer j.waiting.Add(-1)
		err := j.append(e)
		select {
		case written <- err:
		case <-late:
			j.late.Add(-1)
		}
	}()
	select {
	case err := <-written:
		return err
	case <-time.After(wait):
		j.late.Add(1)
		close(late)
		return &lateError{j.path}
	}
}

// lateError reports that an entry was not written within diskWait, and is as soon as the disk answers.
type lateError struct{ path string }

func (e *lateError) Error() string {
	return fmt.Sprintf("the journal %s could not be written within %s, and is as soon as its disk answers: check it", e.path, diskWait)
}

// IsLate reports whether an error means that an entry of the journal is written later.
func IsLate(err error) bool {
	var late *lateError
	return errors.As(err, &late)
}
