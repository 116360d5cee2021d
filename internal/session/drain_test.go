package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lightsout/cluster"
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
	p := cluster.DrainProgress{Held: map[cluster.Key]string{}}
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
	w.x.press(power.ActionShutdown, choice, nodes...)
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
	w.x.press(power.ActionOn, "yes", "kube-node3")
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
	if got := w.x.PoweredOn(); !slices.Equal(got, []string{"kube-node4"}) {
		t.Errorf("powered on before leaving: %v", got)
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
	if f.Power["kube-node3"].Stage != power.StageBlocked || len(f.Next) == 0 || f.Next[0] != "drain of kube-node3 is blocked · s on kube-node3 asks again" {
		t.Errorf("%+v, next %q", f.Power["kube-node3"], f.Next)
	}
	ahead.Store(int64(session.HeldLimit))
	q := w.x.question("drain")
	if q.Title != "The drain of kube-node3 is blocked" || !strings.Contains(questionText(q), budget) || q.Choices[0].ID != "wait" {
		t.Errorf("the question is %+v", q)
	}
	return w, d, q
}

func TestAHeldDrainIsLeftCutShortOrGoesOn(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string][]string{
		"leave": {"cordon kube-node3", "drain kube-node3", "uncordon kube-node3"},
		"cut":   {"cordon kube-node3", "drain kube-node3", "shutdown kube-node3"},
		"wait":  {"cordon kube-node3", "drain kube-node3", "drained kube-node3", "shutdown kube-node3"},
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			w, d, q := heldUp(t)
			w.x.Send(view.Answer{Question: q.ID, Choice: choice})
			if choice == "wait" {
				close(d.free)
			}
			f := w.x.frame("the end", func(f *view.Frame) bool {
				return f.Power["kube-node3"].Busy == "" && (f.Power["kube-node3"].LeftOff || len(w.x.leftCordoned()) == 0)
			})
			if log := d.calls(); !slices.Equal(log, want) || f.Question != nil {
				t.Errorf("done: %q, question %+v", log, f.Question)
			}
			if choice == "leave" { // as asked: nothing failed
				f = w.x.frame("the request's end", func(f *view.Frame) bool { return len(f.Switching) == 0 })
				if f.Notice.Level != view.Info || !strings.Contains(f.Notice.Text, "the node stays on") {
					t.Errorf("the notice is %+v", f.Notice)
				}
			}
		})
	}
}

// A blocked drain asks by itself once. After "Keep waiting" it asks when the operator does what the screen names.
func TestABlockedDrainAsksByItselfOnce(t *testing.T) {
	t.Parallel()
	nodes := []string{"kube-node3"}
	for again, c := range map[string]struct {
		begin view.Intent
		kind  view.QuestionKind
		yes   string
	}{
		"s on kube-node3":   {view.AskPower{Action: power.ActionShutdown, Nodes: nodes}, view.QuestionSwitch, view.ChoiceDrain},
		":drain kube-node3": {view.AskNodes{Act: view.ActDrain, Nodes: nodes}, view.QuestionDrain, view.ChoiceYes},
	} {
		t.Run(again, func(t *testing.T) {
			t.Parallel()
			d := newDrainer()
			d.held["kube-node3"] = budget
			var ahead atomic.Int64
			w := drainWorld(t, d, session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
			w.x.Send(c.begin)
			w.x.answer(c.kind, c.yes)
			w.x.frame("what holds it", func(f *view.Frame) bool {
				return slices.Equal(f.Next[:min(1, len(f.Next))], []string{"drain of kube-node3 is blocked · " + again + " asks again"})
			})
			ahead.Store(int64(session.HeldLimit))
			q := w.x.question(view.QuestionDrain)
			if text := questionText(q); !strings.Contains(text, "Keep waiting: lightsout asks no more by itself; "+again+" asks again.") {
				t.Errorf("the question is\n%s", text)
			}
			w.x.Send(view.Answer{Question: q.ID, Choice: "wait"})
			w.x.frame("the question gone", func(f *view.Frame) bool { return f.Question == nil })
			ahead.Store(int64(time.Hour))
			f := w.x.frame("an hour later", func(f *view.Frame) bool {
				return slices.ContainsFunc(f.Events, func(e view.Event) bool { return e.Code == view.CodeProgramPaused && e.Seconds > 60 })
			})
			if f.Question != nil || len(f.Next) == 0 || !strings.Contains(f.Next[0], again) {
				t.Errorf("next %q, question %+v", f.Next, f.Question)
			}
			w.x.Send(c.begin)
			w.x.answer(view.QuestionDrain, "leave")
			w.x.frame("its end", func(f *view.Frame) bool { return hasCode(f, view.CodeDrainCancelled, "kube-node3") })
		})
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
	if q.Title != "Leave with machines off, or going off?" || q.ID == old.ID {
		t.Errorf("the question is %+v, was %+v", q, old)
	}
	w.x.Send(view.Answer{Question: old.ID, Choice: "leave"})
	w.x.Send(view.Answer{Question: q.ID, Choice: "on"})
	w.x.waitEnd()
	if len(w.x.left()) > 0 || len(w.x.leftCordoned()) > 0 {
		t.Errorf("left off %v, cordoned %v", w.x.left(), w.x.leftCordoned())
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
	w.x.answer("quit", "on")
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

// Nobody is asked about a cordon that the operator wanted itself: not at the next start, and not on leaving.
func TestACordonLeftBehindIsOfferedAtTheNextStart(t *testing.T) {
	t.Parallel()
	d := newDrainer()
	d.cordoned["kube-node3"], d.cordoned["kube-node4"] = true, true
	dir := t.TempDir()
	j := power.OpenJournal(dir, power.Cluster{Name: "mdx"}, "")
	if err := errors.Join(j.Cordoned("kube-node3", power.ActionShutdown, "before a drain"), j.Cordoned("kube-node4", "", "by the operator")); err != nil {
		t.Fatal(err)
	}
	j.Close()
	d.deaf = true
	x := startSession(t, dir, newBoard(workers...), session.Options{Drain: d})
	q := x.question("restore")
	if q.Title != "Uncordon what lightsout cordoned?" || !strings.Contains(questionText(q), "kube-node3") || strings.Contains(questionText(q), "kube-node4") {
		t.Errorf("the question is\n%s", questionText(q))
	}
	x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	x.frame("how to do it by hand", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "kubectl uncordon kube-node3") })
	d.mu.Lock()
	d.deaf = false
	d.mu.Unlock()
	x.Send(view.AskQuit{})
	x.answer("quit", "undo")
	x.waitEnd()
	if want := []string{"kube-node4"}; !slices.Equal(x.leftCordoned(), want) || !slices.Equal(d.now(), want) {
		t.Errorf("left cordoned: %v", x.leftCordoned())
	}
	x = startSession(t, dir, newBoard(workers...), session.Options{Drain: d})
	x.frame("the cluster", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskNodes{Act: view.ActCordon, Nodes: []string{"kube-node3"}})
	x.frame("the cordon", func(f *view.Frame) bool { return hasCode(f, view.CodeCordoned, "kube-node3") })
	x.Send(view.AskQuit{})
	x.waitEnd()
	if want := []string{"kube-node3", "kube-node4"}; !slices.Equal(x.leftCordoned(), want) {
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

// Only a drain that ran out of time is reported as one.
func TestADrainStepThatFailsHasTheReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drain  func(*drainer)
		within string
		want   []string
	}{
		"held":      {func(d *drainer) { d.held["kube-node4"] = budget }, "300ms", []string{"keep-all", "not complete within"}},
		"forbidden": {func(d *drainer) { d.refused = errors.New("the account may not evict pods (403)") }, "20s", []string{"(403)"}},
	} {
		d := newDrainer()
		c.drain(d)
		w := drainWorld(t, d, session.Options{})
		w.x.Start(parse(t, strings.Replace(drainPlan, "WITHIN", c.within, 1)), trial.RunOptions{Auto: true, End: true})
		sum, _ := w.outcome(t)
		st := sum.Steps[1]
		for _, want := range c.want {
			if st.State != view.StepFailed || !strings.Contains(st.Text, want) || strings.Contains(st.Text, "not complete") != (name == "held") {
				t.Errorf("%s: the step: %+v", name, st)
			}
		}
		if len(d.now()) > 0 || len(w.x.leftCordoned()) > 0 || !w.is("kube-node3", power.On) || !w.is("kube-node4", power.On) {
			t.Errorf("%s: cordoned %v, left %v, done %q", name, d.now(), w.x.leftCordoned(), d.calls())
		}
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

// If the operator cancels a drain before lightsout leaves, all its nodes stay on, also one that was
// drained and waited for another.
func TestCancellingADrainKeepsAllItsNodesOn(t *testing.T) {
	for choice, off := range map[string][]string{"undo": nil, "on": {"kube-node2"}} {
		d := newDrainer()
		d.held["kube-node4"] = budget
		w := drainWorld(t, d, session.Options{})
		for _, n := range off {
			w.confirm("yes", n)
			w.x.off(n)
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
