package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
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
	x := startEmpty(t, session.Options{})
	x.press(power.ActionOff, "yes", "kube-node3")
	x.off("kube-node3")
	obey := x.board.hang("kube-node4")
	x.press(power.ActionShutdown, "yes", "kube-node4")
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
		waits := slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Text, "waiting to power on kube-node4") })
		return waits && x.board.is("kube-node3", power.On)
	})
	obey()
	x.waitEnd()
	if !x.board.is("kube-node4", power.On) || len(x.left()) != 0 {
		t.Errorf("left off: %v, requested: %v", x.left(), x.board.calls())
	}
}

// A driver hangs after it has switched the machine off: the power-on waits for it, and the
// time until the return counts from the request to power on.
func TestAPowerOnCountsFromItsRequest(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	obey := w.board.hang("kube-node4")
	w.x.Start(nil, trial.RunOptions{End: true})
	w.x.press(power.ActionShutdown, "yes", "kube-node4")
	w.x.frame("the machine shuts down", func(f *view.Frame) bool {
		return f.Power["kube-node4"].Busy == power.ActionShutdown && f.Power["kube-node4"].Stage == power.StageSending
	})
	w.x.Send(view.AbortTrial{Why: "by a signal"})
	w.x.frame("the power-on waits", func(f *view.Frame) bool {
		if slices.ContainsFunc(f.Next, func(s string) bool { return strings.Contains(s, "powered on") }) {
			t.Errorf("the screen waits for %q", f.Next)
		}
		return slices.ContainsFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Text, "waiting to power on kube-node4") })
	})
	waited := time.Now()
	obey()
	sum, _ := w.outcome(t)
	if len(sum.Outages) != 1 || sum.Outages[0].On.Before(waited) {
		t.Errorf("the request to power on was sent after %s: %+v", waited, sum.Outages)
	}
}

// The question and the guard count the same workers as left: neither counts machines
// that are off, although the API server still calls their nodes Ready.
func TestTheQuestionCountsTheWorkersThatTheGuardCounts(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{})
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

// If the trial ends while its question is open, lightsout withdraws the question, and the screen shows
// why nothing was switched, for each node.
func TestAQuestionWhoseTrialHasEndedHasAReason(t *testing.T) {
	t.Parallel()
	w := startWorld(t, session.Options{}, nil)
	w.x.Send(view.AskTrial{})
	w.x.answer("trial", "free")
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
	w.x.press(power.ActionShutdown, "yes", "kube-node4")
	w.x.frame("the machine shuts down", func(f *view.Frame) bool { return f.Power["kube-node4"].Stage == power.StageSending })
	w.x.Send(view.AskTrial{})
	q := w.x.question(view.QuestionTrial)
	if !strings.Contains(questionText(q), "Not powered on since: kube-node4") {
		t.Errorf("%s", questionText(q))
	}
	w.x.Send(view.Answer{Question: q.ID, Choice: "end"})
	w.x.frame("the trial waits", func(f *view.Frame) bool {
		return f.Trial != nil && strings.Contains(fmt.Sprint(f.Trial), "waiting until kube-node4 is off")
	})
	w.turn("kube-node4", true) // and lightsout sees that before the proof that the machine is off, which ends the trial
	w.x.frame("the node NotReady", func(f *view.Frame) bool { return f.Snapshot.Node("kube-node4").Ready != cluster.TriTrue })
	obey()
	sum, _ := w.outcome(t)
	if !slices.Equal(sum.LeftOff, []string{"kube-node4"}) || len(sum.Why) > 0 || !w.board.is("kube-node4", power.Off) {
		t.Errorf("left off %q, why %q, calls %v", sum.LeftOff, sum.Why, w.board.calls())
	}
}

// The question before leaving names the machine that is being switched off.
func TestLeavingNamesAMachineThatIsBeingSwitchedOff(t *testing.T) {
	t.Parallel()
	x := startEmpty(t, session.Options{})
	obey := x.board.hang("kube-node4")
	x.press(power.ActionShutdown, "yes", "kube-node4")
	x.frame("the machine shuts down", func(f *view.Frame) bool { return f.Power["kube-node4"].Stage == power.StageSending })
	x.Send(view.AskQuit{})
	lists := func(what string) func(f *view.Frame) bool {
		return func(f *view.Frame) bool {
			return f.Question != nil && strings.Contains(questionText(f.Question), what)
		}
	}
	x.frame("it goes off", lists("kube-node4: being switched off"))
	obey()
	x.frame("it is off", lists("kube-node4: still off"))
	x.answer(view.QuestionQuit, "leave")
	x.waitEnd()
}

// A node that the operator has had powered on and that is not Ready yet holds lightsout, unless the operator
// leaves anyway.
func TestLeavingWaitsForANodeThatBoots(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"on", "leave"} {
		w := startWorld(t, session.Options{}, nil)
		w.x.press(power.ActionOff, "yes", "kube-node4")
		w.x.off("kube-node4")
		w.turn("kube-node4", true)
		w.mu.Lock()
		w.blindly = true
		w.mu.Unlock()
		w.x.press(power.ActionOn, "yes", "kube-node4")
		w.x.frame("it is on", func(f *view.Frame) bool { return f.Power["kube-node4"].Busy == "" && !f.Power["kube-node4"].LeftOff })
		w.x.Send(view.AskQuit{})
		if text := questionText(w.x.question(view.QuestionQuit)); !strings.Contains(text, "kube-node4: not Ready yet") || strings.Contains(text, "The next start") {
			t.Error(text)
		}
		w.x.answer(view.QuestionQuit, choice)
		if choice == "on" {
			w.x.frame("lightsout waits", func(f *view.Frame) bool { return slices.Equal(f.LeavesAfter, []string{"kube-node4"}) })
			w.mu.Lock()
			w.blindly = false
			w.mu.Unlock()
			w.turn("kube-node4", false)
		}
		w.x.waitEnd()
		if got := w.x.PoweredOn(); slices.Equal(got, []string{"kube-node4"}) != (choice == "on") {
			t.Errorf("%s: powered on before leaving: %v", choice, got)
		}
	}
}
