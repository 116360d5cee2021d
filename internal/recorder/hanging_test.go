package recorder

import (
	"net"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// All clients hang through an outage and have no answer when its record ends: the severity
// is not "no request failed", and the ledger has their requests, whether another one was answered or not.
func TestRequestsThatHangAreNotUnnoticed(t *testing.T) {
	for _, answered := range []int{0, 1} {
		hang(t, answered, false)
	}
}

// Requests that are in flight when a record ends, and not for long, are not of its time: none was lost.
func TestRequestsOfTheLastMomentAreNotInTheRecord(t *testing.T) { hang(t, 1, true) }

func hang(t *testing.T, answered int, young bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts, and so nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := newScreen(t)
	g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: "http://" + l.Addr().String() + "/", Profile: loadgen.Chat}, Now: s.opt.Now, Record: func(r loadgen.Record) { s.Record(r) }})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s.opt.Load = g
	if young {
		s.fails("n1")
		s.look(60)
		delete(s.down, "n1")
		s.look(5)
	}
	hold := loadgen.Spec{Shape: loadgen.Hold, N: 4}
	if _, err := g.Begin(hold); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); g.Run().Totals.Sent < 4; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the requests were not sent")
		}
	}
	s.loadStarted(1, hold)
	if !young {
		s.fails("n1")
	}
	for range answered {
		s.Record(loadgen.Record{ID: "x-1", Run: 1, Shape: loadgen.Hold, Class: loadgen.ClassOK, Scheduled: s.now, Sent: s.now, End: s.now.Add(50 * time.Millisecond)})
	}
	if young {
		s.look(1)
		s.Yield()
		if l := s.summaries()[0].Ledger; l.InFlight != 0 || l.Scheduled != answered || !l.Balanced {
			t.Errorf("%+v", l)
		}
		return
	}
	s.look(60)
	delete(s.down, "n1")
	s.look(15)
	sum := s.only(record.SeverityUnknown)
	if sum.Unplanned.Why != "requests had not ended" || sum.Ledger.InFlight != 4 || sum.Ledger.Scheduled != 4+answered || !sum.Ledger.Balanced {
		t.Errorf("%s, %+v", sum.Unplanned.Why, sum.Ledger)
	}
	if strings.Contains(strings.Join(s.printed, "\n"), "o request of lightsout failed") {
		t.Errorf("%q", s.printed)
	}
}
