package power

import (
	"errors"
	"fmt"
	"time"
)

// diskWait is how long powering on waits for the journal. It is shorter than the 10 s within which
// lightsout reports every wait.
const diskWait = 8 * time.Second

// appendSoon is append that returns a lateError after diskWait: a slow or hung disk must not keep a
// machine off. The entry is written later then. Entries are facts, so their order does not matter.
func (j *Journal) appendSoon(e Entry) error {
	e.At = time.Now().UTC()
	written := make(chan error, 1)
	j.waiting.Add(1)
	go func() {
		defer j.waiting.Add(-1)
		written <- j.append(e)
	}()
	select {
	case err := <-written:
		return err
	case <-time.After(diskWait):
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
	return errors.As(err, new(*lateError))
}
