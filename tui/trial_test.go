package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// steps counts the NextSteps sent.
func stepsSent(sent *[]view.Intent) int {
	n := 0
	for _, i := range *sent {
		if _, ok := i.(view.NextStep); ok {
			n++
		}
	}
	return n
}

func wantSteps(t *testing.T, sent *[]view.Intent, n int, when string) {
	t.Helper()
	if got := stepsSent(sent); got != n {
		t.Fatalf("%s: %d steps were asked for, want %d", when, got, n)
	}
}

func TestEnterTakesAWaitingStepOnce(t *testing.T) {
	m, sent, now := testModel(driven(), 120, 36, Options{})
	settleKeys(m, now)
	typeKeys(m, "enter enter enter")
	wantSteps(t, sent, 1, "a triple enter")

	next := driven()
	next.Trial = planned(2, true)
	m.Update(FrameMsg{next})
	typeKeys(m, "enter")
	wantSteps(t, sent, 1, "an enter that was on its way when the next step came up")
	for range 2 {
		*now = now.Add(graceFor / 4)
		typeKeys(m, "enter")
	}
	wantSteps(t, sent, 1, "enter held down")
	*now = now.Add(graceFor)
	typeKeys(m, "enter")
	wantSteps(t, sent, 2, "an enter after a pause")
	for caption, hint := range map[string]bool{"a program presses the keys": false, "": true} {
		if m.Update(CaptionMsg(caption)); strings.Contains(m.View().Content, "[enter]") != hint {
			t.Errorf("with the caption %q the hint of enter is shown: %v", caption, !hint)
		}
	}
}

func TestEnterBeforeTheStepWasSeenIsAbsorbed(t *testing.T) {
	m, sent, now := testModel(calm(), 120, 36, Options{})
	m.Update(FrameMsg{driven()})
	m.Update(keyMsg("enter")) // not drawn yet
	m.View()
	*now = now.Add(graceFor / 4)
	typeKeys(m, "enter")
	wantSteps(t, sent, 0, "typed before it was seen")
	if m.dialogs.top() != nil {
		t.Error("the absorbed key did something else")
	}
}

func TestADeclinedStepCanBeTakenAgain(t *testing.T) {
	m, sent, now := testModel(driven(), 120, 36, Options{})
	settleKeys(m, now)
	typeKeys(m, "enter")
	f := driven()
	f.Question = asked().Question
	m.Update(FrameMsg{f})
	settleKeys(m, now)
	typeKeys(m, "enter enter") // declines; the second is one too many
	wantSteps(t, sent, 1, "behind the question")
	m.Update(FrameMsg{driven()})
	settleKeys(m, now)
	typeKeys(m, "enter")
	wantSteps(t, sent, 2, "after the question")
}

func TestEnterShowsDetailsUnlessAStepWaits(t *testing.T) {
	m, _, _ := testModel(silent(), 120, 36, Options{})
	typeKeys(m, "enter")
	if m.dialogs.top() == nil {
		t.Error("enter shows no details while a step is under way")
	}
	m, sent, now := testModel(driven(), 120, 36, Options{})
	settleKeys(m, now)
	typeKeys(m, "d")
	if m.dialogs.top() == nil {
		t.Error("d shows no details while a step waits")
	}
	wantSteps(t, sent, 0, "details")
}

func TestTrialAndRolloutKeysAsk(t *testing.T) {
	f := calm()
	c := f.Snapshot.Contents()
	web := cluster.Key{Namespace: "default", Name: "web"}
	c.Deployments = append(c.Deployments, &cluster.Deployment{Key: web, Replicas: 1, Available: 1, Word: "Running"})
	f.Snapshot = cluster.NewSnapshot(c)
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "t")
	wantIntent(t, sent, view.AskTrial{})
	typeKeys(m, "r")
	wantIntent(t, sent, view.AskRollout{Deployment: llm})
	typeKeys(m, "2 G r")
	wantIntent(t, sent, view.AskRollout{Deployment: web})
	typeKeys(m, "g 3 r")
	wantIntent(t, sent, view.AskRollout{Deployment: llm})
}

func TestTheTrialIsShownWhole(t *testing.T) {
	m, _, _ := testModel(failed(), 120, 60, Options{})
	typeKeys(m, "2 T")
	v := plainView(m)
	for _, want := range []string{"FAIL", "did not come to its end", "3 of 7 expectations were not met", "not observed", "✕ failed", "– skipped",
		"✓ done", "peak_queued, burst of 12", "T+00:56.1", " 00:52.0–01:02.0", "✕ outside", "05:52.0–06:02.0", "it was back before", "00:03.1–00:30.2"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	typeKeys(m, "T")
	if m.zoom || m.active.name != "Deployments" {
		t.Error("T does not lead back")
	}
}

func TestForecastCountsDown(t *testing.T) {
	f := silent()
	m, _, now := testModel(f, 150, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "Ready (silent 36s)") || !strings.Contains(v, "NotReady in 14s") || !strings.Contains(v, "next: kube-node3 marked NotReady in") {
		t.Errorf("what comes next is not told:\n%s", v)
	}
	typeKeys(m, "T")
	*now = now.Add(3 * time.Second)
	m.Update(tickMsg{})
	if v := plainView(m); !strings.Contains(v, "in 11s") {
		t.Errorf("the table does not count down:\n%s", v)
	}
}

// What can't come any more, as its node is Ready again, is not overdue.
func TestNothingIsOverdueAfterTheReturn(t *testing.T) {
	f := silent()
	overdue := func() (names string) {
		m, _, now := testModel(f, 150, 36, Options{})
		typeKeys(m, "T")
		*now = now.Add(10 * time.Minute)
		m.Update(tickMsg{})
		for line := range strings.Lines(plainView(m)) {
			if strings.Contains(line, "overdue") {
				names += strings.Fields(line)[1] + " "
			}
		}
		return names
	}
	if got := overdue(); !strings.Contains(got, "detected") || !strings.Contains(got, "evicted") {
		t.Fatalf("overdue: %s", got)
	}
	for _, node := range []string{"kube-node3", "kube-node4"} {
		f.Trial.Phases = append(f.Trial.Phases, view.Phase{Name: view.PhaseReady, Subject: node, Observed: new(60.0)})
	}
	if got := overdue(); strings.Contains(got, "detected") || strings.Contains(got, "evicted") {
		t.Errorf("overdue after the return: %s", got)
	}
}

func TestAVerdictThatIsNotObservedShowsItsReason(t *testing.T) {
	f := driven()
	f.Trial.Verdict, f.Trial.Why = view.NotObserved, []string{"k8s2 never went down"}
	m, _, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "T")
	if v := plainView(m); !strings.Contains(v, "k8s2 never went down") || !strings.Contains(v, "no verdict on the service") {
		t.Errorf("the reason is not on the screen:\n%s", v)
	}
}
