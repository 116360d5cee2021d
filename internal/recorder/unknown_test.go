package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/loadgen"
)

// ends has a request of the operator's load end.
func (s *screen) ends(class loadgen.Class) {
	s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: class, Scheduled: s.now, Sent: s.now, End: s.now})
}

// answers lets seconds pass, with a look and an answered request in each.
func (s *screen) answers(seconds int) {
	for range seconds {
		s.ends(loadgen.ClassOK)
		s.look(1)
	}
}

// only ends the session and reads its only record, which has that severity.
func (s *screen) only(want record.Severity) *record.Summary {
	s.t.Helper()
	all := s.summaries()
	if len(all) != 1 {
		s.t.Fatalf("%d records", len(all))
	}
	if got := all[0].Unplanned.Severity; got != want {
		s.t.Errorf("the severity is %s and not %s", got, want)
	}
	return all[0]
}

// A recorder that stood still sent no requests: nobody knows what clients noticed, also if it
// stood still before it noticed the outage.
func TestAnOutageInWhichTheRecorderStoodStillIsNotUnnoticed(t *testing.T) {
	for name, before := range map[string]bool{"within the outage": false, "over its beginning": true} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
			s.answers(1)
			if before {
				s.setTime(s.now.Add(time.Second))
			}
			s.fails("n2")
			if !before {
				s.answers(4)
			}
			s.setTime(s.now.Add(5 * time.Minute)) // SIGSTOP, or a suspended machine
			s.answers(4)
			delete(s.down, "n2")
			s.answers(15)
			sum := s.only(record.SeverityUnknown)
			if len(sum.Blind) != 1 || !sum.Blind[0].StoodStill || sum.Blind[0].To-sum.Blind[0].From < 300 {
				t.Errorf("the blind spans are %+v", sum.Blind)
			}
			rec, err := record.Open(s.Newest())
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(report.Opening(rec), " "); !strings.Contains(said, "no request is known to have failed") {
				t.Errorf("%q", said)
			}
		})
	}
}

// A pause that was over when an outage began hides nothing of it.
func TestAPauseBeforeAnOutageDoesNotMakeItUnknown(t *testing.T) {
	s := newScreen(t)
	s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
	s.setTime(s.now.Add(5 * time.Minute))
	s.answers(10)
	s.fails("n2")
	s.answers(4)
	delete(s.down, "n2")
	s.answers(15)
	if sum := s.only(record.SeverityUnnoticed); len(sum.Blind) > 0 {
		t.Errorf("the blind spans are %+v", sum.Blind)
	}
}
