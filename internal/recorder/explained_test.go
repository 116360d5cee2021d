package recorder

import (
	"fmt"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// explainedWorld is a node and a service over some time, all in seconds.
type explainedWorld struct {
	// every is the interval between two requests, and limit after which a request that got no
	// answer fails; 0: it is refused at once.
	every, limit int
	// answers reports whether the service answers a request that is sent then.
	answers func(second int) bool
	// off are the spans in which the machine is off by plan, fails is one in which it fails.
	off   [][2]int
	fails [2]int
	// settled is when the record of an earlier outage ends; 0: there is none.
	settled int
	until   int
}

// requestSigns returns the signs of failed requests that begin an outage.
func (w explainedWorld) requestSigns(start time.Time) (found []record.Sign) {
	g, p := newSigns(15*time.Minute), newProbes(time.Duration(w.every)*time.Second)
	n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, LeaseDuration: 40 * time.Second, BootID: "0"}
	for s := range w.until {
		now, up := start.Add(time.Duration(s)*time.Second), s < w.fails[0] || s >= w.fails[1]
		for i, off := range w.off {
			switch s {
			case off[0] - 2:
				n.Annotations = annotated(power.Note{By: "me@here", Boot: n.BootID}.Text())
			case off[1]:
				n.Annotations, n.BootID = nil, fmt.Sprint(i+1)
			}
			up = up && (s < off[0] || s >= off[1])
		}
		if up {
			n.Renewed, n.RenewSeen = now, now
		}
		if s%w.every == 0 && w.answers(s) {
			p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: now, Sent: now, End: now}, now)
		}
		if sent := s - w.limit; sent >= 0 && sent%w.every == 0 && !w.answers(sent) {
			at, class := start.Add(time.Duration(sent)*time.Second), loadgen.ClassFirstByte
			if w.limit == 0 {
				class = loadgen.ClassRefused
			}
			p.note(loadgen.Record{Class: class, Scheduled: at, Sent: at, End: now}, now)
		}
		seen := *n
		for _, x := range g.observe(oneNode(now, &seen), &p, s < w.settled, now) {
			if x.Kind == view.SignRequests && s > w.settled {
				found = append(found, x)
			}
		}
		if s > 0 && s == w.settled {
			g.settle(&p, now)
		}
	}
	return found
}

// What fails because of a planned switch-off, or in an outage whose record has ended, begins no outage once
// the service has answered since. What fails for longer, or again, does, at once.
func TestOnlyFailuresThatNothingExplainsBeginAnOutage(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	except := func(from, to int) func(int) bool { return func(s int) bool { return s < from || s >= to } }
	const never = 1 << 20
	one := [][2]int{{100, 160}} // its return explains failures until 220 s
	var inTurn [][2]int
	for from := 100; from < 3000; from += 142 { // 20 s between two plans
		inTurn = append(inTurn, [2]int{from, from + 60})
	}
	for name, tc := range map[string]struct {
		explainedWorld
		at, noticed int // at 0: no outage begins
	}{
		"refused until the end of the plan":      {explainedWorld{every: 1, answers: except(100, 215), off: one}, 0, 0},
		"hung until the end of the plan":         {explainedWorld{every: 1, limit: 30, answers: except(100, 215), off: one}, 0, 0},
		"refused until the end, once a minute":   {explainedWorld{every: 60, answers: except(100, 200), off: one}, 0, 0},
		"hung until the end, once a minute":      {explainedWorld{every: 60, limit: 50, answers: except(100, 200), off: one}, 0, 0},
		"hung until the end, long after":         {explainedWorld{every: 1, limit: 300, answers: except(100, 200), off: one, settled: 221}, 0, 0},
		"hung in an outage, long after":          {explainedWorld{every: 1, limit: 600, answers: except(100, 180), fails: [2]int{100, 160}, settled: 460}, 0, 0},
		"hung while it was off, limit 90 s":      {explainedWorld{every: 1, limit: 90, answers: except(100, 160), off: one}, 0, 0},
		"refused after the plan":                 {explainedWorld{every: 1, answers: except(100, never), off: one}, 220, 220},
		"hangs after the plan":                   {explainedWorld{every: 1, limit: 30, answers: except(100, never), off: one}, 220, 221},
		"hangs after the plan, limit 90 s":       {explainedWorld{every: 1, limit: 90, answers: except(100, never), off: one}, 220, 221},
		"hangs after the plan, once a minute":    {explainedWorld{every: 60, limit: 30, answers: except(100, never), off: one}, 220, 270},
		"hangs through plans in succession":      {explainedWorld{every: 1, limit: 30, answers: except(100, never), off: inTurn}, 220, 221},
		"hangs just before a record ends":        {explainedWorld{every: 1, limit: 30, answers: except(671, 700), settled: 700}, 670, 702},
		"refused before and after a record ends": {explainedWorld{every: 60, answers: except(655, 725), settled: 700}, 600, 720},
	} {
		tc.until = 1200
		news := tc.requestSigns(start)
		if len(news) > 0 != (tc.at > 0) {
			t.Errorf("%s: %+v", name, news)
			continue
		}
		for _, x := range news[:min(1, len(news))] {
			if at, noticed := x.At.Sub(start).Seconds(), x.Noticed.Sub(start).Seconds(); at != float64(tc.at) || noticed != float64(tc.noticed) {
				t.Errorf("%s: from %.0f s on, noticed at %.0f s", name, at, noticed)
			}
		}
	}
}

// Answers take a minute. The service hangs for good after the first two: the requests that were in flight
// then are the first to fail.
func TestRequestsInFlightAtTheFirstAnswerMayFail(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	second := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	p := newProbes(time.Second)
	for s := range 124 {
		if s == 60 || s == 61 {
			p.note(loadgen.Record{Class: loadgen.ClassOK, Scheduled: second(s - 60), Sent: second(s - 60), End: second(s)}, second(s))
		}
		if sent := s - 120; sent >= 2 {
			p.note(loadgen.Record{Class: loadgen.ClassFirstByte, Scheduled: second(sent), Sent: second(sent), End: second(s)}, second(s))
		}
	}
	if _, failing := p.failing(second(123)); !failing {
		t.Error("the failures are no sign")
	}
}
