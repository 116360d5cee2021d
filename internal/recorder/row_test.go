package recorder

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// ended is a request that was sent then.
func ended(sent time.Time, failed bool) *loadgen.Record {
	q := &loadgen.Record{Class: loadgen.ClassOK, Scheduled: sent, Sent: sent}
	if failed {
		q.Class = loadgen.ClassFirstByte
	}
	return q
}

// A hang of 8 s is a row of failures at any rate. Requests that fail among others that are ok are none.
func TestAHangIsARowAtAnyRate(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	for _, rate := range []int{1, 50, 200, 500} {
		hang, single, most, mostSingle := row{}, row{}, 0, 0
		for i := range 60 * rate {
			at := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
			if s := i / rate; s < 10 || s >= 18 {
				hang.add(ended(at, false))
			}
			if sent := i - 30*rate; sent >= 10*rate && sent < 18*rate {
				hang.add(ended(at.Add(-30*time.Second), true))
			}
			single.add(ended(at, i%(5*rate) == 0))
			if i%rate == rate-1 {
				most, mostSingle = max(most, hang.longest(start, at, nil)), max(mostSingle, single.longest(start, at, nil))
			}
		}
		if least := 8 * rate; most < least || mostSingle > 1 {
			t.Errorf("%d/s: %d in a row in a hang, %d among good answers", rate, most, mostSingle)
		}
	}
}

// One request in five is refused at once, and the others take longer and are ok: those that are still in
// flight are no part of a row.
func TestRequestsInFlightAreNoPartOfARow(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	type event struct {
		sent, end time.Time
		failed    bool
	}
	for _, tc := range []struct {
		rate  int
		takes time.Duration
	}{{1, 5 * time.Second}, {1, 30 * time.Second}, {10, 2 * time.Second}, {50, 300 * time.Millisecond}} {
		var all []event
		for i := range 120 * tc.rate {
			x := event{sent: start.Add(time.Duration(i) * time.Second / time.Duration(tc.rate)), failed: i%5 == 0}
			if x.end = x.sent.Add(tc.takes); x.failed {
				x.end = x.sent
			}
			all = append(all, x)
		}
		r, over := row{}, map[int]bool{}
		for s := range 120 {
			now, inFlight := start.Add(time.Duration(s)*time.Second), map[int64]bool{}
			for i, x := range all {
				switch {
				case x.sent.After(now) || over[i]:
				case x.end.After(now):
					inFlight[x.sent.Unix()] = true
				default:
					over[i] = true
					r.add(ended(x.sent, x.failed))
				}
			}
			if n := r.longest(start, now, inFlight); n > 1 {
				t.Fatalf("%d/s, ok after %s: at %d s %d in a row", tc.rate, tc.takes, s, n)
			}
		}
	}
}

// A chat is in flight while others before and after it are refused, and is ok later: the service is
// degraded, not down. So it is if the recorder has forgotten the good answers.
func TestGoodAnswersThatEndLaterAreNoOutageOfAll(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(held)
		<-release
	}))
	defer srv.Close()
	s := newScreen(t)
	g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: srv.URL}, Record: func(q loadgen.Record) { s.Record(q) }})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s.opt.Load = g
	spec := loadgen.Spec{Shape: loadgen.Burst, N: 1}
	number, err := g.Begin(spec)
	if err != nil {
		t.Fatal(err)
	}
	<-held
	for len(g.Run().Seconds) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.LoadStarted(number, spec, s.now)
	sent := g.Run().Seconds[0].At
	s.fails("n1")
	s.down["n1"] = sent.Add(-3 * time.Second) // the zero
	s.look(4)
	for _, at := range []int{-2, -1, 1, 2} {
		at := sent.Add(time.Duration(at) * time.Second)
		s.Record(loadgen.Record{Run: number, Shape: loadgen.Rate, Class: loadgen.ClassRefused, Scheduled: at, Sent: at, End: at})
		if at.Before(sent) && at.Add(time.Second).Equal(sent) { // chats that were sent before end in between
			s.Record(loadgen.Record{Run: number, Shape: loadgen.Rate, Class: loadgen.ClassOK, Scheduled: sent.Add(-time.Minute), Sent: sent.Add(-time.Minute), End: at})
		}
	}
	s.look(4)
	close(release)
	if err := g.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	clear(s.down)
	s.look(14)
	if got := severities(s.summaries()); !slices.Equal(got, []record.Severity{record.SeverityDegraded}) {
		t.Errorf("the severities are %v", got)
	}
}

// The recorder keeps a minute of the past, and chats that hung fail after 100 s. It counts them in a row,
// or beside good answers, although it has forgotten the requests of that time.
func TestForgottenRequestsAreInTheirRow(t *testing.T) {
	for every, want := range map[int]record.Severity{1: record.SeverityDown, 8: record.SeverityDegraded} {
		s := newScreen(t)
		s.probes = newProbes(time.Second)
		s.look(3)
		s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
		start := s.now
		for i := range 400 {
			hung := func(i int) bool { return i >= 100 && i < 130 && i%every == 0 }
			if !hung(i) {
				s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: loadgen.ClassOK, Scheduled: s.now, Sent: s.now, End: s.now})
			}
			if hung(i - 100) {
				at := start.Add(time.Duration(i-100) * time.Second)
				s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: loadgen.ClassFirstByte, Scheduled: at, Sent: at, End: s.now})
			}
			s.look(1)
		}
		if got := severities(s.summaries()); !slices.Equal(got, []record.Severity{want}) {
			t.Errorf("every %d hung: the severities are %v", every, got)
		}
	}
}

func severities(all []*record.Summary) (out []record.Severity) {
	for _, sum := range all {
		out = append(out, sum.Unplanned.Severity)
	}
	return out
}

// Requests failed, somebody sets the clock back by an hour, and a node fails later: those requests are in
// the future, and not of its outage. Nor are those that failed in the second of its zero, before it.
func TestOnlyRequestsOfTheOutageAreInItsRow(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	r := row{}
	for i := range 8 {
		r.add(ended(start.Add(time.Hour+time.Duration(i)*time.Second), true))
		r.add(ended(start.Add(time.Duration(i)*100*time.Millisecond), true))
	}
	if n := r.longest(start.Add(900*time.Millisecond), start.Add(10*time.Minute), nil); n != 0 {
		t.Errorf("%d in a row", n)
	}
	r = row{} // the first that failed was sent in the second of the zero, after it
	for i := range 3 {
		r.add(ended(start.Add(950*time.Millisecond+time.Duration(i)*time.Second), true))
	}
	if n := r.longest(start.Add(50*time.Millisecond), start.Add(time.Minute), nil); n != 3 {
		t.Errorf("%d in a row, want 3", n)
	}
	for i := range 5 * int(rowKept/time.Second) { // ten hours before
		r.add(ended(start.Add(-10*time.Hour+time.Duration(i)*time.Second), false))
	}
	if most := 3 * int(rowKept/time.Second); len(r) > most {
		t.Errorf("the row has %d seconds, more than %d", len(r), most)
	}
}
