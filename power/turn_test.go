package power

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hangDriver hangs with machines whose id begins with h.
type hangDriver struct{ *fakeDriver }

func (d hangDriver) Switch(ctx context.Context, a Action, m Machine) error {
	if !strings.HasPrefix(m.ID, "h") {
		return d.do(a, m)
	}
	<-ctx.Done()
	return &UnconfirmedError{Why: "the command did not end in time"}
}

// Machines whose driver hangs until the deadline keep no other machine off, neither of
// another driver nor of their own. What waits for its turn is not reported as being asked.
func TestHangingRequestsKeepNoOtherMachineOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprintf("h%d", i))
		}
		hanging, sound := newFake("exec", allAbilities, append(ids, "own")...), newFake("portal", allAbilities, "other")
		for _, d := range []*fakeDriver{hanging, sound} {
			for id := range d.machines {
				d.set(id, ActionOff)
			}
		}
		f, _ := testFleet(t, Config{PollInterval: time.Second}, hangDriver{hanging}, sound)
		nodes := slices.Concat(bind("exec", "exec", ids[:15]...), bind("exec", "exec", "own"), bind("portal", "portal", "other"), bind("exec", "exec", ids[15:]...))
		var mu sync.Mutex
		turns, asked, done := 0, map[string]bool{}, map[string]bool{}
		_ = f.do(t.Context(), ActionOn, nodes, nil, func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case p.Stage == StageSending:
				asked[p.Node] = true
			case p.Stage == StageDone:
				done[p.Node] = true
			case strings.Contains(p.Text, "waits for its turn"):
				turns++
				if asked[p.Node] || p.Stage != StageWaiting {
					t.Errorf("%s was asked before its turn, or is %s: %s", p.Node, p.Stage, p.Text)
				}
			}
		}, nil)
		if !done["own"] || !done["other"] || turns == 0 || len(asked) != len(nodes) {
			t.Errorf("done: %v, %d waits, %d asked", done, turns, len(asked))
		}
	})
}
