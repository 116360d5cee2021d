package session

import (
	"slices"
	"testing"
	"time"

	"lightsout/power"
)

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
