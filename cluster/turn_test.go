package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One watch asks a server for its cluster's UID and gets no answer: a second watch that waits
// for the result ends with its own context.
func TestAWatchThatWaitsForAnothersQuestionEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := &lineIdentity{asking: newTurn()}
		if err := id.asking.take(t.Context()); err != nil { // as the first watch does
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := id.check(ctx, nil, mainLine, began)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		id.asking.give()
	})
}
