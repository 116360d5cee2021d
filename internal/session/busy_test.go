package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/trial"
	"lightsout/internal/view"
	"lightsout/power"
)

// hang makes the shutdown of a node block until the test calls the returned function.
func (b *board) hang(node string) (obey func()) {
	release := make(chan struct{})
	b.mu.Lock()
	b.hanging = map[string]chan struct{}{node: release}
	b.mu.Unlock()
	return func() { close(release) }
}

// While one machine is shutting down, leaving powers on the others at once, and that
// one when its shutdown has ended; meanwhile the screen never shows it as on.
func TestPowerOnThenLeaveWhileAnotherIsGoingDown(t *testing.T) {
	t.Parallel()
	x := startSession(t, t.TempDir(), newBoard(workers...), session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("the machine is off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	obey := x.board.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("the machine shuts down", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == power.ActionShutdown })
	x.Send(view.AskQuit{})
	q := x.frame("a question that names both", func(f *view.Frame) bool { // the journal may not have the intent yet
		return f.Question != nil && strings.Contains(questionText(f.Question), "kube-node3") && strings.Contains(questionText(f.Question), "kube-node4")
	}).Question
	x.Send(view.Answer{Question: q.ID, Choice: "on"})
	x.frame("kube-node3 is on, and lightsout waits for kube-node4", func(f *view.Frame) bool {
		if f.Power["kube-node4"].Busy == power.ActionOn {
			t.Error("the screen shows kube-node4 as being powered on while it shuts down")
		}
		return x.board.is("kube-node3", power.On) && strings.Contains(f.Power["kube-node4"].Text, "waiting to power on")
	})
	obey()
	x.waitEnd()
	if !x.board.is("kube-node4", power.On) || len(x.left()) != 0 {
		t.Errorf("left off: %v, requested: %v", x.left(), x.board.calls())
	}
}

// "on" for a machine that is still shutting down powers it on once it is off: it is on, but
// not for long.
func TestAMachineThatGoesDownCanBePoweredOn(t *testing.T) {
	t.Parallel()
	x := startSession(t, t.TempDir(), newBoard(workers...), session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	obey := x.board.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.Send(view.Answer{Question: x.question(view.QuestionSwitch).ID, Choice: "yes"})
	x.frame("the machine shuts down, and was polled", func(f *view.Frame) bool {
		m := f.Power["kube-node4"]
		return m.Busy == power.ActionShutdown && m.Reading.State == power.On
	})
	x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node4"}})
	q := x.question(view.QuestionSwitch)
	x.Send(view.Answer{Question: q.ID, Choice: "yes"})
	x.frame("the power-on waits", func(f *view.Frame) bool {
		if m := f.Power["kube-node4"]; m.Busy == "" {
			t.Errorf("the screen shows no action: %+v", m)
		}
		return strings.Contains(f.Power["kube-node4"].Text, "waiting to power on")
	})
	obey()
	x.frame("it is on again", func(f *view.Frame) bool {
		m := f.Power["kube-node4"]
		return m.Busy == "" && m.Stage == power.StageDone && !m.LeftOff && x.board.is("kube-node4", power.On)
	})
}

// A driver hangs after it has switched the machine off: the power-on waits for it, and the
// time until the return counts from the request to power on.
func TestAPowerOnCountsFromItsRequest(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	obey := w.board.hang("kube-node4")
	w.x.Start(nil, trial.RunOptions{End: true})
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionSwitch).ID, Choice: "yes"})
	w.x.frame("the machine shuts down", func(f *view.Frame) bool {
		return f.Power["kube-node4"].Busy == power.ActionShutdown && f.Power["kube-node4"].Stage == power.StageSending
	})
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.frame("the power-on waits", func(f *view.Frame) bool {
		if slices.ContainsFunc(f.Next, func(s string) bool { return strings.Contains(s, "powered on") }) {
			t.Errorf("the screen waits for %q", f.Next)
		}
		return strings.Contains(f.Power["kube-node4"].Text, "waiting to power on")
	})
	waited := time.Now()
	obey()
	sum, _ := w.outcome(t)
	if len(sum.Outages) != 1 || sum.Outages[0].On.Before(waited) {
		t.Errorf("the request to power on was sent after %s: %+v", waited, sum.Outages)
	}
}

// The screen forecasts no return of a machine that somebody else has switched off after its
// power-on.
func TestTheScreenForecastsNoReturnOfAMachineThatIsOffAgain(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	x := startSession(t, t.TempDir(), b, session.Options{})
	offIn(x, "kube-node3")
	x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node3"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("the return", func(f *view.Frame) bool {
		return f.Power["kube-node3"].Busy == "" && strings.Contains(strings.Join(f.Next, ""), "kube-node3 Ready again")
	})
	b.mu.Lock()
	b.state["kube-node3"] = power.Off
	b.mu.Unlock()
	x.frame("no return", func(f *view.Frame) bool {
		return f.Power["kube-node3"].LeftOff && !strings.Contains(strings.Join(f.Next, ""), "kube-node3 Ready again")
	})
}

// A refusal that the operator has not seen, as of an automatic power-on, is shown.
func TestTheScreenShowsARefusedAutomaticPowerOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := startSession(t, dir, newBoard(workers...), session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("the machine is off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	x.board.forget("kube-node3")
	x.Send(view.AskQuit{})
	x.Send(view.Answer{Question: x.question("quit").ID, Choice: "on"})
	x.frame("the reason why it stays off", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "kube-node3") && f.Notice.Level >= view.Warning
	})
	x.Send(view.AskQuit{})
	x.Send(view.Answer{Question: x.question("quit").ID, Choice: "leave"})
	x.waitEnd()
}

// An aborted trial powers on the machines that it switched off, even while another of
// its machines is busy.
func TestAnAbortedTrialPowersOnTheOthers(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	obey := w.board.hang("kube-node4")
	w.x.Start(parse(t, `name: hang
deployment: default/llm
steps:
  - load: {burst: 1}
  - off: {nodes: [kube-node3], how: plug}
  - off: [kube-node4]
  - on: [kube-node3, kube-node4]
expect:
  - balanced: true
`), trial.RunOptions{Auto: true, End: true})
	w.x.frame("kube-node4 goes down", func(f *view.Frame) bool {
		return f.Power["kube-node4"].Stage == power.StageSending && w.is("kube-node3", power.Off)
	})
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.frame("kube-node3 is on", func(*view.Frame) bool { return w.is("kube-node3", power.On) })
	obey()
	if sum, _ := w.outcome(t); sum.Verdict != view.Aborted || len(sum.LeftOff) != 0 || !w.is("kube-node4", power.On) {
		t.Errorf("%s: %v; left off %v", sum.Verdict, sum.Why, sum.LeftOff)
	}
}

// The screen ignores a reading that is older than the one it shows.
func TestTheScreenIgnoresALateReading(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	x := startSession(t, t.TempDir(), b, session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("the machine is off", func(f *view.Frame) bool { return f.Power["kube-node3"].Reading.State == power.Off })
	b.mu.Lock()
	b.asOf = time.Now().Add(-time.Minute)
	b.state["kube-node3"] = power.On // as it was a minute ago
	b.mu.Unlock()
	x.frame("another poll of the other machines", func(f *view.Frame) bool {
		if f.Power["kube-node3"].Reading.State == power.On {
			t.Error("the screen shows the power state of a minute ago")
		}
		return b.looks() > 12
	})
}

// The question and the guard count the same workers as left: neither counts machines
// that are off, although the API server still calls their nodes Ready.
func TestTheQuestionCountsTheWorkersThatTheGuardCounts(t *testing.T) {
	t.Parallel()
	x := startSession(t, t.TempDir(), newBoard(workers...), session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	for i, want := range []string{"3 Ready workers left", "2 Ready workers left", "1 Ready worker left", "0 Ready workers left"} {
		node := workers[1+i]
		x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{node}})
		q := x.question("switch")
		if text := questionText(q); !strings.Contains(text, want) {
			t.Errorf("the question about %s lacks %q:\n%s", node, want, text)
		}
		if q.Refused {
			x.Send(view.Answer{Question: q.ID, Choice: "no"})
			break
		}
		x.Send(view.Answer{Question: q.ID, Choice: "yes"})
		x.frame("the machine is off", func(f *view.Frame) bool {
			return f.Power[node].LeftOff && f.Power[node].Busy == "" && f.Question == nil
		})
	}
}

// gate is a NoteStore that annotates nothing and, once armed, blocks the next annotation
// of a node.
type gate struct{ armed, entered, open chan struct{} }

func (g gate) Change(ctx context.Context, node string, _ func(power.Note) (power.Note, bool)) error {
	if node != "kube-node3" {
		return nil
	}
	select {
	case <-g.armed:
		close(g.entered)
	default:
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A machine that the operator has just agreed to switch again stays busy when an
// earlier request for it ends.
func TestTheEndOfAnEarlierRequestLeavesTheMachineBusy(t *testing.T) {
	t.Parallel()
	g := gate{armed: make(chan struct{}, 1), entered: make(chan struct{}), open: make(chan struct{})}
	x := startSession(t, t.TempDir(), newBoard(workers...), session.Options{Annotations: g})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	obey := x.board.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3", "kube-node4"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	x.frame("kube-node3 is off, kube-node4 goes down", func(f *view.Frame) bool {
		return f.Power["kube-node3"].Stage == power.StageDone && f.Power["kube-node4"].Stage == power.StageSending
	})
	g.armed <- struct{}{}
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3"}})
	x.Send(view.Answer{Question: x.question("switch").ID, Choice: "yes"})
	<-g.entered
	obey()
	x.frame("the first request has ended", func(f *view.Frame) bool {
		if f.Power["kube-node4"].Busy != "" {
			return false
		}
		if busy := f.Power["kube-node3"].Busy; busy != power.ActionShutdown {
			t.Errorf("the screen shows kube-node3 as busy with %q", busy)
		}
		return true
	})
	close(g.open)
	x.frame("the second request has ended too", func(f *view.Frame) bool { return f.Power["kube-node3"].Busy == "" })
}

// The question about ending a trial ends with the trial, and a late answer ends nothing.
func TestALateAnswerDoesNotEndATrialAgain(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, func(w *world) { w.blindly = true })
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true})
	w.x.frame("the wait", func(f *view.Frame) bool {
		return f.Trial != nil && strings.Contains(f.Trial.Doing, "waiting until detected")
	})
	w.x.Send(view.AskTrial{})
	q := w.x.question("trial")
	w.mu.Lock()
	w.blindly = false
	w.mu.Unlock()
	w.turn("kube-node3", true)
	w.turn("kube-node4", true)
	w.x.frame("the verdict", func(f *view.Frame) bool { return f.Trial.Verdict == view.Pass })
	w.x.frame("the question is gone", func(f *view.Frame) bool { return f.Question == nil })
	w.x.Send(view.Answer{Question: q.ID, Choice: "abort"})
	w.x.Send(view.AskQuit{})
	if sum, _ := w.outcome(t); sum.Verdict != view.Pass {
		t.Errorf("%s: %v", sum.Verdict, sum.Why)
	}
}

// switchingTrial starts a trial whose first machine does not go off before aborted is
// called, which checks the verdict.
func switchingTrial(t *testing.T) (w *world, aborted func()) {
	t.Helper()
	w = startWorld(t, session.Options{}, nil)
	obey := w.board.hang("kube-node4")
	w.x.Start(parse(t, shortPlan), trial.RunOptions{Auto: true, End: true})
	w.x.frame("kube-node4 goes down", func(f *view.Frame) bool { return f.Power["kube-node4"].Stage == power.StageSending })
	return w, func() {
		t.Helper()
		obey()
		if sum, _ := w.outcome(t); sum.Verdict != view.Aborted {
			t.Errorf("%s: %v", sum.Verdict, sum.Why)
		}
	}
}

// An operator who aborts a trial again, because it takes its time, gets an answer.
func TestASecondAbortIsAnswered(t *testing.T) {
	t.Parallel()
	w, aborted := switchingTrial(t)
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "abort"})
	w.x.frame("the trial ends", func(f *view.Frame) bool { return f.Question == nil })
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "abort"})
	w.x.frame("a notice that lightsout aborts it already", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool {
			return strings.Contains(e.Text, "is aborting the trial") && strings.Contains(e.Text, "already")
		})
	})
	aborted()
}

// A key that the operator presses while machines are switched without a question is not
// lost.
func TestTheSessionKeepsAKeyPressedWhileATrialSwitches(t *testing.T) {
	t.Parallel()
	w, aborted := switchingTrial(t)
	w.x.Send(view.AskQuit{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "abort"})
	aborted()
}

// If the trial ends between the operator's yes and the request, the screen shows that
// nothing was switched, and why.
func TestAYesWhoseTrialHasEndedHasAReason(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked); <-answer })
	w := startWorld(t, session.Options{}, func(w *world) { w.confirms = once })
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "free"})
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Keyboard })
	w.x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	w.x.Send(view.Answer{Question: w.x.question("switch").ID, Choice: "yes"})
	<-asked
	w.x.Send(view.AbortTrial{Why: "by the test"})
	w.x.frame("the verdict", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Verdict != "" })
	close(answer)
	w.x.frame("the reason", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Events, func(e view.Event) bool {
			return e.Subject == "kube-node3" && strings.Contains(e.Sentence(), "the trial ended before the action began")
		})
	})
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("lightsout requested %v", calls)
	}
}

// If the trial ends while its question is open, lightsout withdraws the question, and the screen shows
// why nothing was switched, for each node.
func TestAQuestionWhoseTrialHasEndedHasAReason(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Send(view.AskTrial{})
	w.x.Send(view.Answer{Question: w.x.question("trial").ID, Choice: "free"})
	w.x.frame("the trial", func(f *view.Frame) bool { return f.Trial != nil && f.Trial.Keyboard })
	w.x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3", "kube-node4"}})
	w.x.question("switch")
	w.x.Send(view.AbortTrial{Why: "by the test"})
	w.x.frame("the reason", func(f *view.Frame) bool {
		return f.Question == nil && slices.ContainsFunc(f.Events, func(e view.Event) bool {
			return strings.Contains(e.Sentence(), "lightsout did not switch kube-node3 and kube-node4: the trial ended before the action began")
		})
	})
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("lightsout requested %v", calls)
	}
}

// The question before the end of a trial names the machine that is being switched off. The answer
// "leave them off" does not power it on, and waits for it: verdict and record are about it, too.
func TestTheEndOfATrialNamesAMachineThatIsBeingSwitchedOff(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	obey := w.board.hang("kube-node4")
	w.x.Start(nil, trial.RunOptions{End: true})
	w.x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	w.x.Send(view.Answer{Question: w.x.question(view.QuestionSwitch).ID, Choice: "yes"})
	w.x.frame("the machine shuts down", func(f *view.Frame) bool { return f.Power["kube-node4"].Stage == power.StageSending })
	w.x.Send(view.AskTrial{})
	q := w.x.question(view.QuestionTrial)
	if !strings.Contains(questionText(q), "Being switched off: kube-node4") {
		t.Errorf("%s", questionText(q))
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: "end"})
	w.x.frame("the trial waits", func(f *view.Frame) bool {
		return f.Trial != nil && strings.Contains(fmt.Sprint(f.Trial), "waiting until kube-node4 is off")
	})
	obey()
	sum, _ := w.outcome(t)
	if !slices.Equal(sum.LeftOff, []string{"kube-node4"}) || len(sum.Why) > 0 || !w.board.is("kube-node4", power.Off) {
		t.Errorf("left off %q, why %q, calls %v", sum.LeftOff, sum.Why, w.board.calls())
	}
}

// "Power on, then leave" is about each machine that the question names, also about one whose
// switch-off is in no journal yet.
func TestPowerOnThenLeaveIncludesAMachineThatIsAboutToGoOff(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	x := startSession(t, t.TempDir(), b, session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	offIn(x, "kube-node3")
	obey := b.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.Send(view.Answer{Question: x.question(view.QuestionSwitch).ID, Choice: "yes"})
	x.Send(view.AskQuit{})
	q := x.frame("a question that names both", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Kind == view.QuestionQuit && strings.Contains(questionText(f.Question), "kube-node4")
	}).Question
	x.Send(view.Answer{Question: q.ID, Choice: "on"})
	x.frame("kube-node4 is to be powered on", func(f *view.Frame) bool {
		return strings.Contains(f.Power["kube-node4"].Text, "waiting to power on")
	})
	obey()
	x.waitEnd()
	if !b.is("kube-node3", power.On) || !b.is("kube-node4", power.On) || len(x.left()) != 0 {
		t.Errorf("left off: %v, requested: %v", x.left(), b.calls())
	}
}

// A machine that can't be powered on keeps no other off: "Power on, then leave" is about each.
func TestOneFailureKeepsNoOtherMachineOff(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	notes := slowNotes{noting: make(chan struct{}, 9), on: make(chan struct{})}
	x := startSession(t, t.TempDir(), b, session.Options{Annotations: notesOf{"kube-node4": notes}})
	offIn(x, "kube-node3")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.Send(view.Answer{Question: x.question(view.QuestionSwitch).ID, Choice: "yes"})
	<-notes.noting
	x.Send(view.AskQuit{})
	q := x.frame("a question that names both", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Kind == view.QuestionQuit && strings.Contains(questionText(f.Question), "kube-node4")
	}).Question
	b.forget("kube-node3")
	x.Send(view.Answer{Question: q.ID, Choice: "on"})
	x.frame("kube-node3 stays off", func(f *view.Frame) bool { return strings.Contains(f.Notice.Text, "does not leave: kube-node3") })
	close(notes.on)
	x.frame("kube-node4 is on again", func(f *view.Frame) bool { return slices.Contains(b.calls(), "on kube-node4") })
	x.Send(view.AskQuit{})
	x.Send(view.Answer{Question: x.question(view.QuestionQuit).ID, Choice: "leave"})
	x.waitEnd()
}

// The question before leaving does not call a machine "being switched off" whose switch-off was
// refused, while another one of that request still goes off.
func TestLeavingNamesNoMachineWhoseSwitchOffWasRefused(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	x := startSession(t, t.TempDir(), b, session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	b.forget("kube-node3")
	obey := b.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node3", "kube-node4"}})
	x.Send(view.Answer{Question: x.question(view.QuestionSwitch).ID, Choice: "yes"})
	x.frame("one is refused", func(f *view.Frame) bool {
		return f.Power["kube-node3"].Stage == power.StageFailed && f.Power["kube-node4"].Stage == power.StageSending
	})
	x.Send(view.AskQuit{})
	q := x.question(view.QuestionQuit)
	if _, off, _ := strings.Cut(questionText(q), "Being switched off:"); strings.Contains(off, "kube-node3") {
		t.Errorf("%s", questionText(q))
	}
	obey()
	x.frame("the other is off", func(*view.Frame) bool { return b.is("kube-node4", power.Off) })
	x.Send(view.AskQuit{})
	x.Send(view.Answer{Question: x.question(view.QuestionQuit).ID, Choice: "leave"})
	x.waitEnd()
}

// notesOf annotates some nodes by stores of their own, and the others at once.
type notesOf map[string]power.NoteStore

func (m notesOf) Change(ctx context.Context, node string, to func(power.Note) (power.Note, bool)) error {
	if s := m[node]; s != nil {
		return s.Change(ctx, node, to)
	}
	return nil
}

// The question before leaving names the machine that is being switched off.
func TestLeavingNamesAMachineThatIsBeingSwitchedOff(t *testing.T) {
	t.Parallel()
	x := startSession(t, t.TempDir(), newBoard(workers...), session.Options{})
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	obey := x.board.hang("kube-node4")
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
	x.Send(view.Answer{Question: x.question(view.QuestionSwitch).ID, Choice: "yes"})
	x.frame("the machine shuts down", func(f *view.Frame) bool { return f.Power["kube-node4"].Stage == power.StageSending })
	x.Send(view.AskQuit{})
	x.frame("a question", func(f *view.Frame) bool {
		text := ""
		if f.Question != nil {
			text = questionText(f.Question)
		}
		if strings.Contains(text, "go off") {
			t.Errorf("the question does not know that lightsout switches the machine off:\n%s", text)
		}
		return strings.Contains(text, "Being switched off:")
	})
	obey()
	x.frame("it is off", func(f *view.Frame) bool {
		return f.Question != nil && strings.Contains(questionText(f.Question), "Still off:")
	})
	x.Send(view.Answer{Question: x.question(view.QuestionQuit).ID, Choice: "leave"})
	x.waitEnd()
}
