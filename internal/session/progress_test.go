package session

import (
	"slices"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/power"
)

// While lightsout prepares the question the operator has agreed to nothing: the node does
// not show the action, and the timeline says what lightsout waits for.
func TestAWaitBeforeTheQuestionIsNoAction(t *testing.T) {
	rec, err := NewRecordWriter("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{RecordWriter: rec, Questions: NewQuestions()})
	s.switching.progress(power.Progress{Action: power.ActionShutdown, Node: "n1", Stage: power.StagePreparing, Text: "waits for a heartbeat", At: time.Now()})
	if v := s.machines.views["n1"]; v.Busy != "" || v.Stage != "" || v.Text != "" {
		t.Errorf("the machine shows %+v", v)
	}
	if e := rec.Timeline().Last(1); len(e) != 1 || e[0].Code != view.CodePowerOperation || e[0].Reported != "waits for a heartbeat" {
		t.Errorf("the timeline has %+v", e)
	}
	s.switching.progress(power.Progress{Action: power.ActionShutdown, Node: "n1", Stage: power.StageSending, Text: "sends", At: time.Now()})
	if v := s.machines.views["n1"]; v.Busy != power.ActionShutdown {
		t.Errorf("the machine shows %+v", v)
	}
}

// A machine that refused to go off does not count as down while the request waits for others.
func TestARefusedMachineIsNotDown(t *testing.T) {
	t.Parallel()
	rec, err := NewRecordWriter("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{RecordWriter: rec, Questions: NewQuestions()})
	for _, n := range []string{"n3", "n4"} {
		s.switching.progress(power.Progress{Action: power.ActionShutdown, Node: n, Stage: power.StageSending, At: time.Now()})
	}
	s.switching.progress(power.Progress{Action: power.ActionShutdown, Node: "n4", Stage: power.StageFailed, At: time.Now()})
	if down := s.machines.down(); !slices.Equal(down, []string{"n3"}) {
		t.Errorf("down: %v", down)
	}
	s.switching.progress(power.Progress{Action: power.ActionShutdown, Node: "n3", Stage: power.StageUncertain, At: time.Now()})
	if down := s.machines.down(); !slices.Equal(down, []string{"n3"}) {
		t.Errorf("of which lightsout is uncertain: %v", down)
	}
}
