package session

import (
	"testing"
	"time"

	"lightsout/power"
)

// The screen ignores a reading that is older than the one it shows.
func TestTheScreenIgnoresALateReading(t *testing.T) {
	t.Parallel()
	rec, err := NewRecordWriter("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{RecordWriter: rec, Questions: NewQuestions()})
	s.guest = nobody{}
	now := time.Now()
	for _, r := range []power.Reading{{State: power.Off, RequestedAt: now}, {State: power.On, RequestedAt: now.Add(-time.Minute)}} {
		r.Proof, r.Arrived = power.Proven, now
		s.machines.read("n1", r)
	}
	if r := s.machines.views["n1"].Reading; r.State != power.Off {
		t.Errorf("%+v", r)
	}
}
