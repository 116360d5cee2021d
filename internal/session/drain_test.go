package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/power"
)

var _ session.Drainer = (*cluster.Client)(nil)

// drainer is a Drainer that keeps in which order things were asked for.
type drainer struct {
	mu       sync.Mutex
	log      []string
	cordoned map[string]bool
	// held is what holds the pods of a node; free lets them go.
	held map[string]string
	free chan struct{}
	// refused, if not nil, is the result of a drain.
	refused error
	refuses string // the node; empty: each
	// deaf: no uncordon gets through. slow, unless nil, is what each waits for.
	deaf bool
	slow chan struct{}
	// mayNot: the account may not patch nodes.
	mayNot bool
}

func newDrainer() *drainer {
	return &drainer{cordoned: map[string]bool{}, held: map[string]string{}, free: make(chan struct{})}
}

func (d *drainer) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *drainer) Cordon(_ context.Context, node string, before func() error) (bool, error) {
	d.mu.Lock()
	already := d.cordoned[node]
	d.mu.Unlock()
	if already {
		return false, nil
	}
	if err := before(); err != nil {
		return false, err
	}
	if d.mayNot {
		return false, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, node, nil)
	}
	d.note("cordon %s", node)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cordoned[node] = true
	return true, nil
}

func (d *drainer) Uncordon(ctx context.Context, node string) (bool, error) {
	if d.slow != nil {
		select {
		case <-d.slow:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		return false, errors.New("the API server does not answer")
	}
	was := d.cordoned[node]
	delete(d.cordoned, node)
	d.log = append(d.log, "uncordon "+node)
	return was, nil
}

func (d *drainer) Drain(ctx context.Context, node string, report func(cluster.DrainProgress)) error {
	d.note("drain %s", node)
	if d.refused != nil && (d.refuses == "" || d.refuses == node) {
		return d.refused
	}
	p := cluster.DrainProgress{Node: node, Held: map[cluster.Key]string{}}
	if why := d.held[node]; why != "" {
		p.Held[cluster.Key{Namespace: "default", Name: "web"}] = why
		report(p)
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s is not drained: %s", node, why)
		case <-d.free:
		}
		p.Held = nil
	}
	p.Gone = 4
	report(p)
	d.note("drained %s", node)
	return nil
}

func (d *drainer) calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

// now names the nodes that are cordoned.
func (d *drainer) now() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.cordoned))
}

// drainWorld is a world with a drainer, whose order has the machines' too.
func drainWorld(t *testing.T, d *drainer, opt session.Options) *world {
	t.Helper()
	opt.Drain = d
	w := startWorld(t, opt, nil)
	w.mu.Lock()
	w.switched = func(action, node string) { d.note("%s %s", action, node) }
	w.mu.Unlock()
	return w
}

// ask asks to shut nodes down and answers with choice.
func (w *world) confirm(choice string, nodes ...string) {
	w.x.t.Helper()
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: nodes})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: choice})
}

// before wants the events in that order, each once.
func before(t *testing.T, log []string, events ...string) {
	t.Helper()
	last := -1
	for _, e := range events {
		i := slices.Index(log, e)
		if i <= last {
			t.Errorf("%q is not where it should be in %q", e, log)
		}
		last = max(last, i)
	}
}

func TestADrainComesBetweenCordonAndShutdownAndIsUndoneOnReturn(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	w.confirm("drain", "kube-node3", "kube-node4")
	w.x.frame("both off", func(f *view.Frame) bool {
		a, b := f.Power["kube-node3"], f.Power["kube-node4"]
		return a.LeftOff && b.LeftOff && a.Busy == "" && b.Busy == "" && a.Stage == power.StageDone
	})
	log := d.calls()
	for _, n := range []string{"kube-node3", "kube-node4"} {
		// Both are cordoned before either is drained, and drained before either is shut down.
		before(t, log, "cordon "+n, "drain kube-node3", "shutdown "+n)
		before(t, log, "cordon "+n, "drain kube-node4", "shutdown "+n)
		before(t, log, "drained kube-node3", "shutdown "+n)
	}
	if got := w.x.leftCordoned(); !slices.Equal(got, []string{"kube-node3", "kube-node4"}) || slices.Contains(log, "uncordon kube-node3") {
		t.Errorf("left cordoned %v, %v", got, log)
	}
	w.x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node3"}})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	w.x.frame("it uncordoned", func(*view.Frame) bool { return slices.Equal(w.x.leftCordoned(), []string{"kube-node4"}) })
	before(t, d.calls(), "on kube-node3", "uncordon kube-node3")

	w.x.Send(view.AskQuit{})
	q := w.x.question("quit")
	if text := questionText(q); !strings.Contains(text, "kube-node4 (cordoned)") {
		t.Errorf("the question is\n%s", text)
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: "on"})
	w.x.waitEnd()
	if got := w.x.leftCordoned(); len(got) > 0 || len(d.now()) > 0 {
		t.Errorf("left cordoned: %v", got)
	}
}

// The drain of one of two nodes fails. That node stays on, and it alone has failed.
func TestOneOfTwoDrainsFails(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.refused, d.refuses = errors.New("somebody has uncordoned it"), "kube-node4"
	w := drainWorld(t, d, session.Options{})
	w.confirm("drain", "kube-node3", "kube-node4")
	f := w.x.frame("the end", func(f *view.Frame) bool {
		return f.Power["kube-node3"].LeftOff && len(f.Switching) == 0 && f.Power["kube-node3"].Busy == "" && f.Notice.Text != ""
	})
	if off := f.Power["kube-node3"]; off.Stage != power.StageDone {
		t.Errorf("the other node: %+v", off)
	}
	if on := f.Power["kube-node4"]; on.Stage != power.StageFailed || !strings.Contains(on.Text, "uncordoned it") || on.LeftOff || on.Busy != "" {
		t.Errorf("the node whose drain failed: %+v", on)
	}
	if !strings.Contains(f.Notice.Text, "kube-node4: somebody has uncordoned it") {
		t.Errorf("the notice is %q", f.Notice.Text)
	}
}

// lightsout cannot power on one of two nodes, and powers on the other one. The first has
// failed, and is not under way.
func TestOneOfTwoPowerOnsIsRefused(t *testing.T) {
	t.Parallel()
	for _, dryRun := range []bool{false, true} {
		b := newBoard(workers...)
		b.state["kube-node3"] = power.Off
		x := run(t, t.TempDir(), b, partBoard{b}, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{DryRun: dryRun}, nil)
		x.frame("the machines", func(f *view.Frame) bool { return !f.Power["kube-node3"].Reading.Arrived.IsZero() })
		x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node3", "kube-node4"}})
		x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
		f := x.frame("the end", func(f *view.Frame) bool {
			return f.Question == nil && len(f.Switching) == 0 && f.Power["kube-node3"].Busy == "" && f.Power["kube-node4"].Stage == power.StageFailed
		})
		if v := f.Power["kube-node4"]; v.Busy != "" || !strings.Contains(v.Text, "the board cannot switch kube-node4") {
			t.Errorf("dry run %v: %+v", dryRun, v)
		}
		if v := f.Power["kube-node3"]; !dryRun && v.Stage != power.StageDone {
			t.Errorf("the other node: %+v", v)
		}
		if next := strings.Join(f.Next, "; "); strings.Contains(next, "kube-node4") {
			t.Errorf("the screen waits for %q", next)
		}
	}
}

func TestTheDrainIsOfferedOnlyWhereItHelps(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	ids := func(a power.Action, node string) (out []string) {
		w.x.Send(view.AskPower{Action: a, Nodes: []string{node}})
		q := w.x.question("switch")
		for _, c := range q.Choices {
			out = append(out, c.ID)
		}
		w.x.Send(view.Answer{Question: q.ID, Choice: "no"})
		w.x.frame("the question gone", func(f *view.Frame) bool { return f.Question == nil })
		return out
	}
	for _, c := range []struct {
		action power.Action
		node   string
		want   string
	}{
		{power.ActionShutdown, "kube-node4", "no yes drain"},
		{power.ActionOff, "kube-node4", "no yes"},
		{power.ActionShutdown, "kube-cp1", "no"},
	} {
		if got := strings.Join(ids(c.action, c.node), " "); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.action, c.node, got, c.want)
		}
	}
	y := drainWorld(t, d, session.Options{DryRun: true})
	y.confirm("drain", "kube-node4")
	y.x.frame("the dry run's word", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Text, "dry run: shutdown") })
	})
	if log := d.calls(); len(log) > 0 {
		t.Errorf("done: %v", log)
	}
	z := drainWorld(t, d, session.Options{Production: true})
	z.confirm("drain", "kube-node4") // without the name typed
	z.x.frame("the question gone", func(f *view.Frame) bool { return f.Question == nil })
	z.confirm("no", "kube-node4")
	if log := d.calls(); len(log) > 0 {
		t.Errorf("done: %v", log)
	}
}

const budget = "pod default/web can't be evicted: the disruption budget keep-all needs 16 healthy pods"

// heldUp starts a drain that is held, and lets time pass until it is asked about.
func heldUp(t *testing.T) (*world, *drainer, *view.Question) {
	d := newDrainer()
	d.held["kube-node3"] = budget
	var ahead atomic.Int64
	w := drainWorld(t, d, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w.confirm("drain", "kube-node3")
	f := w.x.frame("what holds it", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node3"].Text, "keep-all") })
	if f.Question != nil {
		t.Errorf("asked at once: %+v", f.Question)
	}
	ahead.Store(int64(session.HeldLimit))
	q := w.x.question("drain")
	if q.Title != "The drain of kube-node3 is blocked" || !strings.Contains(questionText(q), budget) || q.Choices[0].ID != "wait" {
		t.Errorf("the question is %+v", q)
	}
	return w, d, q
}

func TestAHeldDrainCanBeLeft(t *testing.T) {
	t.Parallel()
	w, d, q := heldUp(t)
	w.x.Send(view.Answer{Question: q.ID, Choice: "wait"})
	w.x.frame("the question gone", func(f *view.Frame) bool { return f.Question == nil })
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3"}}) // the key that began it leads back
	w.x.Send(view.Answer{Question: w.x.question("drain").ID, Choice: "leave"})
	w.x.frame("it uncordoned", func(f *view.Frame) bool { return len(w.x.leftCordoned()) == 0 && f.Power["kube-node3"].Busy == "" })
	if log := d.calls(); !slices.Equal(log, []string{"cordon kube-node3", "drain kube-node3", "uncordon kube-node3"}) {
		t.Errorf("done: %q", log)
	}
}

// A node that reboots while lightsout drains it stays cordoned. After the drain lightsout asks again.
func TestARebootDuringADrainUncordonsNothing(t *testing.T) {
	t.Parallel()
	w, d, _ := heldUp(t)
	w.turn("kube-node3", true)
	w.x.frame("it silent", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node3").Ready != cluster.TriTrue })
	w.turn("kube-node3", false)
	w.x.frame("its new boot", func(f *view.Frame) bool {
		n := f.Snapshot.Node("kube-node3")
		return n.Ready == cluster.TriTrue && n.BootID != "boot-kube-node3"
	})
	close(d.free)
	q := w.x.question("switch")
	if text := questionText(q); !strings.Contains(text, "kube-node3 has booted again") {
		t.Errorf("%s", text)
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	log := d.calls()
	before(t, log, "drained kube-node3", "shutdown kube-node3")
	if slices.Contains(log, "uncordon kube-node3") {
		t.Errorf("done: %q", log)
	}
}

// It reboots once more while the question after the drain is open: it stays cordoned.
func TestARebootAfterADrainUncordonsNothing(t *testing.T) {
	t.Parallel()
	w, d, _ := heldUp(t)
	reboot := func(was string) string {
		w.turn("kube-node3", true)
		w.x.frame("it silent", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node3").Ready != cluster.TriTrue })
		w.turn("kube-node3", false)
		return w.x.frame("its new boot", func(f *view.Frame) bool {
			n := f.Snapshot.Node("kube-node3")
			return n.Ready == cluster.TriTrue && n.BootID != was
		}).Snapshot.Node("kube-node3").BootID
	}
	boot := reboot("boot-kube-node3")
	close(d.free)
	asked := w.x.question("switch").ID
	reboot(boot)
	w.x.Send(view.Answer{Question: asked, Choice: "yes"})
	w.x.frame("it off", func(f *view.Frame) bool {
		if q := f.Question; q != nil && q.ID != asked { // it has booted again, again
			asked = q.ID
			w.x.Send(view.Answer{Question: asked, Choice: "yes"})
		}
		return f.Power["kube-node3"].LeftOff
	})
	before(t, d.calls(), "drained kube-node3", "shutdown kube-node3")
	if log := d.calls(); slices.Contains(log, "uncordon kube-node3") {
		t.Errorf("done: %q", log)
	}
}

// A node that reboots between a trial's drain and its power-off stays cordoned.
func TestARebootBetweenDrainAndPowerOffUncordonsNothing(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	plan := parse(t, "name: x\ndeployment: default/llm\nsteps:\n  - drain: {nodes: [kube-node3], within: 20s}\n  - pause: 3s\n  - off: [kube-node3]\n  - wait: {for: detected, within: 20s}\n  - on: [kube-node3]\n  - wait: {for: ready, within: 20s}\n")
	w.x.Start(plan, trial.RunOptions{Auto: true, End: true})
	w.x.frame("paused", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 1 })
	w.turn("kube-node3", true)
	w.x.frame("it silent", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node3").Ready != cluster.TriTrue })
	w.turn("kube-node3", false)
	w.outcome(t)
	log := d.calls()
	before(t, log, "shutdown kube-node3", "uncordon kube-node3")
}

func TestAHeldDrainCanBeCutShort(t *testing.T) {
	t.Parallel()
	w, d, q := heldUp(t)
	w.x.Send(view.Answer{Question: q.ID, Choice: "cut"})
	w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	before(t, d.calls(), "cordon kube-node3", "drain kube-node3", "shutdown kube-node3")
}

func TestTheQuestionGoesWhenTheBudgetLetsGo(t *testing.T) {
	t.Parallel()
	w, d, _ := heldUp(t)
	close(d.free)
	f := w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	if f.Question != nil {
		t.Errorf("still asked: %+v", f.Question)
	}
	before(t, d.calls(), "drained kube-node3", "shutdown kube-node3")
}

// Whoever is asked about leaving in a drain is asked about the machine when it
// has gone off meanwhile, and an answer to the first question leaves nothing.
func TestTheQuestionAboutLeavingFollowsWhatIsThere(t *testing.T) {
	t.Parallel()
	w, d, held := heldUp(t)
	w.x.Send(view.Answer{Question: held.ID, Choice: "wait"})
	w.x.Send(view.AskQuit{})
	old := w.x.question("quit")
	if old.Title != "Leave while nodes are being drained?" {
		t.Errorf("the question is %+v", old)
	}
	close(d.free)
	q := w.x.frame("another question", func(f *view.Frame) bool {
		return f.Question != nil && strings.Contains(questionText(f.Question), "kube-node3") && f.Power["kube-node3"].Stage == power.StageDone
	}).Question
	if q.Title != "Leave with machines off?" || q.ID == old.ID {
		t.Errorf("the question is %+v, was %+v", q, old)
	}
	w.x.Send(view.Answer{Question: old.ID, Choice: "leave"})
	w.x.Send(view.Answer{Question: q.ID, Choice: "on"})
	w.x.waitEnd()
	if len(w.x.left()) > 0 || len(w.x.leftCordoned()) > 0 {
		t.Errorf("left off %v, cordoned %v", w.x.left(), w.x.leftCordoned())
	}
}

// slowNotes is a power.NoteStore that waits for an answer before each note.
type slowNotes struct{ noting, on chan struct{} }

func (m slowNotes) Change(context.Context, string, func(power.Note) (power.Note, bool)) error {
	select {
	case m.noting <- struct{}{}:
	default:
	}
	<-m.on
	return nil
}

// Between the end of a drain and the first packet nothing is off, and what is
// agreed to is still under way: who is asked about leaving is not taken at a word
// that was not said.
func TestWhatIsAgreedToKeepsTheQuestionAboutLeaving(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.cordoned["kube-node3"], d.held["kube-node3"] = true, budget // by somebody else
	notes := slowNotes{noting: make(chan struct{}, 1), on: make(chan struct{})}
	w := drainWorld(t, d, session.Options{Annotations: notes})
	on := sync.OnceFunc(func() { close(notes.on) })
	t.Cleanup(on)
	w.confirm("drain", "kube-node3")
	w.x.frame("what holds it", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node3"].Text, "keep-all") })
	w.x.Send(view.AskQuit{})
	w.x.question("quit")
	close(d.free)
	<-notes.noting
	w.x.frame("another question", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Title == "Leave while machines are being switched?"
	})
	on()
	f := w.x.frame("it off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Question != nil })
	if f.Question.Title != "Leave with machines off?" {
		t.Errorf("the question is %+v", f.Question)
	}
}

func TestWhatOthersHaveCordonedStaysSo(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.cordoned["kube-node3"] = true
	w := drainWorld(t, d, session.Options{})
	w.confirm("drain", "kube-node3", "kube-node4")
	w.x.frame("both off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Power["kube-node4"].LeftOff })
	w.x.Send(view.AskQuit{})
	w.x.Send(view.Answer{Question: w.x.question("quit").ID, Choice: "on"})
	w.x.waitEnd()
	if !slices.Equal(d.now(), []string{"kube-node3"}) {
		t.Errorf("cordoned at the end: %v; %q", d.now(), d.calls())
	}
}

func TestAShutdownThatDoesNotHappenIsUncordoned(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	w.mu.Lock()
	w.refuse = true
	w.mu.Unlock()
	w.confirm("drain", "kube-node3")
	w.x.frame("it refused", func(f *view.Frame) bool { return f.Power["kube-node3"].Stage == power.StageFailed })
	w.x.frame("it uncordoned", func(f *view.Frame) bool { return len(w.x.leftCordoned()) == 0 })
	if len(d.now()) > 0 || len(w.x.left()) > 0 {
		t.Errorf("still cordoned: %q, left off %v", d.calls(), w.x.left())
	}
}

func TestACordonLeftBehindIsOfferedAtTheNextStart(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.cordoned["kube-node3"] = true
	dir := t.TempDir()
	j := power.OpenJournal(dir, power.Cluster{Name: "mdx"}, "")
	if err := j.Cordoned("kube-node3", "before a drain"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	d.deaf = true
	x := startSession(t, dir, newBoard(workers...), session.Options{Drain: d})
	q := x.question("restore")
	if q.Title != "Nodes are still cordoned" || !strings.Contains(questionText(q), "kube-node3") {
		t.Errorf("the question is\n%s", questionText(q))
	}
	x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	x.frame("how to do it by hand", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "kubectl uncordon kube-node3") })
	d.mu.Lock()
	d.deaf = false
	d.mu.Unlock()
	x.Send(view.AskQuit{})
	x.Send(view.Answer{Question: x.question("quit").ID, Choice: "undo"})
	x.waitEnd()
	if len(x.leftCordoned()) > 0 || len(d.now()) > 0 {
		t.Errorf("left cordoned: %v", x.leftCordoned())
	}
}

const drainPlan = `
name: drained
deployment: default/llm
steps:
  - cordon: [kube-node3]
  - drain: {nodes: [kube-node3, kube-node4], within: WITHIN}
  - off: [kube-node3, kube-node4]
  - wait: {for: detected, within: 20s}
  - on: [kube-node3, kube-node4]
  - wait: {for: ready, within: 20s}
  - uncordon: [kube-node3]
`

func TestATrialDrainsAndUncordons(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	w.x.Start(parse(t, strings.Replace(drainPlan, "WITHIN", "20s", 1)), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.NoExpectations || len(d.now()) > 0 || len(w.x.leftCordoned()) > 0 {
		t.Errorf("%s: %v; cordoned %v, left %v", sum.Verdict, sum.Why, d.now(), w.x.leftCordoned())
	}
	log := d.calls()
	before(t, log, "cordon kube-node3", "cordon kube-node4", "drain kube-node3", "shutdown kube-node3", "on kube-node3", "uncordon kube-node3")
	before(t, log, "drain kube-node4", "shutdown kube-node4", "on kube-node4", "uncordon kube-node4")
}

func TestADrainStepThatIsNotOverFailsAndNamesTheBudget(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.held["kube-node4"] = budget
	w := drainWorld(t, d, session.Options{})
	w.x.Start(parse(t, strings.Replace(drainPlan, "WITHIN", "300ms", 1)), trial.RunOptions{Auto: true, End: true})
	sum, dir := w.outcome(t)
	if st := sum.Steps[1]; st.State != view.StepFailed || !strings.Contains(st.Text, "keep-all") || !strings.Contains(st.Text, "not complete within") {
		t.Errorf("the step: %+v", st)
	}
	if len(d.now()) > 0 || len(w.x.leftCordoned()) > 0 || !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) {
		t.Errorf("cordoned %v, left %v, done %q", d.now(), w.x.leftCordoned(), d.calls())
	}
	if b, err := os.ReadFile(filepath.Join(dir, record.EventsFile)); err != nil || !strings.Contains(string(b), "keep-all") {
		t.Errorf("the record does not tell of it: %v", err)
	}
}

func TestAbortGivesADrainUp(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.held["kube-node4"] = budget
	w := drainWorld(t, d, session.Options{})
	w.x.Start(parse(t, strings.Replace(drainPlan, "WITHIN", "1h", 1)), trial.RunOptions{Auto: true, End: true})
	w.x.frame("what holds it", func(f *view.Frame) bool { return f.Trial != nil && strings.Contains(f.Trial.Doing, "keep-all") })
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	sum, _ := w.outcome(t)
	if sum.Verdict != view.Aborted || len(d.now()) > 0 || len(w.x.leftCordoned()) > 0 || !w.is("kube-node3", power.On) {
		t.Errorf("%s; cordoned %v, left %v, done %q", sum.Verdict, d.now(), w.x.leftCordoned(), d.calls())
	}
}

func TestTheEndOfATrialWaitsForUncordonsAfterALongPowerOn(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.slow = make(chan struct{})
	var ahead atomic.Int64
	w := drainWorld(t, d, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	w.mu.Lock()
	w.switched = func(action, _ string) {
		if action == string(power.ActionOn) {
			ahead.Store(int64(time.Minute))
		}
	}
	w.mu.Unlock()
	w.x.Start(parse(t, "name: kept\ndeployment: default/llm\nsteps:\n  - cordon: [kube-node2]\n  - off: [kube-node3]\n  - pause: 1h\n"), trial.RunOptions{Auto: true, End: true})
	w.x.frame("it off", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 2 && f.Power["kube-node3"].LeftOff })
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.frame("that the uncordon is waited for", func(f *view.Frame) bool { return strings.Contains(f.Trial.Doing, "uncordoning kube-node2") })
	close(d.slow)
	if sum, _ := w.outcome(t); sum.Verdict != view.Aborted || len(d.now()) > 0 || len(w.x.leftCordoned()) > 0 {
		t.Errorf("%s; cordoned %v, left %v", sum.Verdict, d.now(), w.x.leftCordoned())
	}
}

// Only a drain that ran out of time is reported as one.
func TestAForbiddenDrainStepReportsTheReason(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.refused = errors.New("the account may not evict pods (403)")
	w := drainWorld(t, d, session.Options{})
	w.x.Start(parse(t, strings.Replace(drainPlan, "WITHIN", "20s", 1)), trial.RunOptions{Auto: true, End: true})
	sum, _ := w.outcome(t)
	if st := sum.Steps[1]; st.State != view.StepFailed || !strings.Contains(st.Text, "(403)") || strings.Contains(st.Text, "not complete within") {
		t.Errorf("the step: %+v", st)
	}
}

// Without the right to patch nodes nobody cordons the node, and lightsout does not report
// that its cordon has gone.
func TestADrainWithoutTheRightToPatchNodesReportsThatNobodyCordoned(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.mayNot = true
	w := drainWorld(t, d, session.Options{})
	w.confirm("drain", "kube-node3")
	f := w.x.frame("the end", func(f *view.Frame) bool {
		return len(f.Switching) == 0 && f.Power["kube-node3"].Stage == power.StageFailed && f.Notice.Text != ""
	})
	for what, got := range map[string]string{"the notice": f.Notice.Text, "the node": f.Power["kube-node3"].Text} {
		if !strings.Contains(got, "the account may not patch nodes, so lightsout has not cordoned kube-node3") {
			t.Errorf("%s: %q", what, got)
		}
	}
	w.x.Send(view.AskQuit{})
	w.x.waitEnd()
	if log := d.calls(); len(log) > 0 || len(w.x.leftCordoned()) > 0 {
		t.Errorf("done: %q; left cordoned %v", log, w.x.leftCordoned())
	}
}

// slowCordon is a drainer whose API server answers a cordon late, and carries it out in any case.
type slowCordon struct {
	*drainer
	began, free chan struct{}
}

func (d *slowCordon) Cordon(ctx context.Context, node string, before func() error) (bool, error) {
	if err := before(); err != nil {
		return false, err
	}
	close(d.began)
	select {
	case <-d.free:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cordoned[node] = true
	return true, ctx.Err()
}

// An aborted trial uncordons also the node whose cordon was under way, before its verdict, whether the session then ends or
// not.
func TestAnAbortUncordonsTheNodeThatIsBeingCordoned(t *testing.T) {
	for _, step := range []string{"cordon", "drain"} {
		for _, end := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, end %t", step, end), func(t *testing.T) {
				t.Parallel()
				d := &slowCordon{newDrainer(), make(chan struct{}), make(chan struct{})}
				w := startWorld(t, session.Options{Drain: d}, nil)
				w.x.Start(parse(t, "name: kept\ndeployment: default/llm\nsteps:\n  - "+step+": [kube-node2]\n  - off: [kube-node3]\n  - pause: 1h\n"), trial.RunOptions{Auto: true, End: end})
				<-d.began
				w.x.Send(view.AbortTrial{Why: "by a signal"})
				time.AfterFunc(1500*time.Millisecond, func() { close(d.free) })
				w.x.frame("the verdict", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Verdict != "" })
				if left := w.x.leftCordoned(); len(d.now()) > 0 || len(left) > 0 {
					t.Errorf("cordoned after the verdict: %v, in the journal %v", d.now(), left)
				}
			})
		}
	}
}

// "Cancel the drain, then leave" powers on no machine: lightsout stays if one that is about to go
// off has gone off.
func TestCancellingADrainPowersNothingOn(t *testing.T) {
	d := newDrainer()
	d.held["kube-node4"] = budget
	notes := slowNotes{noting: make(chan struct{}, 1), on: make(chan struct{})}
	w := drainWorld(t, d, session.Options{Annotations: notes})
	annotated := sync.OnceFunc(func() { close(notes.on) })
	t.Cleanup(annotated)
	w.confirm("drain", "kube-node4")
	w.x.frame("what holds it", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node4"].Text, "keep-all") })
	w.confirm("yes", "kube-node3")
	<-notes.noting
	w.x.Send(view.AskQuit{})
	q := w.x.question("quit")
	_, off, _ := strings.Cut(questionText(q), "Being switched off:")
	if !strings.Contains(off, "kube-node3") || strings.Contains(off, "kube-node4") {
		t.Errorf("the question must list only kube-node3 as going off:\n%s", questionText(q))
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: "undo"})
	w.x.frame("the drain is cancelled", func(f *view.Frame) bool { return f.Question == nil && f.Power["kube-node4"].Stage == power.StageFailed })
	annotated()
	w.x.frame("lightsout stays", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "kube-node3 is still off") })
	if slices.Contains(d.calls(), "on kube-node3") {
		t.Errorf("%q", d.calls())
	}
}

// If the operator cancels a drain before lightsout leaves, all its nodes stay on, also one that was
// drained and waited for another.
func TestCancellingADrainKeepsAllItsNodesOn(t *testing.T) {
	for choice, off := range map[string][]string{"undo": nil, "on": {"kube-node2"}} {
		d := newDrainer()
		d.held["kube-node4"] = budget
		w := drainWorld(t, d, session.Options{})
		for _, n := range off {
			w.confirm("yes", n)
			w.x.frame("the machine is off", func(f *view.Frame) bool { return f.Power[n].LeftOff && f.Power[n].Busy == "" })
		}
		w.confirm("drain", "kube-node3", "kube-node4")
		w.x.frame("one is drained, and one is held", func(f *view.Frame) bool {
			return strings.Contains(f.Power["kube-node4"].Text, "keep-all") && f.Power["kube-node3"].Busy == ""
		})
		w.x.Send(view.AskQuit{})
		q := w.x.question("quit")
		if text := questionText(q); !strings.Contains(text, "if the drain is cancelled, they stay on") || !strings.Contains(text, "kube-node3") {
			t.Errorf("the question does not list the nodes of the drain:\n%s", text)
		}
		w.x.Send(view.Answer{Question: q.ID, Choice: choice})
		w.x.waitEnd()
		if calls := d.calls(); slices.Contains(calls, "shutdown kube-node3") || len(w.x.left()) > 0 || len(w.x.leftCordoned()) > 0 {
			t.Errorf("%s: %q, left off %q", choice, calls, w.x.left())
		}
	}
}

// A power-on that "Power on, then leave" has left for later uncordons no node that is drained since.
func TestALatePowerOnUncordonsNoOtherNode(t *testing.T) {
	d := newDrainer()
	d.held["kube-node2"] = budget
	notes := slowNotes{noting: make(chan struct{}, 9), on: make(chan struct{})}
	w := drainWorld(t, d, session.Options{Annotations: notesOf{"kube-node4": notes}})
	w.confirm("yes", "kube-node3")
	w.x.frame("the machine is off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	w.confirm("yes", "kube-node4")
	<-notes.noting
	w.x.Send(view.AskQuit{})
	q := w.x.frame("a question that names both", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Kind == view.QuestionQuit && strings.Contains(questionText(f.Question), "kube-node4")
	}).Question
	w.board.forget("kube-node3")
	w.x.Send(view.Answer{Question: q.ID, Choice: "on"})
	w.x.frame("lightsout stays", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "does not leave: kube-node3") })
	w.confirm("drain", "kube-node2")
	w.x.frame("what holds it", func(f *view.Frame) bool { return strings.Contains(f.Power["kube-node2"].Text, "keep-all") })
	close(notes.on)
	w.x.frame("kube-node4 is on again", func(f *view.Frame) bool { return slices.Contains(w.board.calls(), "on kube-node4") })
	if !slices.Contains(d.now(), "kube-node2") {
		t.Errorf("kube-node2 is uncordoned while lightsout drains it: %q", d.calls())
	}
}

// unansweredDrainer's drains get no answer.
type unansweredDrainer struct{ *drainer }

func (d *unansweredDrainer) Drain(ctx context.Context, node string, _ func(cluster.DrainProgress)) error {
	d.note("drain %s", node)
	<-ctx.Done()
	return ctx.Err()
}

// A drain that gets no answer is shown as such, and the operator is asked what to do.
func TestADrainWithoutAnAnswerIsAskedAbout(t *testing.T) {
	t.Parallel()
	d := &unansweredDrainer{newDrainer()}
	var ahead atomic.Int64
	w := startWorld(t, session.Options{Drain: d, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}, nil)
	w.confirm(view.ChoiceDrain, "kube-node3")
	w.x.frame("the wait", func(f *view.Frame) bool {
		return strings.Contains(f.Power["kube-node3"].Text, "waiting for the API server")
	})
	ahead.Store(int64(session.HeldLimit))
	if q := w.x.question("drain"); !strings.Contains(questionText(q), "has not answered yet") {
		t.Errorf("the question is %+v", q)
	}
}

// A machine that does not come on at the end of a trial keeps no other node cordoned.
func TestAStuckMachineDelaysNoUncordon(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	w := drainWorld(t, d, session.Options{})
	w.x.Start(parse(t, "name: kept\ndeployment: default/llm\nsteps:\n  - cordon: [kube-node2]\n  - off: [kube-node3]\n  - pause: 1h\n"), trial.RunOptions{Auto: true, End: true})
	w.x.frame("it off", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Next == 2 && f.Power["kube-node3"].LeftOff })
	release := make(chan struct{})
	w.mu.Lock()
	w.switched = func(action, node string) {
		if action == string(power.ActionOn) {
			<-release
		}
	}
	w.mu.Unlock()
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.frame("it uncordoned", func(*view.Frame) bool { return len(d.now()) == 0 })
	close(release)
	if sum, _ := w.outcome(t); sum.Verdict != view.Aborted || len(w.x.leftCordoned()) > 0 {
		t.Errorf("%s %v", sum.Verdict, d.calls())
	}
}
