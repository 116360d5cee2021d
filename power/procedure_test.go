package power

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// inModel runs f with the program 0 of a model, in virtual time, and checks at
// the end that nothing wrong was switched.
func inModel(t *testing.T, f func(t *testing.T, m *model, p *program)) {
	t.Helper()
	root := memoryDir(t)
	synctest.Test(t, func(t *testing.T) {
		m := &model{root: root, worlds: []*modelWorld{newModelWorld("one"), newModelWorld("two")}}
		for i := range 4 {
			m.programs = append(m.programs, m.start(i))
		}
		f(t, m, m.programs[0])
		if err := m.check(); err != nil {
			t.Error(err)
		}
		for _, p := range m.programs {
			p.stop()
		}
	})
}

// reasons gives the rules by which nothing was done.
func reasons(err error) (rules []string) {
	var notDone *NotDoneError
	if errors.As(err, &notDone) {
		for _, f := range notDone.Question.Findings {
			if f.Effect > Warn {
				rules = append(rules, f.Rule)
			}
		}
	}
	return rules
}

// yes says yes to everything, and keeps what the world says.
type yes struct {
	p         *program
	questions []Question
	before    func(n int) // called before the n-th answer
}

func (y *yes) Ask(_ context.Context, q Question) (Answer, error) {
	if y.questions = append(y.questions, q); y.before != nil {
		y.before(len(y.questions))
	}
	if !q.Refused() {
		y.p.mu.Lock()
		for _, n := range q.Nodes {
			y.p.yes[n] = true
		}
		y.p.mu.Unlock()
	}
	return Answer{Yes: true, Typed: q.Type}, nil
}

func TestTheLastWorkerStaysOnWhoeverSwitchedTheOthersOff(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		for i, n := range []string{"n1", "n2", "n3", "n4"} {
			by := m.programs[i%3] // another program of this account, and one on another host
			by.w.mu.Lock()
			by.w.vms[n].seconds = 600 // it stays Ready meanwhile
			by.w.mu.Unlock()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := by.switcher.Switch(ctx, Request{Action: ActionShutdown, Nodes: []string{n}}, &yes{p: by})
			cancel()
			if refused := slices.Contains(reasons(err), RuleLastWorker); refused != (n == "n4") {
				t.Errorf("%s: %v", n, err)
			}
		}
	})
}

func TestALateYesIsJudgedByTheStateAtThatTime(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		late := &yes{p: p, before: func(int) {
			p.w.mu.Lock()
			p.w.apiLost = time.Now()
			p.w.mu.Unlock()
			time.Sleep(time.Hour)
		}}
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, late)
		if err == nil || !p.w.vms["n1"].on {
			t.Errorf("it was switched off by an answer of an hour ago: %v", err)
		}
	})
	inModel(t, func(t *testing.T, _ *model, p *program) {
		meanwhile := &yes{p: p}
		meanwhile.before = func(n int) {
			if n == 1 { // two of the other workers die by themselves
				p.w.mu.Lock()
				for _, name := range []string{"n2", "n3"} {
					p.w.vms[name].on, p.w.vms[name].since = false, time.Now()
				}
				p.w.mu.Unlock()
			}
		}
		if err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, meanwhile); err != nil {
			t.Fatal(err)
		}
		if n := len(meanwhile.questions); n != 2 || len(meanwhile.questions[1].Changed) == 0 {
			t.Errorf("asked %d times, the last with %+v", n, meanwhile.questions[n-1])
		}
	})
}

func TestANodeThatNamesAnothersMachineIsRefused(t *testing.T) {
	for to, want := range map[string]string{modelCP: RuleMachine, "n2": RuleMachine} {
		inModel(t, func(t *testing.T, _ *model, p *program) {
			p.w.notes["n1"] = to
			err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, &yes{p: p})
			if !slices.Contains(reasons(err), want) || !p.w.vms[to].on {
				t.Errorf("%v", err)
			}
		})
	}
}

// After a drain everything is judged as if it had been asked for then.
func TestAfterADrainItIsJudgedAgain(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		drain := &yes{p: p}
		asked := 0
		err := p.switcher.Switch(t.Context(), Request{Action: ActionShutdown, Nodes: []string{"n1"}}, askerFunc(func(ctx context.Context, q Question) (Answer, error) {
			a, err := drain.Ask(ctx, q)
			if asked++; asked == 1 {
				a.Drain = true
				time.AfterFunc(5*time.Second, func() { // within the drain the way back goes
					p.w.mu.Lock()
					defer p.w.mu.Unlock()
					p.w.portalDown = true
				})
			}
			a.Typed = "" // nobody types anything
			return a, err
		}))
		if err == nil || asked != 2 || !strings.Contains(err.Error(), "rule ") {
			t.Errorf("asked %d times: %v", asked, err)
		}
	})
}

// endsWhenAsked is a ClusterReader that calls end when a request asks the API server after its answer.
type endsWhenAsked struct {
	ClusterReader
	end func()
}

func (e endsWhenAsked) FreshState(ctx context.Context) (ClusterState, error) {
	e.end()
	return e.ClusterReader.FreshState(ctx)
}

// A request whose trial ends after the answer asks no second time.
func TestARequestThatEndsAfterItsAnswerAsksNoSecondTime(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		while, end := context.WithCancel(t.Context())
		p.switcher.Cluster = endsWhenAsked{p.switcher.Cluster, end}
		agree := &yes{p: p}
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}, While: while}, agree)
		if !errors.Is(err, context.Canceled) || len(agree.questions) != 1 || !p.w.vms["n1"].on {
			t.Errorf("asked %d times: %v", len(agree.questions), err)
		}
	})
}

type askerFunc func(context.Context, Question) (Answer, error)

func (f askerFunc) Ask(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }

func TestAutomaticSaysWhichRuleNeedsTyping(t *testing.T) {
	inModel(t, func(t *testing.T, _ *model, p *program) {
		p.journal.cluster = Cluster{Name: "a", CA: "ca"}
		err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}}, Automatic{})
		var notDone *NotDoneError
		if !errors.As(err, &notDone) || notDone.Why != NotTyped || !strings.Contains(err.Error(), "rule cluster-identity") || !strings.Contains(err.Error(), "UID can't be read") {
			t.Errorf("%v", err)
		}
	})
}

// unheard is a ClusterReader in which no worker beside n1 has proven by a heartbeat that it runs
// before a moment.
type unheard struct {
	ClusterReader
	until time.Time
	// noted has sent one, and somebody else's note.
	noted string
}

func (u unheard) State(ctx context.Context) (ClusterState, error) {
	return u.doubt(u.ClusterReader.State(ctx))
}

func (u unheard) FreshState(ctx context.Context) (ClusterState, error) {
	return u.doubt(u.ClusterReader.FreshState(ctx))
}

func (u unheard) doubt(state ClusterState, err error) (ClusterState, error) {
	state.Nodes = slices.Clone(state.Nodes)
	for i := range state.Nodes {
		if state.Nodes[i].Name == u.noted {
			state.Nodes[i].Notes = []Note{{By: "tanaka@jump-7", At: time.Now()}}
		} else if time.Now().Before(u.until) {
			state.Nodes[i].Presence, state.Nodes[i].Why = Awaited, "has sent lightsout no heartbeat yet"
		}
	}
	return state, err
}

// A program that has just started waits for the heartbeat of a worker that stays on, says
// so, and refuses if none comes.
func TestASwitchWaitsForAHeartbeatOfAWorkerThatStaysOn(t *testing.T) {
	for after, refused := range map[time.Duration]bool{10 * time.Second: false, time.Hour: true} {
		inModel(t, func(t *testing.T, _ *model, p *program) {
			began, told := time.Now(), ""
			p.switcher.Cluster = unheard{p.switcher.Cluster, began.Add(after), ""}
			asked := time.Duration(0)
			asker := &yes{p: p}
			err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}, Report: func(pr Progress) {
				if told == "" {
					told = pr.Text
				}
				if pr.Stage == StageSending {
					asked = time.Since(began)
				}
			}}, asker)
			if q := asker.questions[0]; (q.Left == 0) != refused || (q.Awaited > 0) != refused {
				t.Errorf("after %s: the question counts %d workers left, and %d whose heartbeat it awaits", after, q.Left, q.Awaited)
			}
			if !strings.Contains(told, "waits up to 15 s for a heartbeat from a worker that stays on") {
				t.Errorf("it says first: %q", told)
			}
			switch {
			case refused && (!slices.Contains(reasons(err), RuleLastWorker) || asked > 0):
				t.Errorf("after %s: %v", after, err)
			case !refused && (err != nil || asked < after || asked > after+5*time.Second):
				t.Errorf("after %s: asked after %s, %v", after, asked, err)
			}
		})
	}
}

// Nothing starts after a request has ended, in whatever moment before the packet it ends.
func TestNothingStartsAfterTheRequestHasEnded(t *testing.T) {
	t.Run("when it begins", func(t *testing.T) {
		inModel(t, func(t *testing.T, _ *model, p *program) {
			while, end := context.WithCancel(t.Context())
			err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1"}, While: while,
				Acting: func(Question) { end() }}, &yes{p: p})
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			p.w.settle()
			if !p.w.vms["n1"].on || err == nil || p.w.annotations["n1"] != "" {
				t.Errorf("n1 on: %v, annotation %v: %v", p.w.vms["n1"].on, p.w.annotations["n1"], err)
			}
		})
	})
	t.Run("while a machine waits for its turn", func(t *testing.T) {
		inModel(t, func(t *testing.T, _ *model, p *program) {
			while, end := context.WithCancel(t.Context())
			p.switcher.Fleet.switchOffs = map[string]*semaphore.Weighted{"portal": semaphore.NewWeighted(1)}
			p.switcher.Fleet.drivers["portal"] = endsFirst{modelDriver{p}, new(sync.Once), end}
			err := p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{"n1", "n2"}, While: while}, &yes{p: p})
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			p.w.settle()
			if !p.w.vms["n1"].on && !p.w.vms["n2"].on {
				t.Errorf("both machines are off: %v", err)
			}
		})
	})
}

// endsFirst ends the request when the driver gets the first one.
type endsFirst struct {
	modelDriver
	once *sync.Once
	end  func()
}

func (d endsFirst) Switch(ctx context.Context, a Action, m Machine) error {
	d.once.Do(d.end)
	return d.modelDriver.Switch(ctx, a, m)
}

// forbids is the model's driver of a portal that refuses to switch n1 off.
type forbids struct{ Driver }

func (d forbids) Switch(ctx context.Context, a Action, m Machine) error {
	if a == ActionOn || m.Name != "n1" {
		return d.Driver.Switch(ctx, a, m)
	}
	if err := BeforeSend(ctx); err != nil {
		return err
	}
	return &RefusedError{Why: "403 Forbidden"}
}

// A power API that refused to switch a worker off may still do it: no program of the state folder
// counts that worker as left until it is on when 3 minutes have passed.
func TestAWorkerWhoseSwitchOffWasRefusedDoesNotCountAsLeft(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, p *program) {
		other := m.programs[1]
		p.switcher.Fleet.drivers["portal"] = forbids{p.switcher.Fleet.drivers["portal"]}
		off := func(p *program, n string) error {
			return p.switcher.Switch(t.Context(), Request{Action: ActionOff, Nodes: []string{n}}, &yes{p: p})
		}
		for _, n := range []string{"n3", "n4"} {
			if err := off(p, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := off(p, "n1"); err == nil || !strings.Contains(err.Error(), "403") {
			t.Fatalf("n1: %v", err)
		}
		for _, by := range []*program{p, other} {
			if err := off(by, "n2"); !slices.Contains(reasons(err), RuleLastWorker) || !strings.Contains(err.Error(), "n1 may go off until ") || !strings.Contains(err.Error(), "because its power API refused a request but may carry it out") {
				t.Errorf("n2, by %s: %v", by.dir, err)
			}
		}
		time.Sleep(refusedWithin)
		left, _ := p.journal.LeftOff()
		for _, l := range left {
			if seen, ok := p.switcher.Fleet.Evidence(l.Binding, p.switcher.Fleet.Read(t.Context(), []Binding{l.Binding})[0].Reading); ok {
				if _, err := p.journal.Saw(seen); err != nil {
					t.Error(err)
				}
			}
		}
		if err := off(other, "n2"); err != nil {
			t.Errorf("n2, when n1 is still on: %v", err)
		}
	})
}
