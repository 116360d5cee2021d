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
		_ = f.Do(t.Context(), ActionOn, nodes, func(p Progress) {
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

// Requests to switch off keep their turns: no more of them hang than Parallel.
func TestHangingRequestsToSwitchOffKeepTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprintf("n%d", i))
		}
		d := newFake("exec", allAbilities, ids...)
		for _, m := range d.machines {
			m.obey = func(Action, *fakeMachine) error {
				time.Sleep(30 * time.Second)
				return nil
			}
		}
		f, _ := testFleet(t, Config{Parallel: 3}, d)
		_ = f.Do(t.Context(), ActionOff, bind("exec", "exec", ids...), nil, nil)
		if d.most != 3 {
			t.Errorf("%d requests at once, want 3", d.most)
		}
	})
}

// stateHangs hangs when it is asked for a state, as dead BMCs do; its requests too.
type stateHangs struct{ *fakeDriver }

func (d stateHangs) State(ctx context.Context, m Machine) (Reading, error) {
	<-ctx.Done()
	return Reading{State: Unknown, NoAnswer: true, Detail: "no answer"}, nil
}

func (d stateHangs) Switch(ctx context.Context, a Action, m Machine) error {
	<-ctx.Done()
	return &UnconfirmedError{Why: "no answer"}
}

// Dead machines come before one that answers, by the same driver: it waits for seconds, and
// the operator sees why.
func TestManyDeadMachinesDelayTheirDriverBySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []string{}
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("h%d", i))
		}
		d := newFake("ipmi", allAbilities, append(slices.Clone(ids), "own")...)
		for _, id := range append(slices.Clone(ids), "own") {
			d.set(id, ActionOff)
		}
		f, _ := testFleet(t, Config{PollInterval: time.Second}, deadOnly{stateHangs{d}})
		began, named, asked := time.Now(), time.Duration(-1), time.Duration(-1)
		_ = f.Do(t.Context(), ActionOn, slices.Concat(bind("ipmi", "ipmi", ids...), bind("ipmi", "ipmi", "own")), func(p Progress) {
			if p.Node != "own" {
				return
			}
			if named < 0 {
				named = time.Since(began)
			}
			if p.Stage == StageSending && asked < 0 {
				asked = time.Since(began)
			}
		}, nil)
		if named < 0 || named > 10*time.Second || asked < 0 || asked > 45*time.Second {
			t.Errorf("the first word about the machine came after %s, the request after %s", named, asked)
		}
	})
}

// deadOnly hangs with machines whose id begins with h.
type deadOnly struct{ stateHangs }

func (d deadOnly) State(ctx context.Context, m Machine) (Reading, error) {
	if strings.HasPrefix(m.ID, "h") {
		return d.stateHangs.State(ctx, m)
	}
	return d.fakeDriver.State(ctx, m)
}

func (d deadOnly) Switch(ctx context.Context, a Action, m Machine) error {
	if strings.HasPrefix(m.ID, "h") {
		return d.stateHangs.Switch(ctx, a, m)
	}
	return d.fakeDriver.do(a, m)
}

// A driver that hangs delays the question. lightsout reports what it waits for.
func TestAWaitForADriverBeforeTheQuestionIsReported(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		f := p.switcher.Fleet
		slow, err := NewFleet(Config{Off: "portal", On: "portal"}, p.journal, lateDriver{f.drivers["portal"], func() time.Duration { return 8 * time.Second }})
		if err != nil {
			t.Fatal(err)
		}
		p.switcher.Fleet = slow
		began, waited := time.Now(), time.Duration(0)
		var reported []Progress
		q, err := p.switcher.Preview(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n1"}, Report: func(pr Progress) {
			reported, waited = append(reported, pr), time.Since(began)
		}})
		if err != nil || time.Since(began) < 8*time.Second {
			t.Errorf("after %s: %v %v", time.Since(began), q.Findings, err)
		}
		if len(reported) != 1 || reported[0].Stage != StagePreparing || reported[0].Node != "n1" || waited > 10*time.Second {
			t.Errorf("after %s: %+v", waited, reported)
		}
	})
}
