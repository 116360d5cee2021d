package session

import (
	"testing"
	"time"

	"lightsout/internal/outage"
	"lightsout/power"
)

// reader is a session to which readings of machines are given.
func reader(t *testing.T) *Session {
	rec, err := NewRecordWriter("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{RecordWriter: rec, Questions: NewQuestions()})
	s.guest = nobody{}
	return s
}

// A machine that nobody asked to go off is not off while it is only presumed so.
func TestAPresumptionAloneIsNoTimeOff(t *testing.T) {
	t.Parallel()
	for asked, want := range map[bool]int{false: 0, true: 1} {
		s := reader(t)
		if asked {
			s.machines.outages["n1"] = &outage.Outage{}
		}
		s.machines.read("n1", power.Reading{State: power.Off, Proof: power.Presumed, RequestedAt: time.Now(), Arrived: time.Now()})
		if spans := s.machines.spans.Spans(); len(spans) != want {
			t.Errorf("asked %v: %+v", asked, spans)
		}
	}
}

// The screen ignores a reading that is older than the one it shows.
func TestTheScreenIgnoresALateReading(t *testing.T) {
	t.Parallel()
	s, now := reader(t), time.Now()
	for _, r := range []power.Reading{{State: power.Off, RequestedAt: now}, {State: power.On, RequestedAt: now.Add(-time.Minute)}} {
		r.Proof, r.Arrived = power.Proven, now
		s.machines.read("n1", r)
	}
	if r := s.machines.views["n1"].Reading; r.State != power.Off {
		t.Errorf("%+v", r)
	}
}
