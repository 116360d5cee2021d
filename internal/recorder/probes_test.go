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
	signs := 0
	end := func(c loadgen.Class, sent, at float64) {
		p.note(loadgen.Record{Class: c, Scheduled: second(sent), Sent: second(sent), End: second(at)}, second(at))
		r.add(ended(second(sent), c.Failed()))
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
	if n := r.longest(start, second(60), nil); signs == 0 || n != 8 {
		t.Errorf("%d signs; %d failed in a row, want 8", signs, n)
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

// Chats that hung while a node was down, by plan or in an outage whose record has ended, fail half an hour
// later: they begin no other outage.
func TestRequestsThatHungInAnExplainedTimeBeginNoOutage(t *testing.T) {
	t.Parallel()
	for _, planned := range []bool{true, false} {
		start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
		g, p := newSigns(15*time.Minute), newProbes(time.Second)
		n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, LeaseDuration: 40 * time.Second, BootID: "first"}
		for s := range 2000 {
			now := start.Add(time.Duration(s) * time.Second)
			switch {
			case s == 98 && planned:
				n.Annotations = annotated(power.Note{By: "me@here", Boot: "first"}.Text())
			case s == 160:
				n.Annotations, n.BootID = nil, "second"
			case s == 500:
				g.settle(&p, now) // the record ends
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
				if s >= 500 {
					t.Errorf("planned %v: at %d s a new outage from %s on", planned, s, x.At.Sub(start))
				}
			}
		}
	}
}

// A target hangs until it is up, and its requests fail when all others are ok: what nobody had seen
// working has not failed.
func TestRequestsThatHungBeforeTheFirstAnswerAreNoSign(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	p := newProbes(time.Second)
	for s := range 80 {
		now := start.Add(time.Duration(s) * time.Second)
		if s >= 20 {
			p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: now, Sent: now, End: now}, now)
		}
		if sent := s - 30; sent >= 0 && sent < 20 {
			at := start.Add(time.Duration(sent) * time.Second)
			p.note(loadgen.Record{Class: loadgen.ClassFirstByte, Scheduled: at, Sent: at, End: now}, now)
		}
		if since, failing := p.failing(now); failing {
			t.Fatalf("at %d s: they fail since %s", s, since.Sub(start))
		}
	}
}

// Requests that hung in a planned switch-off fail just when the plan explains no more, or after somebody
// has deleted the node: they begin no outage.
func TestRequestsThatHungInAPlanBeginNoOutageAtItsEnd(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	for _, tc := range []struct {
		limit   int
		deleted bool
	}{{30, false}, {90, false}, {110, false}, {130, false}, {1800, true}} {
		g, p := newSigns(15*time.Minute), newProbes(time.Second)
		n1 := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, LeaseDuration: 40 * time.Second, BootID: "first"}
		for s := range 2000 {
			now := start.Add(time.Duration(s) * time.Second)
			back := s >= 160 && !tc.deleted
			switch {
			case s == 98:
				n1.Annotations = annotated(power.Note{By: "me@here", Boot: "first"}.Text())
			case s == 160 && back:
				n1.Annotations, n1.BootID = nil, "second"
			}
			if s < 100 || back {
				n1.Renewed, n1.RenewSeen = now, now
			}
			if s < 100 || s >= 160 {
				p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: now, Sent: now, End: now}, now)
			}
			if sent := s - tc.limit; sent >= 100 && sent < 160 {
				at := start.Add(time.Duration(sent) * time.Second)
				p.note(loadgen.Record{Class: loadgen.ClassFirstByte, Scheduled: at, Sent: at, End: now}, now)
			}
			seen := *n1
			snapshot := oneNode(now, &seen)
			if tc.deleted && s >= 300 {
				snapshot = oneNode(now, &cluster.Node{Name: "n2", Ready: cluster.TriTrue, Renewed: now, RenewSeen: now})
			}
			for _, x := range g.observe(snapshot, &p, false, now) {
				t.Errorf("limit %d s, deleted %v: at %d s %s from %s on", tc.limit, tc.deleted, s, x.Kind, x.At.Sub(start))
			}
		}
	}
}
