package power

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stages collects the stages that were reported, by node.
type stages struct {
	by   map[string][]Stage
	last map[string]Progress
}

func record(p *stages) func(Progress) {
	p.by, p.last = map[string][]Stage{}, map[string]Progress{}
	return func(x Progress) {
		p.by[x.Node] = append(p.by[x.Node], x.Stage)
		p.last[x.Node] = x
	}
}

func TestSilentSSHIsTakenOnlyWhenThePowerAPIDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		api  Reading // once the machine was asked
		err  error
		want Proof
	}{
		"the question can't be asked": {Reading{}, errors.New("the portal is down"), Presumed},
		"its controller is silent":    {Reading{Detail: "the controller does not answer", NoAnswer: true}, nil, Presumed},
		"it knows of something else":  {Reading{Detail: "Suspended"}, nil, ProofNone},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFake("mdx", allAbilities, "n3")
			ssh := newFake("ssh", Abilities{State: true, Shutdown: true}, "n3")
			ssh.machines["n3"].obey = func(Action, *fakeMachine) error {
				ssh.mu.Lock()
				ssh.machines["n3"].reading = Reading{State: Off, Proof: Presumed, Detail: "ssh is silent"}
				ssh.mu.Unlock()
				api.mu.Lock()
				api.machines["n3"].reading, api.machines["n3"].readErr = c.api, c.err
				api.mu.Unlock()
				return nil
			}
			timeout := 20 * time.Second // not reached where it is taken
			if c.want == ProofNone {
				timeout = 150 * time.Millisecond
			}
			f, j := testFleet(t, Config{Timeouts: map[Action]time.Duration{ActionShutdown: timeout}}, ssh, api)
			var got stages
			err := f.do(context.Background(), ActionShutdown, bind("ssh", "mdx", "n3"), nil, record(&got), nil)
			state, stage, left := Off, StageDone, "n3 off"
			if c.want == ProofNone {
				state, stage, left = Unknown, StageUncertain, "n3 uncertain"
			}
			last := got.last["n3"]
			if (err == nil) != (stage == StageDone) || last.Stage != stage || last.Reading.State != state || last.Reading.Proof != c.want {
				t.Errorf("ended %q with %+v (%s), %v", last.Stage, last.Reading, last.Text, err)
			}
			if got := leftOff(t, j); !reflect.DeepEqual(got, []string{left}) {
				t.Errorf("left off: %v", got)
			}
		})
	}
}

func TestWhatIsAlreadyThereIsDoneAndNotOurs(t *testing.T) {
	api := newFake("mdx", allAbilities, "n3")
	api.set("n3", ActionOff)
	f, j := testFleet(t, Config{}, api)
	var got stages
	if err := f.do(context.Background(), ActionShutdown, bind("mdx", "mdx", "n3"), nil, record(&got), nil); err != nil {
		t.Fatal(err)
	}
	if want := []Stage{StageDone}; !reflect.DeepEqual(got.by["n3"], want) {
		t.Errorf("went through %v, want %v", got.by["n3"], want)
	}
	if c := api.callsTo("n3"); len(c) != 0 {
		t.Errorf("the machine received the requests %v", c)
	}
	if left := leftOff(t, j); len(left) != 0 {
		t.Errorf("a machine that was off before is offered for powering on: %v", left)
	}
}

func TestGivingUpLeavesTheJournalUncertainAndStartsNothingNew(t *testing.T) {
	api := newFake("mdx", allAbilities, "n3", "n4")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	api.machines["n3"].obey = func(Action, *fakeMachine) error { cancel(); return nil }
	f, j := testFleet(t, Config{Parallel: 1}, api)
	var got stages
	if err := f.do(ctx, ActionShutdown, bind("mdx", "mdx", "n3"), nil, record(&got), nil); err == nil {
		t.Error("no error")
	}
	if got.last["n3"].Stage != StageUncertain {
		t.Errorf("ended %q (%s)", got.last["n3"].Stage, got.last["n3"].Text)
	}
	if err := f.do(ctx, ActionShutdown, bind("mdx", "mdx", "n4"), nil, record(&got), nil); err == nil {
		t.Error("no error")
	}
	if c := api.callsTo("n4"); len(c) != 0 {
		t.Errorf("with an ended context the machine was asked to %v", c)
	}
	if left := leftOff(t, j); !reflect.DeepEqual(left, []string{"n3 uncertain"}) {
		t.Errorf("left off: %v", left)
	}
}

func TestPoweringOnWaitsForTheOperationUnderWay(t *testing.T) {
	api := newFake("mdx", allAbilities, "n3")
	asked, goOn := make(chan struct{}), make(chan struct{})
	api.machines["n3"].obey = func(a Action, _ *fakeMachine) error {
		if a != ActionOn {
			close(asked)
			<-goOn
		}
		api.set("n3", a)
		return nil
	}
	f, _ := testFleet(t, Config{}, api)
	first := make(chan error)
	go func() { first <- f.do(context.Background(), ActionShutdown, bind("mdx", "mdx", "n3"), nil, nil, nil) }()
	<-asked
	if got := f.Busy(); !reflect.DeepEqual(got, map[string]Action{"n3": ActionShutdown}) {
		t.Errorf("busy: %v", got)
	}
	if err := f.do(context.Background(), ActionOff, bind("mdx", "mdx", "n3"), nil, nil, nil); err == nil || !strings.Contains(err.Error(), "already working on n3") {
		t.Errorf("switching off a busy machine: %v", err)
	}
	var deferred string
	err := f.do(context.Background(), ActionOn, bind("mdx", "mdx", "n3"), nil, func(p Progress) {
		if p.Stage == StageDeferred {
			deferred = p.Text
			close(goOn)
		}
	}, nil)
	if err != nil || !strings.Contains(deferred, "waiting to power on n3") {
		t.Errorf("powering on a busy machine: %v, deferred: %q", err, deferred)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if c := api.callsTo("n3"); !reflect.DeepEqual(c, []Action{ActionShutdown, ActionOn}) {
		t.Errorf("the machine received the requests %v", c)
	}
	if got := f.Busy(); len(got) != 0 {
		t.Errorf("busy afterwards: %v", got)
	}
}

func TestDryRunAndReadOnlySwitchNothing(t *testing.T) {
	for _, cfg := range []Config{{DryRun: true}, {ReadOnly: true}, {DryRun: true, ReadOnly: true}} {
		api := newFake("mdx", allAbilities, "n3")
		f, j := testFleet(t, cfg, api)
		var got stages
		err := f.do(context.Background(), ActionOff, bind("mdx", "mdx", "n3"), nil, record(&got), nil)
		if err == nil {
			t.Errorf("%+v: %v", cfg, err)
		}
		if c := api.callsTo("n3"); len(c) != 0 {
			t.Errorf("%+v: the machine was asked to %v", cfg, c)
		}
		if data, _ := os.ReadFile(j.Path()); len(data) != 0 {
			t.Errorf("%+v: the journal holds %s", cfg, data)
		}
	}
}

func TestWatchReportsEveryMachineUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	api := newFake("mdx", allAbilities, "n3", "n4")
	api.machines["n4"].readErr = errors.New("the portal \x1b[31mis down")
	f, _ := testFleet(t, Config{}, api)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rounds := 0
	seen := map[string][]Reading{}
	f.Watch(ctx, func() []Binding { rounds++; return bind("mdx", "mdx", "n3", "n4", "n5") }, 0, func(node string, r Reading) {
		seen[node] = append(seen[node], r)
		if rounds == 2 && len(seen["n3"]) == 2 && len(seen["n4"]) == 2 && len(seen["n5"]) == 2 {
			cancel()
		}
	})
	if r := seen["n3"][1]; r.State != On || r.RequestedAt.IsZero() {
		t.Errorf("n3: %+v", r)
	}
	if r := seen["n4"][1]; r.State != Unknown || r.Detail != "the portal is down" {
		t.Errorf("n4 could not be read and is %+v, want unknown and why", r)
	}
	if r := seen["n5"][0]; r.State != Unknown {
		t.Errorf("n5: %+v", r)
	}
}

// A program was killed after it had asked: what it asked for is still under way
// when the next one is told to power on.
func TestAMachineThatMayYetGoOffIsNotTakenForOn(t *testing.T) {
	api := newFake("mdx", allAbilities, "n3", "n4")
	f, j := testFleet(t, Config{}, api)
	j.SetCarriedOut(time.Minute)
	write(t, j, intent("1", "n3", ActionShutdown))
	waited := make(chan struct{})
	over := make(chan error, 1)
	go func() {
		over <- f.do(context.Background(), ActionOn, bind("mdx", "mdx", "n3"), nil, func(p Progress) {
			if strings.Contains(p.Text, "lightsout waits") {
				close(waited)
			}
		}, nil)
	}()
	<-waited
	if left := leftOff(t, j); !reflect.DeepEqual(left, []string{"n3 uncertain"}) {
		t.Errorf("settled too early: %v", left)
	}
	api.set("n3", ActionShutdown)
	if err := <-over; err != nil || len(leftOff(t, j)) > 0 || !slices.Equal(api.callsTo("n3"), []Action{ActionOn}) {
		t.Errorf("%v, left off %v, asked %v", err, leftOff(t, j), api.callsTo("n3"))
	}

	// One that has had its time is on.
	g, k := testFleet(t, Config{}, api)
	k.SetCarriedOut(20 * time.Millisecond)
	write(t, k, intent("1", "n4", ActionShutdown))
	if err := g.do(context.Background(), ActionOn, bind("mdx", "mdx", "n4"), nil, nil, nil); err != nil || len(leftOff(t, k)) > 0 || len(api.callsTo("n4")) > 0 {
		t.Errorf("%v, left off %v, asked %v", err, leftOff(t, k), api.callsTo("n4"))
	}
}

func TestTheDriverThatProvesOffIsTheOneThatIsLookedAt(t *testing.T) {
	api := newFake("mdx", allAbilities, "n3")
	wol := newFake("wol", Abilities{State: true, On: true}, "n3")
	api.set("n3", ActionOff)
	f, _ := testFleet(t, Config{}, api, wol)
	for _, b := range []Binding{bind("mdx", "wol", "n3")[0], bind("wol", "mdx", "n3")[0]} {
		if r := f.Read(context.Background(), []Binding{b})[0]; r.State != Off {
			t.Errorf("off by %s, on by %s: %+v", b.Off.Driver, b.On.Driver, r)
		}
	}
}

// A driver's command hangs. lightsout reports what it waits for, and how long at most.
func TestADriverThatDoesNotAnswerIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake("exec", Abilities{State: true, On: true, Off: true}, "n3")
		api.machines["n3"].obey = func(Action, *fakeMachine) error {
			time.Sleep(time.Minute)
			return nil
		}
		f, _ := testFleet(t, Config{}, api)
		api.machines["n3"].reading = Reading{State: Off, Proof: Proven}
		var mu sync.Mutex
		var waits []string
		_ = f.do(t.Context(), ActionOn, bind("exec", "exec", "n3"), nil, func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			if p.Stage == StageWaiting && strings.HasPrefix(p.Text, "waiting for exec to answer the request to power on n3") {
				waits = append(waits, p.Text)
			}
		}, nil)
		if len(waits) != 1 || !strings.HasSuffix(waits[0], " at most") {
			t.Errorf("%q", waits)
		}
	})
}

// A driver's command powers the machine on, and hangs until the deadline. lightsout polls the
// machine then, and does not call the request failed.
func TestAHangingDriverThatHasPoweredOnHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFake("exec", Abilities{State: true, On: true, Off: true}, "n3")
		api.set("n3", ActionOff)
		api.machines["n3"].obey = func(Action, *fakeMachine) error {
			api.set("n3", ActionOn)
			time.Sleep(time.Hour)
			return &UnconfirmedError{Why: "the command did not end"}
		}
		f, _ := testFleet(t, Config{}, api)
		if err := f.do(t.Context(), ActionOn, bind("exec", "exec", "n3"), nil, nil, nil); err != nil {
			t.Error(err)
		}
	})
}
