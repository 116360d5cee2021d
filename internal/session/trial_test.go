package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/trial/plan"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// world is a cluster by hand: what a control plane would do is done to it when a
// machine of the board changes.
type world struct {
	*board
	x   *bench
	rec *session.RecordWriter

	mu      sync.Mutex
	s       *cluster.Snapshot
	changed chan struct{}
	wanted  atomic.Pointer[[]string] // kubelets
	down    map[string]bool
	boots   int
	oneBoot bool // its nodes keep their boot IDs
	// blindly: the control plane does not notice anything.
	blindly bool
	// refuse: shutdowns are refused; stuck: machines do not come on again.
	refuse, stuck bool
	// stale are the kinds whose watch is stuck.
	stale []cluster.Kind
	// answersIn is how long the API server takes to answer Ping.
	answersIn time.Duration
	// switched, unless nil, is told what was done to a machine.
	switched func(action, node string)
	// confirms, unless nil, runs before the API server answers Confirm.
	confirms func()
}

func (w *world) Snapshot() *cluster.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.s
}

func (w *world) WantKubelets(n ...string) { w.wanted.Store(&n) }
func (w *world) Confirm(context.Context) error {
	if w.confirms != nil {
		w.confirms()
	}
	return nil
}
func (w *world) Ping(ctx context.Context) error {
	select {
	case <-time.After(w.answersIn):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) Stale(context.Context, string) ([]cluster.Kind, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stale, nil
}
func (w *world) Changed() <-chan struct{} { return w.changed }

func (w *world) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	w.mu.Lock()
	refuse := w.refuse && a == power.ActionShutdown
	w.mu.Unlock()
	switch {
	case refuse:
		return errors.New("the machine refuses")
	case w.stuck && a == power.ActionOn:
		return nil
	case a != power.ActionOff:
		w.tell(string(a), m.Name)
		defer w.turn(m.Name, a == power.ActionShutdown)
	}
	return w.board.Switch(ctx, a, m)
}

func (w *world) tell(action, node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.switched != nil {
		w.switched(action, node)
	}
}

// turn makes the control plane see a node's machine go off or come back.
func (w *world) turn(node string, off bool) {
	w.mu.Lock()
	if w.blindly || w.down[node] == off {
		w.mu.Unlock()
		return
	}
	w.down[node] = off
	if !off {
		w.boots++
	}
	now := time.Now()
	c := w.s.Contents()
	c.Nodes, c.Pods, c.Deployments = slices.Clone(c.Nodes), slices.Clone(c.Pods), slices.Clone(c.Deployments)
	var trs []cluster.Transition
	ready := 0
	for i, n := range c.Nodes {
		if n.Name != node {
			continue
		}
		m := *n
		from, to := "Ready", "NotReady"
		if m.Ready = cluster.TriUnknown; !off {
			m.Ready = cluster.TriTrue
			if !w.oneBoot {
				m.BootID = fmt.Sprintf("boot-%s-%d", node, w.boots)
			}
			from, to = to, from
			trs = append(trs, cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: node}}, Change: "boot", To: m.BootID, Seen: now})
		}
		m.ReadySince = now
		c.Nodes[i] = &m
		trs = append(trs, cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: node}}, Change: "status", From: from, To: to, Seen: now})
	}
	for i, p := range c.Pods {
		if p.Node == node {
			q := *p
			q.Ready = !off
			c.Pods[i] = &q
		}
		if c.Pods[i].Ready {
			ready++
		}
	}
	d := *c.Deployments[0]
	d.Available, d.ReadyReplicas = ready, ready
	c.Deployments[0] = &d
	link, access := w.s.Link, w.s.Access
	w.s = cluster.NewSnapshot(c)
	w.s.Link, w.s.Access = link, access
	w.mu.Unlock()
	for _, t := range trs {
		w.rec.Transition(t)
	}
	w.changed <- struct{}{}
}

// startWorld runs an engine on a world, with a server that takes requests.
func startWorld(t *testing.T, opt session.Options, change func(*world)) *world {
	t.Helper()
	w := &world{board: newBoard(workers...), s: mdxSnapshot(), changed: make(chan struct{}, 100), down: map[string]bool{}}
	if change != nil {
		change(w)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "hello") }))
	t.Cleanup(srv.Close)
	w.rec = newRecordWriter(t, "")
	opt.RecordWriter = w.rec
	w.x = run(t, t.TempDir(), w.board, w, w, opt, func(target *session.Target, rec *session.RecordWriter) *loadgen.Generator {
		g, err := loadgen.New(loadgen.Options{
			Target: loadgen.Target{URL: srv.URL, Profile: loadgen.HTTP}, Backends: target.Backends, Capacity: target.Capacity, Record: rec.Request,
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	})
	w.x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	return w
}

func parse(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const shortPlan = `
name: short
deployment: default/llm
steps:
  - load: {burst: 4}
    name: before
  - off: [kube-node3, kube-node4]
  - wait: {for: detected, within: 20s}
  - on: [kube-node3, kube-node4]
  - wait: {for: ready, within: 20s}
  - load: {burst: 4}
    name: after
expect:
  - ok: 4
    step: before
  - failed: 0
    step: after
  - balanced: true
`

// outcome waits for the end of the engine and returns the judged trial.
func (w *world) outcome(t *testing.T) (*record.Summary, string) {
	t.Helper()
	w.x.waitEnd()
	sum, dir, refused := w.x.Outcome()
	if sum == nil {
		t.Fatalf("no summary; refused: %v", refused)
	}
	return sum, dir
}

func TestATrialPassesByItsObservations(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	sum, dir := w.outcome(t)
	if sum.Verdict != view.Pass {
		t.Fatalf("%s: %v", sum.Verdict, sum.Why)
	}
	if len(sum.Load) != 2 || sum.Load[0].Step != "before" || sum.Load[0].OK != 4 || sum.Ledger.Scheduled != 8 || !sum.Ledger.Balanced {
		t.Errorf("load %+v, ledger %+v", sum.Load, sum.Ledger)
	}
	if len(sum.Nodes) != 2 || !strings.HasPrefix(sum.Nodes[0].OffProof, "proven") || sum.Nodes[0].OnProof != "proven (new boot id)" {
		t.Errorf("nodes %+v", sum.Nodes)
	}
	for _, name := range []string{record.PlanFile, record.EventsFile, record.RequestsFile, record.SamplesFile, record.SummaryFile, record.ReportFile, record.HTMLFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Torn) != 0 || len(r.Runs) == 0 || r.Summary.Verdict != view.Pass {
		t.Errorf("the record: torn %v, runs %+v, summary %+v", r.Torn, r.Runs, r.Summary)
	}
}

// Containers keep the boot ID of their host, which they share. Then a machine that was proven off has
// booted once its node is Ready again.
func TestATrialOfMachinesThatKeepTheirBootIDsPasses(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(node string) string{
		"kept":   func(node string) string { return "boot-" + node },
		"shared": func(string) string { return "host" },
		"none":   func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, session.Options{}, func(w *world) {
				w.oneBoot = true
				c, link, access := w.s.Contents(), w.s.Link, w.s.Access
				for i, n := range c.Nodes {
					m := *n
					m.BootID = id(n.Name)
					c.Nodes[i] = &m
				}
				w.s = cluster.NewSnapshot(c)
				w.s.Link, w.s.Access = link, access
			})
			w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
			if sum, _ := w.outcome(t); sum.Verdict != view.Pass {
				t.Errorf("%s: %v", sum.Verdict, sum.Why)
			}
		})
	}
}

func TestARefusedShutdownIsNotObserved(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.refuse = true })
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NotObserved || !strings.Contains(strings.Join(sum.Why, "\n"), "kube-node3 never went down") {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
	if i := slices.IndexFunc(sum.Steps, func(s record.Step) bool { return s.State == view.StepFailed }); i != 1 {
		t.Errorf("steps %+v", sum.Steps)
	}
}

// What a stuck watch delivers late would be judged late.
func TestATrialWhoseWatchWasStuckIsNotObserved(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.stale = []cluster.Kind{cluster.KindPod} })
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NotObserved || !slices.Contains(sum.Why, "the watch of the pods was stuck: lightsout saw their changes late") {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
}

// What a stalled connection delivers late is dated by its source, if that tells a time.
func TestATrialNotesThatTheConnectionStalled(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.answersIn = 2100 * time.Millisecond })
	w.x.Start(parse(t, strings.Replace(shortPlan, "  - on:", "  - pause: 3s\n  - on:", 1)), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if len(sum.Blind) == 0 || !strings.HasPrefix(sum.Blind[0].Why, "the API server's answer took 2") || sum.Blind[0].To-sum.Blind[0].From < 2 {
		t.Errorf("%s %v: blind %+v", sum.Verdict, sum.Why, sum.Blind)
	}
}

// What is down before it is switched off shows nothing: the trial ends before
// its first step.
func TestATrialOfADeadNodeIsNotBegun(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.turn("kube-node4", true)
	w.x.frame("kube-node4 is down", func(f *view.Frame) bool {
		return f.Snapshot.Node("kube-node4").Ready != cluster.TriTrue
	})
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NotObserved || len(sum.Why) == 0 || !strings.Contains(sum.Why[0], "kube-node4 was not Ready when") {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
	for _, p := range sum.Phases {
		if p.Observed != nil {
			t.Errorf("observed: %+v", p)
		}
	}
	if !w.is("kube-node3", power.On) || sum.Ledger.Scheduled != 0 {
		t.Errorf("a step was taken: %+v", sum.Steps)
	}
}

// Somebody else powers a machine on during the trial: it was not off for as long as the
// plan says, and its outage ended then.
func TestATrialWhoseMachineSomebodyElsePowersOnIsNotObserved(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, strings.Replace(shortPlan, "  - on:", "  - pause: 5s\n  - on:", 1)), trial.RunOptions{Auto: true, End: true})
	w.x.frame("the trial pauses", func(f *view.Frame) bool { return f.Trial != nil && strings.Contains(f.Trial.Doing, "pause") })
	w.turn("kube-node4", false)
	sum, _ := w.outcome(t)
	want := "kube-node4 booted before the trial powered it on: somebody else powered it on, or it rebooted by itself"
	if sum.Verdict != view.NotObserved || len(sum.Why) != 1 || sum.Why[0] != want {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
	on := sum.Outages.FirstOn() // of kube-node4; the trial itself powers the other one on
	if len(sum.Outages) != 2 || on.IsZero() || on.Sub(sum.Outages[0].Off) > 4*time.Second {
		t.Errorf("outages: %+v", sum.Outages)
	}
}

func TestAnOutageThatNobodyNoticedIsNotObserved(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.blindly = true })
	w.x.Start(parse(t, strings.Replace(shortPlan, "within: 20s", "within: 300ms", 1)), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NotObserved {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
	// The step failed, so what was off has been powered on again.
	if !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) || len(sum.LeftOff) != 0 {
		t.Errorf("left off: %v", sum.LeftOff)
	}
}

// A program that stands still sends no requests: "none failed" proves nothing then.
func TestATrialDuringWhichLightsoutStoodStillIsNotObserved(t *testing.T) {
	t.Parallel()
	for pause, want := range map[time.Duration]view.Verdict{10 * time.Second: view.NotObserved, time.Second: view.Pass} {
		t.Run(pause.String(), func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64
			w := startWorld(t, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}, func(w *world) {
				w.switched = func(action, _ string) {
					if action != string(power.ActionOn) {
						ahead.Store(int64(pause))
					}
				}
			})
			w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
			sum, dir := w.outcome(t)
			if sum.Verdict != want {
				t.Fatalf("%s: %v", sum.Verdict, sum.Why)
			}
			still := slices.ContainsFunc(sum.Blind, func(b record.Blind) bool { return b.StoodStill && b.To-b.From > 9 })
			if still != (want == view.NotObserved) {
				t.Errorf("blind: %+v", sum.Blind)
			}
			text, err := os.ReadFile(filepath.Join(dir, record.ReportFile))
			if err != nil || strings.Contains(string(text), "lightsout itself stood still") != still {
				t.Errorf("the report (%v):\n%s", err, text)
			}
		})
	}
}

func TestAnUnmetExpectationFails(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, strings.Replace(shortPlan, "- failed: 0\n    step: after", "- failed: {min: 1}\n    step: after", 1)), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.Fail || len(sum.Why) != 1 || !strings.Contains(sum.Why[0], "wanted at least 1, got 0") {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
}

func TestAbortPowersOnAndKeepsTheRecord(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	text := strings.Replace(shortPlan, "- on:", "- pause: 1h\n  - on:", 1)
	w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true})
	w.x.frame("the pause", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 3 && len(f.Trial.Doing) > 0 })
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	sum, dir := w.outcome(t)
	if sum.Verdict != view.Aborted || !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) || len(sum.LeftOff) != 0 {
		t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
	}
	if st := sum.Steps[3].State; st != view.StepCut {
		t.Errorf("the pause is %q", st)
	}
	if r, err := record.Open(dir); err != nil || r.Summary == nil || len(r.Torn) > 0 {
		t.Errorf("the record: %+v, %v", r, err)
	}
}

// A hang-up, a signal and a lost terminal end a session in the same way.
func TestTheEndOfASessionPowersOnWhatItsTrialSwitchedOff(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, strings.Replace(shortPlan, "- on:", "- pause: 1h\n  - on:", 1)), trial.RunOptions{Auto: true})
	w.x.frame("the pause", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 3 && len(f.Trial.Doing) > 0 })
	w.x.Send(view.End{Why: "the screen has gone"})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.Aborted || !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) || len(sum.LeftOff) != 0 {
		t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
	}
}

func TestKeepOffLeavesMachinesOff(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	text := shortPlan[:strings.Index(shortPlan, "  - on:")] + "expect:\n  - balanced: true\n"
	w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true, KeepOff: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.Pass || len(sum.LeftOff) != 2 || w.is("kube-node3", power.On) {
		t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
	}
}

func TestAMachineThatStaysOffFails(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.stuck = true })
	text := strings.Replace(shortPlan, "- on: [kube-node3, kube-node4]", "- on: {nodes: [kube-node3, kube-node4], within: 300ms}", 1)
	w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true, KeepOff: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NotObserved || len(sum.LeftOff) != 2 {
		t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
	}
}

func TestADrivenTrialTakesEachStepOnRequest(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Driven: true})
	waits := func(next int) *view.Frame {
		t.Helper()
		return w.x.frame(fmt.Sprintf("step %d to wait", next), func(f *view.Frame) bool {
			return f.Question == nil && f.Trial != nil && f.Trial.Waiting && f.Trial.Next == next
		})
	}
	if f := waits(0); !strings.HasPrefix(f.Trial.Doing, "next: ") {
		t.Errorf("doing %q", f.Trial.Doing)
	}
	w.x.Send(view.NextStep{Step: 0})
	if f := waits(1); !strings.Contains(f.Trial.Doing, "kube-node3, kube-node4") {
		t.Errorf("doing %q", f.Trial.Doing)
	}
	w.x.Send(view.NextStep{Step: 0}) // too late: it was meant for the step before
	w.x.Send(view.NextStep{Step: 1})
	w.x.Send(view.NextStep{Step: 1}) // a key too many
	q := w.x.question("switch")
	w.x.Send(view.NextStep{Step: 1})
	w.x.Send(view.Answer{Question: q.ID, Choice: "no"})
	waits(1)
	if calls := w.calls(); len(calls) != 0 {
		t.Fatalf("switched after a no: %v", calls)
	}
	w.x.Send(view.NextStep{Step: 1})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	waits(3) // the wait is taken by itself
	w.x.Send(view.NextStep{Step: 3})
	waits(5)
	w.x.Send(view.NextStep{Step: 5})
	f := w.x.frame("the verdict", func(f *view.Frame) bool { return f.Trial.Verdict != "" })
	if f.Trial.Verdict != view.Pass {
		t.Errorf("%s: %v", f.Trial.Verdict, f.Trial.Why)
	}
}

func TestATrialByKeyboardLeavesAPlanThatCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "free"})
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Keyboard })
	w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 3}})
	w.x.frame("the burst", func(f *view.Frame) bool { return f.Load.Totals.OK == 3 && f.Load.Totals.InFlight() == 0 })
	w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 2}})
	w.x.frame("the hold", func(f *view.Frame) bool { return f.Load.Totals.OK > 5 })
	w.x.Send(view.StopLoad{})
	w.x.frame("rest", func(f *view.Frame) bool { return !f.Load.Active && f.Load.Totals.InFlight() == 0 })
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == "" && f.Power["kube-node4"].LeftOff })
	w.x.Send(view.Remark{Text: "look here"})
	w.x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	w.x.frame("it on", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == "" && !f.Power["kube-node4"].LeftOff })
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "end"})
	f := w.x.frame("the verdict", func(f *view.Frame) bool { return f.Trial.Verdict != "" })
	if f.Trial.Verdict != view.NoExpectations {
		t.Errorf("%s: %v", f.Trial.Verdict, f.Trial.Why)
	}
	w.x.Send(view.AskQuit{})
	sum, dir := w.outcome(t)
	if sum.Ledger.OK <= 5 || len(sum.Load) != 2 {
		t.Errorf("ledger %+v", sum.Ledger)
	}
	text, err := os.ReadFile(filepath.Join(dir, record.PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, string(text))
	var kinds []string
	for _, st := range p.Steps {
		kinds = append(kinds, st.Action.Kind())
		if _, is := st.Action.(*plan.Load); is && !slices.ContainsFunc(sum.Load, func(l record.Load) bool { return l.Step == st.Name }) {
			t.Errorf("no requests are counted for the step %q: %+v", st.Name, sum.Load)
		}
	}
	if want := []string{"load", "load", "stop", "off", "on"}; !slices.Equal(kinds, want) {
		t.Errorf("the plan is\n%s", text)
	}
	r, err := record.Open(dir)
	if err != nil || !slices.ContainsFunc(r.Events, func(e view.Event) bool { return e.Text == "look here" }) {
		t.Errorf("the mark is not in the record: %v", err)
	}
}

func TestTheTimelineReportsAReturnWithoutATrial(t *testing.T) {
	t.Parallel()
	for name, oneBoot := range map[string]bool{"a new boot ID": false, "the boot ID of the host": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			returnWithoutATrial(t, oneBoot)
		})
	}
}

func returnWithoutATrial(t *testing.T, oneBoot bool) {
	w := startWorld(t, session.Options{}, nil)
	w.oneBoot = oneBoot
	for _, a := range []power.Action{power.ActionShutdown, power.ActionOn} {
		w.x.Send(view.AskPower{Action: a, Nodes: []string{"kube-node4"}})
		w.x.Send(view.Answer{Question: w.x.question(view.QuestionSwitch).ID, Choice: "yes"})
		w.x.frame("it done", func(f *view.Frame) bool {
			return f.Power["kube-node4"].Busy == "" && f.Power["kube-node4"].LeftOff == (a == power.ActionShutdown)
		})
	}
	f := w.x.frame("the return", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "restored") })
	said := func(want string) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Subject+" "+e.Text, want) })
	}
	if !said("kube-node4 Ready, ") || !said("default/llm restored ") || !said(" after the power-on: 16 of 16 pods available") {
		t.Errorf("the events are %+v", f.Events)
	}
	if len(f.Next) > 0 && strings.Contains(f.Next[len(f.Next)-1], "Ready again") {
		t.Errorf("still waited for: %q", f.Next)
	}
}

func TestTheScreenReportsThatItWatchesOneNamespace(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{Namespaces: "team", Narrowed: "lightsout watches team"}, nil)
	w.x.frame("the reason", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Text, "lightsout watches team") })
	})
}

// A load by hand is over when its requests are; later ones are not counted in.
func TestLoadsByHandAreKeptApart(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(nil, trial.RunOptions{End: true})
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil })
	for n, sent := range []int{2, 7} {
		w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: sent}})
		w.x.frame("it at rest", func(f *view.Frame) bool {
			return f.Load.Totals.OK == []int{2, 9}[n] && f.Load.Totals.InFlight() == 0
		})
	}
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "end"})
	sum, dir := w.outcome(t)
	if b, err := os.ReadFile(filepath.Join(dir, record.EventsFile)); err != nil || !strings.Contains(string(b), "burst of 7 ended") {
		t.Errorf("what came of the last burst is not in the record (%v):\n%s", err, b)
	}
	if len(sum.Load) != 2 || sum.Load[0].Sent != 2 || sum.Load[1].Sent != 7 || sum.Load[0].PeakServed > 2 || sum.Verdict != view.NotObserved {
		t.Errorf("%s, load %+v", sum.Verdict, sum.Load)
	}
}

func TestAPlanForAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, strings.ReplaceAll(shortPlan, "kube-node4", "kube-node9")), trial.RunOptions{Auto: true, End: true})
	w.x.waitEnd()
	sum, _, refused := w.x.Outcome()
	if sum != nil || refused == nil || !strings.Contains(refused.Error(), "line 7") || !strings.Contains(refused.Error(), "kube-node9") {
		t.Errorf("summary %v, refused: %v", sum, refused)
	}
	if calls := w.calls(); len(calls) != 0 {
		t.Errorf("switched: %v", calls)
	}
}

const hopelessPlan = `
name: hopeless
deployment: default/llm
steps:
  - off: [kube-node3, kube-node4]
  - wait: {for: replaced, within: 20m}
  - on: [kube-node3, kube-node4]
`

// Some pods of the nodes find no room elsewhere, so the trial does not wait 20 minutes for
// them with machines off.
func TestAWaitForAnImpossibleConditionEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	p := parse(t, hopelessPlan)
	if why := trial.Hopeless(p, w.Snapshot(), cluster.Key{}, time.Now()); len(why) != 1 || !strings.Contains(why[1], "no room for 4 pods") {
		t.Errorf("a dry run reports %v", why)
	}
	if why := trial.Hopeless(parse(t, shortPlan), w.Snapshot(), cluster.Key{}, time.Now()); len(why) > 0 {
		t.Errorf("a dry run of a possible condition reports %v", why)
	}
	w.x.Start(p, trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if text := fmt.Sprint(sum.Why, sum.Steps); sum.Verdict == view.Pass || !strings.Contains(text, "the condition cannot come true: no room for 4 pods") {
		t.Errorf("%s: %s", sum.Verdict, text)
	}
	if left := w.x.left(); len(left) > 0 {
		t.Errorf("left off: %v", left)
	}
}

// partBoard cannot switch kube-node4.
type partBoard struct{ *board }

func (b partBoard) Find(ctx context.Context, n power.NodeRef, hint string) (power.Machine, error) {
	if n.Name == "kube-node4" {
		return power.Machine{}, errors.New("the board cannot switch kube-node4")
	}
	return b.board.Find(ctx, n, hint)
}

func TestATrialNeedsADeploymentAndMachines(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	p := parse(t, strings.Replace(shortPlan, "deployment: default/llm\n", "", 1))
	if err := trial.CheckPlan(p, w.Snapshot(), cluster.Key{Namespace: "default", Name: "lln"}); err == nil || !strings.Contains(err.Error(), `did you mean "default/llm"?`) {
		t.Errorf("a deployment of the config that does not exist: %v", err)
	}
	if err := trial.CheckPlan(p, w.Snapshot(), cluster.Key{Namespace: "default", Name: "llm"}); err != nil {
		t.Error(err)
	}

	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, partBoard{b}, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{}, nil)
	x.frame("the machines", func(f *view.Frame) bool { return !f.Power["kube-node3"].Reading.Arrived.IsZero() })
	x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	x.waitEnd()
	sum, _, refused := x.Outcome()
	if sum != nil || refused == nil || !strings.Contains(refused.Error(), "line 7: kube-node4 can't be switched") {
		t.Errorf("summary %v, refused: %v", sum, refused)
	}
}

// byHand shuts kube-node4 down and powers it on again, while a hold is running.
func byHand(t *testing.T, opt session.Options) *world {
	t.Helper()
	opt.Unprompted = true
	w := startWorld(t, opt, nil)
	w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 2}})
	w.x.frame("answers", func(f *view.Frame) bool { return f.Load.Totals.OK > 0 })
	for _, a := range []power.Action{power.ActionShutdown, power.ActionOn} {
		w.x.Send(view.AskPower{Action: a, Nodes: []string{"kube-node4"}})
		w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
		w.x.frame("it switched", func(f *view.Frame) bool {
			v := f.Power["kube-node4"]
			return f.Trial == nil && v.Busy == "" && v.LeftOff == (a != power.ActionOn) && !f.Zero.IsZero()
		})
	}
	return w
}

func TestAnOutageByHandLeavesARecordAndASummary(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	w := byHand(t, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w.x.frame("the node back", func(f *view.Frame) bool {
		n := f.Snapshot.Node("kube-node4")
		return n != nil && n.Ready == cluster.TriTrue && len(f.Next) == 0
	})
	w.x.Send(view.StopLoad{})
	w.x.frame("rest", func(f *view.Frame) bool { return !f.Load.Active && f.Load.Totals.InFlight() == 0 })
	stop := make(chan struct{})
	go func() { // the clock runs fast until everything has been back for a while
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-tick.C:
				ahead.Add(int64(time.Second))
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	f := w.x.frame("the summary", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return e.Code == view.CodeOutageSummary })
	})
	close(stop)
	if text := f.Events[len(f.Events)-1].Text; !strings.Contains(text, "kube-node4 was shut down at ") || !strings.Contains(text, "no request is known to have failed") { // the clock jumped
		t.Errorf("the summary: %q", text)
	}
	w.x.Send(view.AskQuit{})
	sum, dir := w.outcome(t)
	if sum.Zero.IsZero() || len(sum.Load) != 1 || !sum.Ledger.Balanced || sum.Ledger.InFlight > 0 || sum.Verdict != view.NotJudged {
		t.Errorf("%s %+v", sum.Verdict, sum.Ledger)
	}
	if kept := w.x.Kept(); len(kept) != 1 || !kept[0].Unprompted || kept[0].Dir != dir {
		t.Errorf("the session's records: %+v", kept)
	}
	r, err := record.Open(dir)
	if err != nil || len(r.Samples) == 0 || !slices.ContainsFunc(r.Events, func(e view.Event) bool { return e.Code == view.CodeZero }) {
		t.Fatalf("the record: %v", err)
	}
	sameRequests(t, r)
}

// sameRequests compares the requests of each load in a record's summary with requests.jsonl.
func sameRequests(t *testing.T, r *record.Record) {
	t.Helper()
	for _, l := range r.Summary.Load {
		got := l.Counts
		got.Scheduled, got.InFlight = got.Scheduled-got.InFlight, 0
		for _, run := range r.Runs {
			if want := run.Totals.Counts(); run.Number == l.Run && (got.Scheduled != want.Scheduled || got.OK != want.OK || got.Failed != want.Failed) {
				t.Errorf("%s: requests.jsonl has %+v, and the summary %+v", r.Dir, want, l.Counts)
			}
		}
	}
}

// A machine that takes longer to go off than the record goes on after everything is back
// belongs to the record.
func TestARecordOfAnOutageWaitsForAMachineThatGoesDown(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	w := byHand(t, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w.x.Send(view.StopLoad{})
	w.x.frame("the node back", func(f *view.Frame) bool {
		n := f.Snapshot.Node("kube-node4")
		return n != nil && n.Ready == cluster.TriTrue && len(f.Next) == 0 && !f.Load.Active && f.Load.Totals.InFlight() == 0
	})
	obey := w.board.hang("kube-node4")
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionSwitch).ID, Choice: "yes"})
	w.x.frame("it goes down", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == power.ActionShutdown })
	ended := func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return e.Code == view.CodeOutageSummary })
	}
	for range 60 { // seconds
		ahead.Add(int64(time.Second))
		at := time.Now().Add(time.Duration(ahead.Load()))
		w.x.frame("another second", func(f *view.Frame) bool {
			if ended(f) {
				t.Fatal("the record ended while a machine was going down")
			}
			return !f.Now.Before(at)
		})
	}
	obey()
	w.x.frame("it is off", func(f *view.Frame) bool { return f.Power["kube-node4"].LeftOff && f.Power["kube-node4"].Busy == "" })
	w.x.Send(view.AskQuit{})
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionQuit).ID, Choice: "leave"})
	sum, _ := w.outcome(t)
	if len(w.x.Kept()) != 1 || len(sum.Outages) != 2 || len(sum.Nodes) != 1 || !strings.HasPrefix(sum.Nodes[0].OffProof, "proven") {
		t.Errorf("%d records; outages %+v, nodes %+v", len(w.x.Kept()), sum.Outages, sum.Nodes)
	}
}

// The record of an outage leaves out a load that ended before it, and has later loads.
func TestALoadDuringAnOutageByHandFollowsOneBeforeIt(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{Unprompted: true}, nil)
	burst := view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 2}}
	w.x.Send(burst)
	w.x.frame("the first burst's end", func(f *view.Frame) bool { return f.Load.Totals.OK == 2 && f.Load.Totals.InFlight() == 0 })
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	w.x.frame("it is off", func(f *view.Frame) bool { return f.Power["kube-node4"].LeftOff })
	w.x.Send(burst)
	w.x.frame("the second burst's end", func(f *view.Frame) bool { return f.Load.Totals.OK == 4 })
	w.x.Send(view.AskQuit{})
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionQuit).ID, Choice: "leave"})
	if sum, _ := w.outcome(t); len(sum.Load) != 1 || sum.Ledger.OK != 2 {
		t.Errorf("the record has %+v", sum.Load)
	}
}

func TestLeavingEndsTheRecordOfAnOutageByHand(t *testing.T) {
	t.Parallel()
	w := byHand(t, session.Options{})
	w.x.Send(view.AskQuit{}) // asks, because requests are in flight
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionQuit).ID, Choice: "leave"})
	sum, dir := w.outcome(t)
	if sum.Verdict == view.Aborted || len(sum.Nodes) != 1 {
		t.Errorf("%s %v %+v", sum.Verdict, sum.Why, sum.Nodes)
	}
	if _, err := os.Stat(record.ReportPath(dir)); err != nil {
		t.Error(err)
	}
}

func TestATrialEndsTheRecordOfAnOutageByHand(t *testing.T) {
	t.Parallel()
	w := byHand(t, session.Options{})
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "free"})
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Keyboard && f.Trial.Name == "by-keyboard" })
	w.x.stop()
	w.outcome(t)
	kept := w.x.Kept()
	if len(kept) != 2 {
		t.Fatalf("%+v", kept)
	}
	for i, k := range kept {
		r, err := record.Open(k.Dir)
		if err != nil || r.Summary == nil || len(r.Summary.Load) != 1-i {
			t.Fatalf("%s: %+v %v", k.Dir, r, err)
		}
		sameRequests(t, r) // the hold goes on when the first record ends
	}
}

// A trial switched kube-node3 off. Somebody powered it on by hand, and another operator has
// switched it off since: the screen says that lightsout leaves it off. An aborted trial must
// leave it off too.
func TestAnAbortedTrialLeavesWhatAnotherJournalHasSwitchedOffSince(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Start(parse(t, `name: taken
deployment: default/llm
steps:
  - load: {burst: 1}
  - off: {nodes: [kube-node3, kube-node4], how: plug}
  - pause: 10m
  - on: [kube-node3, kube-node4]
expect:
  - balanced: true
`), trial.RunOptions{Auto: true, End: true})
	w.x.frame("they are off", func(f *view.Frame) bool {
		return f.Power["kube-node3"].LeftOff && f.Power["kube-node4"].LeftOff && f.Power["kube-node3"].Busy == "" && f.Power["kube-node4"].Busy == "" && f.Trial != nil && strings.Contains(f.Trial.Doing, "pause")
	})
	note := power.Note{By: "tanaka@jump-7", ID: "x", At: time.Now().Add(2 * time.Second), Back: "lightsout restore --state /theirs, by tanaka@jump-7"}
	w.mu.Lock()
	c := w.s.Contents()
	c.Nodes = slices.Clone(c.Nodes)
	for i, n := range c.Nodes {
		if n.Name == "kube-node3" {
			m := *n
			m.Ready, m.ReadySince = cluster.TriFalse, time.Now()
			m.Annotations = map[string]string{power.AnnotationSwitchedOff: note.Text()}
			c.Nodes[i] = &m
		}
	}
	link, access := w.s.Link, w.s.Access
	w.s = cluster.NewSnapshot(c)
	w.s.Link, w.s.Access = link, access
	w.mu.Unlock()
	w.changed <- struct{}{}
	w.x.frame("lightsout leaves it off", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "kube-node3 was switched off since by tanaka@jump-7") && strings.Contains(f.Notice.Text, "lightsout leaves it off")
	})
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.waitEnd()
	if w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) {
		t.Errorf("kube-node3 on: %v, kube-node4 on: %v; %v", w.is("kube-node3", power.On), w.is("kube-node4", power.On), w.board.calls())
	}
}
