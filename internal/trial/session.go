package trial

import (
	"time"
)

// poll checks something that takes time. It returns done with an error when that has
// failed; doing is one sentence for the operator.
type poll = func(now time.Time) (done bool, doing string, err error)

// failNow is something that fails at once.
func failNow(err error) poll {
	return func(time.Time) (bool, string, error) { return true, "", err }
}
