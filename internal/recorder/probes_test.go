package recorder

import (
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/loadgen"
	"lightsout/power"
)

// Two failed requests are a sign at any interval between them, and one is not. They no longer are
// when requests have succeeded for long enough.
func TestFailedRequestsAreASignAtAnyInterval(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, 10 * time.Minute} {
		p := newProbes(every)
		now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		end := func(c loadgen.Class) bool {
			now = now.Add(every + 3*time.Millisecond)
			p.note(loadgen.Record{Class: c, End: now}, now)
			_, failing := p.failing(now)
			return failing
		}
		end(loadgen.ClassOK)
		good := now
		if end(loadgen.ClassRefused) {
			t.Errorf("every %s: one failure is a sign", every)
		}
		if !end(loadgen.ClassRefused) {
			t.Errorf("every %s: two failures are no sign", every)
		}
		now = now.Add(every * 9 / 10) // the next one is on its way
		if at, failing := p.failing(now); !failing || !at.Equal(good) {
			t.Errorf("every %s: between failures: failing %v since %s, want %s", every, failing, at, good)
		}
		for range int(failedWithin/every) + failedIntervals {
			end(loadgen.ClassOK)
		}
		if _, failing := p.failing(now); failing {
			t.Errorf("every %s: requests succeed, and the sign still shows", every)
		}
	}
}

// A service hangs for 8 s and then answers again, while the hung requests fail at their time limit: the
// sign dates from the last good answer before they were sent, and they failed in a row.
func TestAShortHangIsDatedByItsRequests(t *testing.T) {
	p, r := newProbes(time.Second), row{}
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	most, signs := 0, 0
	end := func(c loadgen.Class, sent, ended float64) {
		p.note(loadgen.Record{Class: c, Scheduled: second(sent), Sent: second(sent), End: second(ended)}, second(ended))
		most = max(most, r.add(second(sent), c.Failed()))
	}
	for s := range 50 {
		at := float64(s)
		if s < 10 || s >= 18 {
			end(loadgen.ClassOK, at, at+0.1)
		}
		if hung := at - 30; hung >= 10 && hung < 18 {
			end(loadgen.ClassFirstByte, hung, at+0.2)
		}
		since, failing := p.failing(second(at + 0.3))
		if !failing {
			continue
		}
		signs++
		if want := second(9.1); !since.Equal(want) {
			t.Fatalf("at %d s: the sign dates from %s, want %s", s, since, want)
		}
	}
	if signs == 0 || most != downLeast {
		t.Errorf("%d signs; %d failed in a row, want %d", signs, most, downLeast)
	}
}

// Long streams that break when their node fails date the outage by their end: the service answered them
// until then.
func TestBrokenStreamsDateAnOutageByTheirEnd(t *testing.T) {
	p := newProbes(time.Second)
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	for s := range 300 {
		p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: second(float64(s)), End: second(float64(s) + 0.1)}, second(float64(s)+0.1))
	}
	for i := range 3 {
		broken := loadgen.Record{Class: loadgen.ClassReset, Scheduled: second(float64(i)), Sent: second(float64(i)), LastByte: second(299.5), End: second(300)}
		p.note(broken, second(300))
		stalled := broken
		stalled.Class = loadgen.ClassIdle
		p.note(stalled, second(300))
	}
	if since, failing := p.failing(second(300.1)); !failing || !since.Equal(second(299.1)) {
		t.Errorf("failing %v since %s, want since %s", failing, since, second(299.1))
	}
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
				most = max(most, hang.add(at, false))
			}
			if sent := i - 30*rate; sent >= 10*rate && sent < 18*rate {
				most = max(most, hang.add(at.Add(-30*time.Second), true))
			}
			mostSingle = max(mostSingle, single.add(at, false), single.add(at, i%(5*rate) == 0))
		}
		if most != downLeast || mostSingle != 0 {
			t.Errorf("%d/s: %d in a row in a hang, %d among good answers", rate, most, mostSingle)
		}
	}
}

// Chats that hung while a node was down, by plan or in an outage whose record has ended, fail half an hour
// later: another outage that they begin dates from after that.
func TestRequestsThatHungInAnExplainedTimeDateNoOutageIntoIt(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{true, false} {
		start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		g, p := newSigns(15*time.Minute), newProbes(time.Second)
		n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, LeaseDuration: 40 * time.Second, BootID: "first"}
		later := 0
		for s := range 2000 {
			now := start.Add(time.Duration(s) * time.Second)
			switch {
			case s == 98 && planned:
				n.Annotations = annotated(power.Note{By: "me@here", Boot: "first"}.Text())
			case s == 160:
				n.Annotations, n.BootID = nil, "second"
			case s == 500:
				g.settle(now) // the record ends
			}
			if s < 100 || s >= 160 {
				n.Renewed, n.RenewSeen = now, now
				p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: now, Sent: now, End: now}, now)
			}
			if sent := s - 1800; sent >= 100 && sent < 160 {
				at := start.Add(time.Duration(sent) * time.Second)
				p.note(loadgen.Record{Class: loadgen.ClassTotal, Scheduled: at, Sent: at, End: now}, now)
			}
			seen := *n
			for _, x := range g.observe(oneNode(now, &seen), &p, !planned && s >= 100 && s < 500, now) {
				if s < 500 {
					continue
				}
				if later++; x.At.Before(start.Add(200 * time.Second)) {
					t.Errorf("planned %v: at %d s a new outage from %s on", planned, s, x.At.Sub(start))
				}
			}
		}
		if later == 0 {
			t.Errorf("planned %v: the failures are no sign", planned)
		}
	}
}
