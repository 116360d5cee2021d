package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/testenv"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}

// board is a driver whose machines are switches in memory.
type board struct {
	mu    sync.Mutex
	state map[string]power.State
	asked []string
	// hanging holds the nodes whose shutdown waits until the channel is closed.
	hanging map[string]chan struct{}
	// slowOn holds the nodes whose power-on waits until the channel is closed.
	slowOn map[string]chan struct{}
	// asOf, unless zero, is the time of the readings; looked counts them.
	asOf   time.Time
	looked int
	gone   map[string]bool // machines that nobody can switch any more
}

func (b *board) forget(node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = map[string]bool{node: true}
}

func newBoard(nodes ...string) *board {
	b := &board{state: map[string]power.State{}}
	for _, n := range nodes {
		b.state[n] = power.On
	}
	return b
}

func (b *board) Name() string { return "board" }

func (b *board) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

func (b *board) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	return power.Machine{Driver: "board", ID: "switch-" + n.Name, Name: n.Name, How: "name"}, nil
}

func (b *board) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }

func (b *board) State(_ context.Context, m power.Machine) (power.Reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked++
	return power.Reading{State: b.state[m.Name], Proof: power.Proven, RequestedAt: b.asOf}, nil
}

func (b *board) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	b.mu.Lock()
	wait := b.hanging[m.Name]
	if a != power.ActionShutdown {
		wait = nil
	}
	b.mu.Unlock()
	if slow := b.slowOn[m.Name]; slow != nil && a == power.ActionOn {
		wait = slow
	}
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone[m.Name] {
		return &power.RefusedError{Why: m.Name + " is out of service"}
	}
	b.state[m.Name] = power.Off
	if a == power.ActionOn {
		b.state[m.Name] = power.On
	}
	b.asked = append(b.asked, string(a)+" "+m.Name)
	return nil
}

func (b *board) calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.asked...)
}

func (b *board) is(node string, s power.State) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state[node] == s
}

// still is a watcher whose snapshot is set by hand.
type still struct {
	mu      sync.Mutex
	s       *cluster.Snapshot
	changed chan struct{}
	wanted  atomic.Pointer[[]string] // kubelets
}

func (w *still) Snapshot() *cluster.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.s
}

// show sets the snapshot.
func (w *still) show(s *cluster.Snapshot) {
	w.mu.Lock()
	w.s = s
	w.mu.Unlock()
	w.changed <- struct{}{}
}

func (w *still) WantKubelets(nodes ...string) { w.wanted.Store(&nodes) }

func (w *still) Confirm(context.Context) error { return nil }

func (w *still) Changed() <-chan struct{} { return w.changed }

// mdxSnapshot is the cluster of the mdx article: 4 workers with 4 pods each.
func mdxSnapshot() *cluster.Snapshot {
	now := time.Now()
	var c cluster.Contents
	node := func(name string, i int, cp bool) {
		c.Nodes = append(c.Nodes, &cluster.Node{
			Name: name, ControlPlane: cp, Ready: cluster.TriTrue, BootID: "boot-" + name,
			Addresses: []string{fmt.Sprintf("10.0.0.%d", 10+i)}, RenewSeen: now.Add(time.Hour), LeaseDuration: 40 * time.Second,
			CPUMilli: 128_000, MaxPods: 110,
		})
	}
	node("kube-cp1", 0, true)
	dep := cluster.Key{Namespace: "default", Name: "llm"}
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("kube-node%d", i)
		node(name, i, false)
		for j := range 4 {
			c.Pods = append(c.Pods, &cluster.Pod{
				Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("llm-%d-%d", i, j)}, Node: name, Phase: "Running", Status: "Running",
				Ready: true, ReadyContainers: 2, Containers: 2, Deployment: "llm", OwnerKind: "ReplicaSet", OwnerName: "llm-1",
				Concurrency: 1, CPUMilli: 32_000, UnreachableFor: 300 * time.Second, NotReadyFor: 300 * time.Second,
			})
		}
	}
	c.Deployments = []*cluster.Deployment{{
		Key: dep, Replicas: 16, Total: 16, Updated: 16, ReadyReplicas: 16, Available: 16, Word: "Running",
		Knative: &cluster.Knative{Service: "llm", Revision: "llm", MinScale: 16, MaxScale: 16, ContainerConcurrency: 1},
	}}
	s := cluster.NewSnapshot(c)
	s.Link = cluster.Link{State: cluster.LinkLive, LastContact: now.Add(time.Hour)}
	s.Access = map[cluster.Kind]cluster.Access{}
	for _, k := range cluster.Kinds {
		s.Access[k] = cluster.Access{Synced: true}
	}
	return s
}

// bench is a session under test with its parts.
type bench struct {
	*session.Session
	*trial.Runner
	t     *testing.T
	board *board
	dir   string
	ended chan error
	stop  context.CancelFunc
	left  func() []string
	// leftCordoned and left are what the journal says.
	leftCordoned func() []string
}

func startSession(t *testing.T, dir string, b *board, opt session.Options) *bench {
	t.Helper()
	x := run(t, dir, b, b, &still{s: mdxSnapshot(), changed: make(chan struct{})}, opt, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	return x
}

// press asks to switch nodes, and answers the question with choice.
func (x *bench) press(a power.Action, choice string, nodes ...string) {
	x.t.Helper()
	x.Send(view.AskPower{Action: a, Nodes: nodes})
	x.answer(view.QuestionSwitch, choice)
}

// answer waits for a question of that kind, and answers it.
func (x *bench) answer(kind view.QuestionKind, choice string) {
	x.t.Helper()
	x.Send(view.Answer{Question: x.question(kind).ID, Choice: choice})
}

// off waits until the machines of nodes have been switched off.
func (x *bench) off(nodes ...string) {
	x.t.Helper()
	x.frame("the machines are off", func(f *view.Frame) bool {
		return !slices.ContainsFunc(nodes, func(n string) bool { return !f.Power[n].LeftOff || f.Power[n].Busy != "" })
	})
}

// startEmpty starts a session in a state directory of its own, whose machines are all on.
func startEmpty(t *testing.T, opt session.Options) *bench {
	t.Helper()
	return startSession(t, t.TempDir(), newBoard(workers...), opt)
}

// run runs a session in which trials can be run, unless it has another guest. load makes the generator.
func run(t *testing.T, dir string, b *board, d power.Driver, w session.Watcher, o session.Options, load func(*session.Target, *session.RecordWriter) *loadgen.Generator, other ...func(*session.Session, *loadgen.Generator) session.Guest) *bench {
	t.Helper()
	j := power.OpenJournal(dir, power.Cluster{Name: "mdx"}, "")
	fleet, err := power.NewFleet(power.Config{Off: "board", On: "board", PollInterval: 5 * time.Millisecond, ReadOnly: o.ReadOnly, DryRun: o.DryRun, WayBack: o.Restore, Locks: power.OpenLocks(dir)}, j, map[string]power.Driver{"board": d})
	if err != nil {
		t.Fatal(err)
	}
	if o.RecordWriter == nil {
		o.RecordWriter = newRecordWriter(t, "")
	}
	o.Cluster, o.Questions, o.Watcher, o.Fleet, o.Journal = "mdx", session.NewQuestions(), w, fleet, j
	o.Target = session.NewTarget(w, cluster.Key{}, time.Now)
	if load != nil {
		o.Load = load(o.Target, o.RecordWriter)
	}
	s := session.New(o)
	r := trial.NewRunner(s.Controls(), trial.Options{
		Claim: fleet.LockTrial, Begin: func() {}, Cluster: "mdx", DryRun: o.DryRun, Production: o.Production, Dir: filepath.Join(dir, "trials"), Timeline: o.RecordWriter.Timeline(), Load: o.Load, Now: o.Now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	x := &bench{Session: s, Runner: r, t: t, board: b, dir: dir, ended: make(chan error, 1), stop: cancel}
	x.left = func() (nodes []string) {
		left, _ := j.LeftOff()
		for _, l := range left {
			nodes = append(nodes, l.Node)
		}
		slices.Sort(nodes)
		return nodes
	}
	x.leftCordoned = func() (nodes []string) {
		left, _ := j.LeftCordoned()
		for _, e := range left {
			nodes = append(nodes, e.Node)
		}
		slices.Sort(nodes)
		return nodes
	}
	guest := session.Guest(r)
	for _, make := range other {
		guest = make(s, o.Load)
	}
	go func() { x.ended <- s.Run(ctx, guest) }()
	t.Cleanup(func() {
		cancel()
		for range s.Frames() { // closed when Run has ended
		}
		j.Close()
	})
	return x
}

func newRecordWriter(t *testing.T, dir string) *session.RecordWriter {
	t.Helper()
	rec, err := session.NewRecordWriter(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// frame waits for a frame that ok accepts.
func (x *bench) frame(what string, ok func(*view.Frame) bool) *view.Frame {
	x.t.Helper()
	deadline := time.After(20 * time.Second)
	var last *view.Frame
	for {
		select {
		case f, open := <-x.Frames():
			if !open {
				x.t.Fatalf("the engine ended before: %s", what)
			}
			if last = f; ok(f) {
				return f
			}
		case <-deadline:
			x.t.Fatalf("never seen: %s; last question %+v, events %+v", what, last.Question, last.Events)
		}
	}
}

func (x *bench) question(kind view.QuestionKind) *view.Question {
	x.t.Helper()
	return x.frame("a question of kind "+string(kind), func(f *view.Frame) bool { return f.Question != nil && f.Question.Kind == kind }).Question
}

// leftOff waits for the question about what was left off, once all its machines are polled: until then it changes.
func (x *bench) leftOff() *view.Question {
	x.t.Helper()
	return x.frame("what was left off, polled", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Kind == view.QuestionRestore && !strings.Contains(questionText(f.Question), "not polled yet")
	}).Question
}

func (x *bench) waitEnd() {
	x.t.Helper()
	for range x.Frames() {
	}
	select {
	case err := <-x.ended:
		if err != nil {
			x.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		x.t.Fatal("the engine did not end")
	}
}

func questionText(q *view.Question) string {
	text := q.Title
	for _, l := range q.Lines {
		text += "\n" + l.Text
	}
	return text
}

var workers = []string{"kube-cp1", "kube-node1", "kube-node2", "kube-node3", "kube-node4"}

func TestSwitchingAsksThenDoesThenOffersTheWayBack(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{Restore: "lightsout restore --state here"})
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3", "kube-node4"}})
	q := x.question("switch")
	if text := questionText(q); q.Refused || !strings.Contains(text, "16 → 8") || !strings.Contains(text, "kube-node4") {
		t.Errorf("the question does not say what it hits:\n%s", text)
	}
	if q.Choices[0].ID != "no" {
		t.Errorf("the first choice is not the safe one: %+v", q.Choices)
	}
	if len(x.board.calls()) != 0 {
		t.Fatal("switched before the answer")
	}
	x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	f := x.frame("both off", func(f *view.Frame) bool {
		a, b := f.Power["kube-node3"], f.Power["kube-node4"]
		return a.Stage == power.StageDone && b.Stage == power.StageDone && a.Busy == "" && b.Busy == "" && a.LeftOff && b.LeftOff
	})
	if f.Zero.IsZero() {
		t.Error("the clock has no zero")
	}
	if got := x.left(); len(got) != 2 {
		t.Errorf("left off: %v", got)
	}
	at := map[string]time.Time{}
	for _, e := range f.Events {
		if e.Lane == view.LanePower && e.At.Before(at[e.Subject]) {
			t.Errorf("%s: %q stands after what came later", e.Subject, e.Text)
		} else if e.Lane == view.LanePower {
			at[e.Subject] = e.At
		}
	}

	x.Send(view.AskQuit{})
	q = x.question("quit")
	if text := questionText(q); !strings.Contains(text, "The next start asks, or: `lightsout restore --state here`") {
		t.Errorf("the question does not say how they are brought back later:\n%s", text)
	}
	x.Send(view.Answer{Question: q.ID, Choice: "on"})
	x.waitEnd()
	if !x.board.is("kube-node3", power.On) || !x.board.is("kube-node4", power.On) || len(x.left()) != 0 {
		t.Errorf("left: %v, asked %v", x.left(), x.board.calls())
	}
}

func TestARefusalCantBeAnsweredAway(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{})
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-cp1"}})
	q := x.question("switch")
	if !q.Refused {
		t.Fatalf("not refused: %s", questionText(q))
	}
	x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	x.frame("the question gone", func(f *view.Frame) bool { return f.Question == nil })
	if calls := x.board.calls(); len(calls) != 0 {
		t.Errorf("switched all the same: %v", calls)
	}
}

func TestProductionWantsTheClustersName(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{Production: true})
	for _, try := range []struct {
		typed string
		calls int
	}{{"", 0}, {"mdy", 0}, {"mdx", 1}} {
		x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
		q := x.question("switch")
		if q.Type != "mdx" {
			t.Fatalf("the question wants %q typed", q.Type)
		}
		x.Send(view.Answer{Question: q.ID, Choice: "yes", Typed: try.typed})
		x.frame("an answer", func(f *view.Frame) bool {
			return f.Question == nil && (try.calls == 0 || f.Power["kube-node4"].Stage == power.StageDone)
		})
		if calls := x.board.calls(); len(calls) != try.calls {
			t.Fatalf("after typing %q: %v", try.typed, calls)
		}
	}
}

func TestReadOnlyAndDryRunSwitchNothing(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{ReadOnly: true})
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.frame("a notice", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "read-only") })

	y := startEmpty(t, session.Options{DryRun: true})
	y.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	q := y.question("switch")
	y.Send(view.Answer{Question: q.ID, Choice: "yes"})
	y.frame("the dry run's event", func(f *view.Frame) bool {
		return strings.Contains(f.Events[len(f.Events)-1].Text, "dry run")
	})
	if a, b := x.board.calls(), y.board.calls(); len(a)+len(b) != 0 {
		t.Errorf("switched: %v %v", a, b)
	}
}

func TestTheNextStartOffersWhatWasLeftOff(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	x := startSession(t, dir, b, session.Options{})
	x.press(power.ActionOff, "yes", "kube-node3")
	x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	x.stop()
	x.waitEnd()

	y := startSession(t, dir, b, session.Options{})
	q := y.leftOff()
	if !strings.Contains(questionText(q), "kube-node3") {
		t.Errorf("the question names no node: %s", questionText(q))
	}
	y.Send(view.Answer{Question: q.ID, Choice: "yes"})
	y.frame("nothing left off", func(f *view.Frame) bool { return f.Question == nil && len(y.left()) == 0 })
	if !b.is("kube-node3", power.On) {
		t.Error("not powered on")
	}
}

func TestAScreenThatReadsNothingHoldsNothingUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := startEmpty(t, session.Options{RecordWriter: newRecordWriter(t, dir)})
	const marks = 2000
	for i := range marks {
		x.Send(view.Remark{Text: fmt.Sprint(i)})
	}
	deadline := time.Now().Add(20 * time.Second)
	for { // nobody takes a frame meanwhile
		last := x.Timeline().Last(1)
		if len(last) == 1 && last[0].Text == fmt.Sprint(marks-1) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the engine is held up at %+v", last)
		}
		time.Sleep(time.Millisecond)
	}
	x.frame("the newest event", func(f *view.Frame) bool { return f.Events[len(f.Events)-1].Text == fmt.Sprint(marks-1) })
	x.Send(view.AskQuit{})
	x.waitEnd()
	if r, err := record.Open(dir); err != nil || len(r.Events) < marks || len(r.Torn) > 0 {
		t.Errorf("of %d events on disk %+v, %v", marks, r, err)
	}
}

func TestPoweringOnWhatIsOnIsNoQuestion(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{})
	x.frame("the machines", func(f *view.Frame) bool { return f.Power["kube-node1"].Reading.State == power.On })
	x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node1"}})
	f := x.frame("a notice", func(f *view.Frame) bool { return f.Notice.Text != "" || f.Question != nil })
	if f.Question != nil || f.Notice.Text != "kube-node1 is already on" {
		t.Errorf("the question is %+v, the notice %q", f.Question, f.Notice.Text)
	}
}

// A question names only the machines that it would change.
func TestAQuestionLeavesOutWhatIsSoAlready(t *testing.T) {
	t.Parallel()
	c := mdxSnapshot().Contents()
	for i, n := range c.Nodes {
		if n.Name == "kube-node3" {
			down := *n
			down.Ready = cluster.TriUnknown
			c.Nodes[i] = &down
		}
	}
	s := cluster.NewSnapshot(c)
	s.Link, s.Access = mdxSnapshot().Link, mdxSnapshot().Access
	for action, want := range map[power.Action][2]string{
		power.ActionOn: {"Power on kube-node3?", "kube-node4 is already on"}, power.ActionShutdown: {"Shut down kube-node4?", "kube-node3 is already off"},
	} {
		b := newBoard(workers...)
		b.state["kube-node3"] = power.Off
		x := run(t, t.TempDir(), b, b, &still{s: s, changed: make(chan struct{})}, session.Options{}, nil)
		x.frame("the machines", func(f *view.Frame) bool {
			return f.Power["kube-node3"].Reading.State == power.Off && f.Power["kube-node4"].Reading.State == power.On
		})
		x.Send(view.AskPower{Action: action, Nodes: []string{"kube-node3", "kube-node4"}})
		q := x.question("switch")
		f := x.frame("a notice", func(f *view.Frame) bool { return f.Notice.Text != "" })
		if q.Title != want[0] || f.Notice.Text != want[1] {
			t.Errorf("%s: the question is %q, the notice %q", action, q.Title, f.Notice.Text)
		}
		x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	}
}

func TestTheKubeletsOfTheNodesInAQuestionAreAsked(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	w := &still{s: mdxSnapshot(), changed: make(chan struct{})}
	x := run(t, t.TempDir(), b, b, w, session.Options{}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3"}})
	q := x.question("switch")
	if got := w.wanted.Load(); got == nil || !slices.Equal(*got, []string{"kube-node3"}) {
		t.Errorf("asked for the kubelets of %v", got)
	}
	x.Send(view.Answer{Question: q.ID, Choice: "no"})
}
