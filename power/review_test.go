package power

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// These tests are about faults that an attack on the procedure found. In their worlds
// answers arrive late, requests wait, and nodes reboot by themselves.

// lateDriver polls at once but answers late.
type lateDriver struct {
	Driver
	late func() time.Duration
}

func (d lateDriver) State(ctx context.Context, m Machine) (Reading, error) {
	r, err := d.Driver.State(ctx, m)
	if !Sleep(ctx, d.late()) {
		return Reading{}, ctx.Err()
	}
	return r, err
}

// An answer "on" to a request from before the machine went off settles nothing when it
// arrives afterwards.
func TestAnAnswerFromBeforeItWentOffSettlesNothing(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		f := p.switcher.Fleet
		slow, err := NewFleet(Config{Off: "portal", On: "portal"}, p.journal, map[string]Driver{"portal": lateDriver{f.drivers["portal"], func() time.Duration { return 4 * time.Second }}})
		if err != nil {
			t.Fatal(err)
		}
		b := f.Resolve(t.Context(), []NodeRef{{Name: "n1", Addresses: []string{p.w.address("n1")}}})
		answers := make(chan Reading, 1)
		go func() { answers <- slow.Read(t.Context(), b)[0].Reading }()
		time.Sleep(time.Second) // the request is on its way
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		r := <-answers
		seen, ok := f.Evidence(b[0], r)
		if !ok || r.State != On || r.Arrived.Sub(r.RequestedAt) < 4*time.Second {
			t.Fatalf("the late answer is %+v", r)
		}
		if changed, err := p.journal.Saw(seen); changed || err != nil {
			t.Errorf("it settled the operation, %v", err)
		}
		if left := leftOff(t, p.journal); !slices.Equal(left, []string{"n1 off"}) {
			t.Errorf("left off: %v", left)
		}
	})
}

// slowSwitch takes time before it sends the switching request, like a driver that has
// to log in first, and signals when it does.
type slowSwitch struct {
	Driver
	connect time.Duration
	sent    *atomic.Int32
}

func (d slowSwitch) Switch(ctx context.Context, a Action, m Machine) error {
	if !Sleep(ctx, d.connect) {
		return ctx.Err()
	}
	if err := BeforeSend(ctx); err != nil {
		return err
	}
	d.sent.Add(1)
	return d.Driver.Switch(ctx, a, m)
}

// A request that waits, here for its driver to log in, is judged again before it is
// sent: the other workers died meanwhile.
func TestTheSwitcherJudgesAWaitingRequestAgain(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		var sent atomic.Int32
		f := p.switcher.Fleet
		f.drivers["portal"] = slowSwitch{f.drivers["portal"], 25 * time.Second, &sent}
		time.AfterFunc(5*time.Second, func() {
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			for _, name := range []string{"n2", "n3", "n4"} {
				p.w.vms[name].on, p.w.vms[name].since = false, time.Now()
			}
		})
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p})
		if err == nil || sent.Load() != 0 || !strings.Contains(err.Error(), "did not send") || !strings.Contains(err.Error(), "no Ready worker") {
			t.Errorf("sent %d times: %v", sent.Load(), err)
		}
		if left := leftOff(t, p.journal); len(left) != 0 {
			t.Errorf("left off: %v", left)
		}
	})
}

// The same holds for a request that continues after the whole machine slept: the wall
// clock has advanced, and the monotonic clock has not.
func TestAJudgementAgesWhileTheMachineSleeps(t *testing.T) {
	asked := 0
	j := &judgement{mu: newMutex(), while: t.Context(), at: time.Now().Round(0).Add(-time.Minute), again: func(context.Context) (time.Time, error) {
		asked++
		return time.Now(), nil
	}}
	if err := errors.Join(j.fresh(t.Context()), j.fresh(t.Context())); err != nil || asked != 1 {
		t.Errorf("judged %d times: %v", asked, err)
	}
	j.at = time.Time{}
	j.again = func(context.Context) (time.Time, error) { return time.Now().Add(-time.Hour), nil }
	var refused *vetoedError
	if err := j.fresh(t.Context()); !errors.As(err, &refused) {
		t.Errorf("a judgement that is never fresh: %v", err)
	}
}

// A machine that is busy, or whose request is refused, does not delay the others.
func TestRestoreBringsBackOthersWhileOneIsBusy(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		p.w.vms["n2"].seconds = 150
		go func() {
			_ = p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n2"}}, &yes{p: p})
		}()
		time.Sleep(3 * time.Second)
		began, back := time.Now(), map[string]time.Duration{}
		var deferred []string
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1", "n2"}, Report: func(pr Progress) {
			switch pr.Stage {
			case StageDone:
				back[pr.Node] = time.Since(began)
			case StageDeferred:
				deferred = append(deferred, pr.Node)
			}
		}}, Automatic{})
		if err != nil || back["n1"] > 30*time.Second || back["n2"] < time.Minute || !slices.Equal(deferred, []string{"n2"}) {
			t.Errorf("back after %v, deferred %v: %v", back, deferred, err)
		}
		if left := leftOff(t, p.journal); len(left) != 0 {
			t.Errorf("left off: %v", left)
		}
	})
}

func TestRestoreLeavesOutRefusedMachinesAndNamesThem(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		p.w.mu.Lock()
		p.w.notes["n2"] = "n4" // two nodes on one machine
		p.w.mu.Unlock()
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1", "n2"}}, Automatic{})
		if err == nil || !strings.Contains(err.Error(), "n2: refused") || !p.w.vms["n1"].on {
			t.Errorf("n1 on: %v; %v", p.w.vms["n1"].on, err)
		}
	})
}

// With a damaged line, restore powers on only named machines: a technician may have
// switched off the others.
func TestRestoreWithADamagedLineNamesTheMachinesThatAreOff(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(p.journal.Path())
		if err := os.WriteFile(p.journal.Path(), append(text, `{"kind":"intent","op":"0123","action":"off","node":"n3","bin`+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		p.w.mu.Lock()
		p.w.vms["n2"].on, p.w.vms["n2"].since = false, time.Now() // by hand
		p.w.mu.Unlock()
		err := errors.Join(p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}}, Automatic{}), p.switcher.SettleDamage(t.Context(), nil))
		if err == nil || !strings.Contains(err.Error(), "neither journal nor annotation explains why: n2") || p.w.vms["n2"].on || !p.w.vms["n1"].on {
			t.Errorf("n1 on: %v, n2 on: %v; %v", p.w.vms["n1"].on, p.w.vms["n2"].on, err)
		}
		time.Sleep(CarriedOutWithin) // the request of the damaged line can no longer be carried out
		if err := p.switcher.SettleDamage(t.Context(), []string{"n2"}); err != nil || p.w.vms["n2"].on {
			t.Errorf("n2 has to stay off, on: %v; %v", p.w.vms["n2"].on, err)
		}
		if damaged, _ := p.journal.Damaged(); len(damaged) > 0 {
			t.Errorf("still damaged: %+v", damaged)
		}
	})
}

// When a stopped program or another account holds a lock, powering on continues and
// names the holder.
func TestRestorePowersOnDespiteAHeldLock(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p}); err != nil {
			t.Fatal(err)
		}
		left, _ := p.journal.LeftOff()
		free, err := p.switcher.Fleet.cfg.Locks.take(t.Context(), machineLock(p.switcher.Fleet.cluster(), *left[0].Binding.On))
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		began := time.Now()
		var told []string
		err = p.switcher.Switch(t.Context(), Request{Action: ActionOn, Nodes: []string{"n1"}, Report: func(pr Progress) { told = append(told, pr.Text) }}, Automatic{})
		if err != nil || !p.w.vms["n1"].on || time.Since(began) > 30*time.Second {
			t.Errorf("after %s, on: %v; %v", time.Since(began), p.w.vms["n1"].on, err)
		}
		if all := strings.Join(told, "\n"); !strings.Contains(all, "without the lock") || !strings.Contains(all, "pid ") {
			t.Errorf("the text lacks the holder: %s", all)
		}
	})
}

// A machine that was presumed off, and answers again, may still be shutting down.
func TestPresumedOffIsNotAProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ssh := newFake("ssh", Abilities{State: true, Shutdown: true}, "n3")
		ssh.machines["n3"].obey = func(Action, *fakeMachine) error {
			ssh.machines["n3"].reading = Reading{State: Off, Proof: Presumed, Detail: "ssh silent"} // a network error
			return nil
		}
		f, j := testFleet(t, Config{}, ssh)
		if err := f.do(t.Context(), ActionShutdown, bind("ssh", "", "n3"), nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ssh.set("n3", ActionOn)
		for _, after := range []time.Duration{0, CarriedOutWithin} {
			time.Sleep(after)
			r := f.Read(t.Context(), bind("ssh", "", "n3"))[0].Reading
			seen, _ := f.Evidence(bind("ssh", "", "n3")[0], r)
			changed, err := j.Saw(seen)
			if err != nil || changed != (after > 0) {
				t.Errorf("after %s: settled %v, %v", after, changed, err)
			}
		}
	})
}

// A machine that was powered on a moment ago does not count as a worker that is left,
// although the API server has not noticed that it was off: it has sent no heartbeat
// since.
func TestABootingMachineDoesNotCountAsLeft(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		on := intent("1", "n2", ActionOn)
		on.Cluster = p.cluster
		write(t, p.journal, on)
		view, err := p.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range view.Nodes {
			view.Nodes[i].Heard = time.Now().Add(-10 * time.Second)
		}
		for _, n := range p.switcher.standing(view, Assumption{}, nil, nil) {
			if not := n.Presence != Runs; not != (n.Name == "n2") {
				t.Errorf("%s: %q", n.Name, n.Why)
			}
		}
	})
}

// refuses is a driver whose power API refuses each request to switch off. Its machine is on at
// the first poll after that, and then as later gives it.
type refuses struct {
	*fakeDriver
	later func() (Reading, error)
	polls *int // since the refusal; nil before
}

func (d *refuses) Switch(ctx context.Context, a Action, m Machine) error {
	if err := BeforeSend(ctx); err != nil {
		return err
	}
	d.polls = new(int)
	return &RefusedError{Why: "403 Forbidden"}
}

func (d *refuses) State(ctx context.Context, m Machine) (Reading, error) {
	if d.polls != nil {
		if *d.polls++; *d.polls > 1 {
			return d.later()
		}
	}
	return d.fakeDriver.State(ctx, m)
}

// A power API may carry out what it refused: the journal lists the machine, whatever the polls after the
// refusal found.
func TestThePollsAfterARefusalDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now  Reading
		err  error
		want Stage
		left string
	}{
		"on":           {Reading{State: On, Proof: Proven}, nil, StageFailed, "n3 uncertain"},
		"off":          {Reading{State: Off, Proof: Proven}, nil, StageDone, "n3 off"},
		"going off":    {Reading{State: Transitioning, Proof: Proven, Detail: "Stopping"}, nil, StageUncertain, "n3 uncertain"},
		"presumed off": {Reading{State: Off, Proof: Presumed}, nil, StageUncertain, "n3 off"},
		"unknown":      {Reading{NoAnswer: true}, nil, StageFailed, "n3 uncertain"},
		"unreadable":   {Reading{State: Off, Proof: Proven}, &SilentError{Text: "no answer"}, StageFailed, "n3 uncertain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, j := testFleet(t, Config{}, &refuses{newFake("mdx", allAbilities, "n3"), func() (Reading, error) { return c.now, c.err }, nil})
			var got stages
			err := f.do(t.Context(), ActionOff, bind("mdx", "mdx", "n3"), nil, record(&got), nil)
			if last := got.last["n3"]; (err == nil) != (c.want == StageDone) || last.Stage != c.want || !strings.Contains(last.Text, "403 Forbidden") {
				t.Errorf("ended %q: %s", last.Stage, last.Text)
			}
			if left := strings.Join(leftOff(t, j), ", "); left != c.left {
				t.Errorf("left off: %q, want %q", left, c.left)
			}
		})
	}
}

// otherSystem is a driver whose machine does not give the boot ID of its node.
type otherSystem struct {
	*fakeDriver
	err error
}

func (d otherSystem) Preflight(context.Context, Action, Machine) error { return nil }

func (d otherSystem) BootID(ctx context.Context, m Machine) (string, error) {
	if err := BeforeSend(ctx); err != nil { // as the ssh driver asks before each command
		return "", err
	}
	d.set(m.ID, ActionOff) // somebody else does it
	if d.err != nil {
		return "", d.err
	}
	return "boot-2", nil
}

// lightsout sends nothing to a system whose boot ID it can't read, or that has another one: a
// machine that is off afterwards was switched off by somebody else.
func TestARequestThatTheBootIDForbidsWasNotSent(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]error{"another boot": nil, "no answer": &SilentError{Text: "10.0.0.14:22 does not answer"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := otherSystem{newFake("ssh", allAbilities, "n1"), silent}
			f, j := testFleet(t, Config{}, d)
			err := f.do(t.Context(), ActionShutdown, bind("ssh", "ssh", "n1"), nil, func(p Progress) {
				if p.Stage == StageSending {
					t.Errorf("%q, and nothing was sent", p.Text)
				}
			}, nil)
			if left := leftOff(t, j); err == nil || len(left)+len(d.callsTo("n1")) > 0 {
				t.Errorf("%v; left off %v, after %v", err, left, d.callsTo("n1"))
			}
		})
	}
}
