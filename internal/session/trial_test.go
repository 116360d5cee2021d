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
			if !w.oneBoot && strings.HasPrefix(m.BootID, "boot-") {
				m.BootID = fmt.Sprintf("boot-%s-%d", node, w.boots)
			}
			from, to = to, from
			trs = append(trs, cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: node}}, Change: "boot", To: m.BootID, When: cluster.At(now)})
		}
		m.ReadySince = now
		c.Nodes[i] = &m
		trs = append(trs, cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindNode, Key: cluster.Key{Name: node}}, Change: "status", From: from, To: to, When: cluster.At(now)})
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
	if len(sum.Nodes) != 2 || !strings.HasPrefix(sum.Nodes[0].OffProof, "proven") || sum.Nodes[0].OnProof != "proven (booted)" {
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

// nodes returns a change of the nodes of a world.
func nodes(change func(n *cluster.Node)) func(*world) {
	return func(w *world) {
		c, link, access := w.s.Contents(), w.s.Link, w.s.Access
		for i, n := range c.Nodes {
			m := *n
			change(&m)
			c.Nodes[i] = &m
		}
		w.s = cluster.NewSnapshot(c)
		w.s.Link, w.s.Access = link, access
	}
}

func TestTheVerdictOfATrialFollowsFromWhatWasObserved(t *testing.T) {
	t.Parallel()
	edit := strings.NewReplacer
	for name, c := range map[string]struct {
		world   func(*world)
		plan    *strings.Replacer // of shortPlan
		keepOff bool
		want    view.Verdict
		why     string
		left    int // machines
	}{
		// Containers keep the boot ID of their host, which they share.
		"boot IDs that stay":   {world: func(w *world) { w.oneBoot = true }, want: view.Pass},
		"boot IDs of the host": {world: nodes(func(n *cluster.Node) { n.BootID = "host" }), want: view.Pass},
		"no boot IDs":          {world: nodes(func(n *cluster.Node) { n.BootID = "" }), want: view.Pass},
		"a refused shutdown":   {world: func(w *world) { w.refuse = true }, want: view.NotObserved, why: "kube-node3 never went down"},
		"an unmet expectation": {plan: edit("- failed: 0", "- failed: {min: 1}"), want: view.Fail, why: "wanted at least 1, got 0"},
		"nobody notices":       {world: func(w *world) { w.blindly = true }, plan: edit("within: 20s", "within: 300ms"), want: view.NotObserved},
		"left off":             {plan: edit(shortPlan[strings.Index(shortPlan, "  - on:"):strings.Index(shortPlan, "expect:")], "", "  - failed: 0\n    step: after\n", ""), keepOff: true, want: view.Pass, left: 2},
		"a machine stays off":  {world: func(w *world) { w.stuck = true }, plan: edit("- on: [kube-node3, kube-node4]", "- on: {nodes: [kube-node3, kube-node4], within: 300ms}"), keepOff: true, want: view.NotObserved, left: 2},
		"an impossible wait":   {plan: edit("detected, within: 20s", "replaced, within: 20m"), want: view.Fail, why: "the condition cannot come true: 4 pods get no node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := shortPlan
			if c.plan != nil {
				text = c.plan.Replace(text)
			}
			w := startWorld(t, session.Options{}, c.world)
			w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true, KeepOff: c.keepOff})
			sum, _ := w.outcome(t)
			if sum.Verdict != c.want || !strings.Contains(fmt.Sprint(sum.Why, sum.Steps), c.why) || len(sum.LeftOff) != c.left {
				t.Errorf("%s: %v, steps %+v, left off %v", sum.Verdict, sum.Why, sum.Steps, sum.LeftOff)
			}
			if c.left == 0 && (!w.is("kube-node3", power.On) || !w.is("kube-node4", power.On)) {
				t.Errorf("a machine is off: %v", w.calls())
			}
		})
	}
}

func TestAbortPowersOnAndKeepsTheRecord(t *testing.T) {
	t.Parallel()
	for why, abort := range map[string]func(*world){
		"by a signal": func(w *world) { w.x.Send(view.AbortTrial{Why: "by a signal"}) },
		"because kube-node3 has booted and the trial has not powered it on: somebody else did, or it rebooted by itself": func(w *world) {
			if err := w.Switch(t.Context(), power.ActionOn, power.Machine{Name: "kube-node3"}); err != nil {
				t.Error(err)
			}
		},
	} {
		w := startWorld(t, session.Options{}, nil)
		text := strings.Replace(shortPlan, "- on:", "- pause: 1h\n  - on:", 1)
		w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true})
		w.x.frame("the pause", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 3 && len(f.Trial.Doing) > 0 })
		abort(w)
		sum, dir := w.outcome(t)
		if sum.Verdict != view.Aborted || !strings.HasPrefix(sum.Why[0], "the trial ended early at T+00:0") || !strings.HasSuffix(sum.Why[0], " in step 4 (pause for 1h): aborted "+why) || sum.Steps[4].Text != "the end of the trial powered on kube-node3, kube-node4" || !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) || len(sum.LeftOff) != 0 {
			t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
		}
		if st := sum.Steps[3].State; st != view.StepCut {
			t.Errorf("the pause is %q", st)
		}
		ready := slices.IndexFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseReady && p.Subject == "kube-node4" })
		if ready < 0 || sum.Phases[ready].Observed == nil {
			t.Errorf("the record ends before kube-node4 is Ready: %+v", sum.Phases)
		}
		if r, err := record.Open(dir); err != nil || r.Summary == nil || len(r.Torn) > 0 {
			t.Errorf("the record: %+v, %v", r, err)
		}
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
	w.x.answer("switch", "yes")
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
	w.x.answer("trial", "free")
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Keyboard })
	w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 3}})
	w.x.frame("the burst", func(f *view.Frame) bool { return f.Load.Totals.OK == 3 && f.Load.Totals.InFlight() == 0 })
	w.x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 2}})
	w.x.frame("the hold", func(f *view.Frame) bool { return f.Load.Totals.OK > 5 })
	w.x.Send(view.StopLoad{})
	w.x.frame("rest", func(f *view.Frame) bool { return !f.Load.Active && f.Load.Totals.InFlight() == 0 })
	w.x.press(power.ActionShutdown, "yes", "kube-node4")
	w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == "" && f.Power["kube-node4"].LeftOff })
	w.x.Send(view.Remark{Text: "look here"})
	w.x.press(power.ActionOn, "yes", "kube-node4")
	w.x.frame("it on", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == "" && !f.Power["kube-node4"].LeftOff })
	w.x.Send(view.AskTrial{})
	w.x.answer("trial", "end")
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
		kinds = append(kinds, string(st.Action.Kind))
		if st.Action.Kind == plan.Load && !slices.ContainsFunc(sum.Load, func(l record.Load) bool { return l.Step == st.Name }) {
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
		w.x.press(a, "yes", "kube-node4")
		w.x.frame("it done", func(f *view.Frame) bool {
			return f.Power["kube-node4"].Busy == "" && f.Power["kube-node4"].LeftOff == (a == power.ActionShutdown)
		})
	}
	f := w.x.frame("the return", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "after the power-on") })
	said := func(want string) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Subject+" "+e.Text, want) })
	}
	if !said("kube-node4 Ready, ") {
		t.Errorf("the events are %+v", f.Events)
	}
	if len(f.Next) > 0 && strings.Contains(f.Next[len(f.Next)-1], "Ready again") {
		t.Errorf("still waited for: %q", f.Next)
	}
}

// What can be known before the first step is said then: nothing is sent or switched, and no record begins.
func TestAPlanThatCannotComeTrueIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	edit := strings.NewReplacer
	evicted := edit("{for: detected", "{for: evicted", "steps:\n", "steps:\n  - pause: 1s\n")
	rollout := edit("{for: detected", "{for: evicted", "steps:\n", "steps:\n  - rollout:\n")
	node4 := func(change func(n *cluster.Node)) func(*world) {
		return nodes(func(n *cluster.Node) {
			if n.Name == "kube-node4" {
				change(n)
			}
		})
	}
	contents := func(change func(c *cluster.Contents)) func(*world) {
		return func(w *world) {
			link, access, c := w.s.Link, w.s.Access, w.s.Contents()
			change(&c)
			w.s = cluster.NewSnapshot(c)
			w.s.Link, w.s.Access = link, access
		}
	}
	empty := contents(func(c *cluster.Contents) {
		c.Pods = slices.DeleteFunc(c.Pods, func(p *cluster.Pod) bool { return p.Node == "kube-node4" })
	})
	noKnative := contents(func(c *cluster.Contents) {
		d := *c.Deployments[0]
		d.Knative, c.Deployments = nil, []*cluster.Deployment{&d}
	})
	all := func(changes ...func(*world)) func(*world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	cordoned := node4(func(n *cluster.Node) { n.Unschedulable = true })
	for name, c := range map[string]struct {
		world func(*world)
		plan  *strings.Replacer // of shortPlan
		want  string            // empty: it begins
		other bool              // another program runs a trial
	}{
		"another cluster":          {plan: edit("kube-node4", "kube-node9"), want: `line 7: the cluster has no node "kube-node9"`},
		"another deployment":       {plan: edit("default/llm", "default/lln"), want: `did you mean "default/llm"?`},
		"a dead node":              {world: node4(func(n *cluster.Node) { n.Ready = cluster.TriUnknown }), want: "kube-node4 is not Ready"},
		"a node of another trial":  {world: node4(func(n *cluster.Node) { n.Ready = cluster.TriUnknown }), want: "no trial of this cluster can begin: ", other: true},
		"no pods, of Knative":      {world: empty, plan: evicted, want: "line 9: there is no pod on kube-node4 that could be evicted"},
		"a rollout of Knative":     {plan: rollout, want: "line 5: default/llm belongs to a Knative Revision, which undoes a restart of its rollout: leave this step out"},
		"no pods":                  {world: all(empty, noKnative), plan: evicted, want: `line 9: there is no pod on kube-node4 that could be evicted; begin the plan with "- rollout:"`},
		"no pods that matter":      {world: empty},
		"no pods before a rollout": {world: all(empty, noKnative), plan: rollout},
		"a cordoned node":          {world: all(cordoned, noKnative), plan: rollout, want: "begin with: kubectl uncordon kube-node4"},
		"a cordoned node, no roll": {world: cordoned, plan: evicted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := shortPlan
			if c.plan != nil {
				text = c.plan.Replace(text)
			}
			w := startWorld(t, session.Options{}, c.world)
			if c.other {
				fleet, err := power.NewFleet(power.Config{Locks: power.OpenLocks(w.x.dir)}, power.OpenJournal(t.TempDir(), power.Cluster{Name: "mdx"}, ""), nil)
				if err != nil {
					t.Fatal(err)
				}
				end, err := fleet.LockTrial()
				if err != nil {
					t.Fatal(err)
				}
				defer end()
			}
			dir := filepath.Join(t.TempDir(), "record")
			checked := w.x.Check(t.Context(), parse(t, text)) // as a dry run does
			w.x.Start(parse(t, text), trial.RunOptions{Auto: true, End: true, Dir: dir})
			if (checked == nil) != (c.want == "") {
				t.Errorf("checked: %v", checked)
			}
			if c.want == "" {
				w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil })
				w.x.Send(view.AbortTrial{Why: "seen"})
				w.outcome(t)
				return
			}
			w.x.waitEnd()
			sum, _, refused := w.x.Outcome()
			if sum != nil || refused == nil || !strings.Contains(refused.Error(), c.want) || refused.Error() != checked.Error() {
				t.Errorf("summary %v, refused: %v, checked: %v", sum, refused, checked)
			}
			if _, err := os.Stat(dir); len(w.calls()) != 0 || err == nil {
				t.Errorf("switched: %v; its record: %v", w.calls(), err)
			}
		})
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
