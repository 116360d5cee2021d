package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// timelineOf is a session with these events, and its screen.
func timelineOf(events ...view.Event) *view.Frame {
	f := mdxOutage()
	f.Events = numbered(events...)
	return f
}

// rowWith is the first line of the screen with a text.
func rowWith(m *Model, text string) string {
	for _, l := range strings.Split(plainView(m), "\n") {
		if strings.Contains(l, text) {
			return l
		}
	}
	return ""
}

func TestNoTenthIsShownThatIsNotKnown(t *testing.T) {
	seen := t0.Add(25700 * time.Millisecond)
	m, _, _ := testModel(timelineOf(
		view.Event{At: t0.Add(25 * time.Second), Seen: seen, Lane: view.LanePod, Change: cluster.ChangeReady, Subject: "web-1", From: "NotReady", To: "Ready"},
		view.Event{At: seen, Seen: seen, Lane: view.LanePower, Subject: "kube-node3", Text: "machine on"},
	), 120, 36, Options{})
	if got := rowWith(m, "web-1"); !strings.Contains(got, "T+00:25   ") {
		t.Errorf("whole seconds: %q", got)
	}
	if got := rowWith(m, "machine on"); !strings.Contains(got, "T+00:25.7 ") {
		t.Errorf("tenths: %q", got)
	}
	typeKeys(m, "C")
	if got := rowWith(m, "machine on"); !strings.Contains(got, "10:20:55Z ") {
		t.Errorf("UTC: %q", got)
	}
	typeKeys(m, "C")
	if got := rowWith(m, "machine on"); !strings.Contains(got, "T+00:25.7 ") {
		t.Errorf("counted again: %q", got)
	}
}

// lost is a pod that is deleted, for its node's sake or for that of another pod.
func lost(name string, cause cluster.Cause, why string) view.Event {
	return view.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: "default", Name: name}},
		Change: cluster.ChangeStatus, From: "Running", To: "Terminating", Cause: cause, Why: why, SourceTime: t0, When: cluster.At(t0.Add(300 * time.Millisecond))})
}

func TestAFoldedEventListsItsPodsWithEachOnesOwnWhy(t *testing.T) {
	m, _, _ := testModel(timelineOf(
		lost("web-1", cluster.CauseEvicted, "node node-b1 is NotReady"), lost("batch-1", "", ""), lost("web-2", cluster.CauseEvicted, "node node-b2 is NotReady"),
	), 120, 36, Options{})
	if got := rowWith(m, "2 pods"); !strings.Contains(got, "Running → Terminating") {
		t.Errorf("the evicted are not folded: %q", got)
	}
	if got := rowWith(m, "batch-1"); !strings.Contains(got, "Running → Terminating") {
		t.Errorf("the preempted pod has no row of its own: %q", got)
	}
	typeKeys(m, "5 g enter")
	for _, want := range []string{"default/web-1 · node node-b1 is NotReady", "default/web-2 · node node-b2 is NotReady"} {
		if rowWith(m, want) == "" {
			t.Errorf("no %q in\n%s", want, plainView(m))
		}
	}
	if got := rowWith(m, "why  "); got != "" {
		t.Errorf("one why for all of them: %q", got)
	}
}

func TestTheEndOfAShutdownIsOneLine(t *testing.T) {
	state := view.Event{Code: view.CodeMachineState, Lane: view.LanePower, Subject: "kube-node3", From: "on", To: "off", Facts: view.Facts{Proof: power.Proven, Reported: "PowerOFF"}, At: t0, Seen: t0}
	done := view.NewEvent(view.CodePowerOperation, "kube-node3", view.Facts{Action: power.ActionShutdown, Stage: power.StageDone, Reported: "vm 3 is off, proven (PowerOFF)"})
	done.At, done.Seen = t0, t0
	if rows, _ := fold(numbered(state, done)); len(rows) != 1 || rows[0].Code != view.CodePowerOperation {
		t.Errorf("two lines of one fact: %v", rows)
	}
	done.Action = power.ActionOn
	if rows, _ := fold(numbered(state, done)); len(rows) != 2 {
		t.Errorf("a machine that is off does not prove a power-on: %v", rows)
	}
}
