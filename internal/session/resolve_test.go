package session_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

// away is a board whose machines can't be looked up for a while.
type away struct {
	*board
	gone atomic.Bool
}

func (a *away) Find(ctx context.Context, n power.NodeRef, hint string) (power.Machine, error) {
	if a.gone.Load() {
		return power.Machine{}, errors.New("the portal does not answer")
	}
	return a.board.Find(ctx, n, hint)
}

// A portal that is down at the start is asked again later.
func TestAMachineThatCouldNotBeLookedUpIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	d := &away{board: newBoard(workers...)}
	d.gone.Store(true)
	var ahead atomic.Int64
	x := run(t, t.TempDir(), d.board, d, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}, nil)
	x.frame("that it was not found", func(f *view.Frame) bool {
		return strings.Contains(f.Power["kube-node3"].Machine, "the portal does not answer")
	})
	d.gone.Store(false)
	ahead.Store(int64(time.Minute))
	x.frame("the machine", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node3"].Machine, "board") })
}
