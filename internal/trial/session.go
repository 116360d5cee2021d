package trial

import (
	"time"

	"lightsout/internal/trial/plan"
)

// poll checks something that takes time.
type poll = plan.Poll

// failNow is something that fails at once.
func failNow(err error) poll {
	return func(time.Time) (bool, string, error) { return true, "", err }
}
