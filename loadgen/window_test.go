package loadgen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// outageOf returns one outage from 0 on, with a power-on unless on is 0.
func outageOf(on float64) *PowerOffs {
	o := &PowerOffs{{Off: at(0)}}
	if on > 0 {
		o.SwitchedOn("", at(on))
	}
	return o
}

// One client hung through the whole outage, a hundred short requests failed for a
// minute, and one connect timed out long after requests had succeeded again.
func TestAnErrorWindowLastsUntilTheLastFailureEnded(t *testing.T) {
	t.Parallel()
	requests := []*Record{ended(-1, ClassTruncated, 85), ended(200, ClassConnectTimeout, 3), ended(-9, ClassReset, 1)}
	for s := range 60 {
		requests = append(requests, ended(float64(s), ClassConnectTimeout, 3))
	}
	for s := 60; s < 300; s++ {
		requests = append(requests, ended(float64(s), ClassOK, 0.1))
	}
	for seed := range uint64(20) { // in any order
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		w := NewWindow(outageOf(70))
		for _, r := range requests {
			w.Note(r)
		}
		errors, later := w.Errors()
		if len(errors) != 1 || errors[0].N != 61 || errors[0].First != at(0) || errors[0].Ended != at(84) {
			t.Fatalf("the outage's windows: %+v", errors)
		}
		if later.N != 1 || later.First != at(200) || later.Length() != 3*time.Second {
			t.Errorf("later: %+v", later)
		}
		if n := w.AtZero(); n.Scheduled != 1 || n.FailedByClass[ClassTruncated] != 1 {
			t.Errorf("in flight at zero: %+v", n)
		}
		if n := w.Hung(); n.Scheduled != 1 || n.Failed != 1 {
			t.Errorf("hung: %+v", n)
		}
	}
}

func TestOnlySuccessEndsAnErrorWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		between []*Record
		later   int
	}{
		{"no requests were sent", nil, 0},
		{"the requests were cancelled", []*Record{ended(100, ClassCancelled, 1)}, 0},
		{"a request succeeded", []*Record{ended(100, ClassOK, 1)}, 1},
	} {
		w := NewWindow(outageOf(0))
		for _, r := range append([]*Record{ended(5, ClassReset, 1), ended(150, ClassReset, 1)}, tc.between...) {
			w.Note(r)
		}
		if errors, later := w.Errors(); later.N != tc.later || len(errors) != 1 || errors[0].N != 2-tc.later {
			t.Errorf("%s: %+v, later %+v", tc.name, errors, later)
		}
	}
}

// The failures of a second power-off are not later failures of the first.
func TestEachPowerOffHasItsErrorWindow(t *testing.T) {
	t.Parallel()
	o := outageOf(90)
	o.SwitchedOff("", at(300))
	o.SwitchedOff("", at(300))
	w := NewWindow(o)
	for _, s := range []float64{10, 310, 500} {
		w.Note(ended(s, ClassTotal, 3))
		w.Note(ended(s+90, ClassOK, 1))
	}
	if errors, later := w.Errors(); len(errors) != 2 || errors[1].First != at(310) || later.N != 1 || later.First != at(500) {
		t.Errorf("%+v, later %+v", errors, later)
	}
}

func TestHungCountsRequestsThatHungThroughTheOutage(t *testing.T) {
	t.Parallel()
	cancelled := func(lastByte float64) *Record {
		r := ended(-5, ClassCancelled, 200)
		r.LastByte = at(lastByte)
		return r
	}
	for name, tc := range map[string]struct {
		r    *Record
		hung int
	}{
		"failed after the power-on":         {ended(-5, ClassTruncated, 90), 1},
		"sent just after zero":              {ended(2, ClassTotal, 70), 1},
		"answered after the power-on":       {ended(-5, ClassOK, 90), 0},
		"failed before the power-on":        {ended(-5, ClassTotal, 30), 0},
		"sent just before the power-on":     {ended(58, ClassTotal, 3), 0},
		"cancelled, silent since zero":      {cancelled(-2), 1},
		"cancelled while it was answered":   {cancelled(10), 0},
		"cancelled when the program closed": {ended(-5, ClassCensored, 200), 1},
	} {
		w := NewWindow(outageOf(60))
		if w.Note(tc.r); w.Hung().Scheduled != tc.hung {
			t.Errorf("%s: %+v", name, w.Hung())
		}
	}
}

// Clients that hang until lightsout ends them hung, whether the machine stays off or they
// began to hang late. Slow answers, and requests that got bytes, are not hung.
func TestRequestsThatHangUntilTheEndHung(t *testing.T) {
	t.Parallel()
	fed := ended(40, ClassCancelled, 60)
	fed.LastByte = at(95)
	for _, tc := range []struct {
		name     string
		on       float64
		slowest  float64
		requests []*Record
		want     int
	}{
		{"the machine stays off", 0, 0.1, []*Record{ended(1, ClassCancelled, 40), ended(30, ClassCancelled, 11)}, 2},
		{"from the second half on", 60, 0.1, []*Record{ended(45, ClassCancelled, 50)}, 1},
		{"from the power-on on", 60, 0.1, []*Record{ended(61, ClassCancelled, 30)}, 1},
		{"answers are as slow", 60, 20, []*Record{ended(61, ClassCancelled, 30)}, 0},
		{"in flight when the load was stopped", 60, 0.1, []*Record{ended(89, ClassCancelled, 1)}, 0},
		{"bytes came until the end", 60, 0.1, []*Record{fed}, 0},
	} {
		w := NewWindow(outageOf(tc.on))
		for _, r := range append(tc.requests, ended(2, ClassOK, tc.slowest)) {
			w.Note(r)
		}
		if n := w.Hung(); n.Scheduled != tc.want || n.Cancelled != tc.want {
			t.Errorf("%s: %+v hung, want %d", tc.name, n, tc.want)
		}
	}
}

// Requests that all fail a second time, while the machine is still off, do so in an error
// window of the outage; after the power-on, or alone, they are later failures.
func TestASecondWaveOfTheOutageHasAnErrorWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to float64
		windows  int
	}{{68, 116, 2}, {68, 69, 1}, {130, 170, 1}} {
		w := NewWindow(outageOf(120))
		w.Note(ended(1, ClassReset, 1))
		for s := 3.0; s < tc.from; s++ {
			w.Note(ended(s, ClassOK, 0.1))
		}
		for s := tc.from; s < tc.to; s++ {
			w.Note(ended(s, ClassReset, 0.1))
		}
		if errors, later := w.Errors(); len(errors) != tc.windows || (later.N > 0) != (tc.windows == 1) {
			t.Errorf("failures from %g to %g: %+v, later %+v", tc.from, tc.to, errors, later)
		}
	}
}

// Requests that fail together because all of them wait for the same timeout were sent in the
// same moment; the clients wait for as long as the timeout lasts.
func TestRequestsThatFailTogetherHaveAnErrorWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		requests, windows int
		meanwhile         bool // others succeed
	}{{16, 2, false}, {16, 1, true}, {1, 1, false}} {
		w := NewWindow(outageOf(300))
		w.Note(ended(1, ClassReset, 1))
		for s := 3.0; s < 300; s++ {
			if s < 120 || s >= 150 || tc.meanwhile {
				w.Note(ended(s, ClassOK, 0.1))
			}
		}
		for range tc.requests {
			w.Note(ended(120, ClassTotal, 30))
		}
		if errors, later := w.Errors(); len(errors) != tc.windows || (later.N > 0) != (tc.windows == 1) {
			t.Errorf("%+v: %+v, later %+v", tc, errors, later)
		}
	}
}

func TestRequestsHangIfNoneIsOK(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		on, from, took float64
		hung           int
	}{
		"through an outage that lasts":   {0, -5, 125, 4},
		"from the second half of one on": {60, 45, 155, 4},
		"cancelled before it could tell": {60, 45, 9, 0},
	} {
		w := NewWindow(outageOf(tc.on))
		for range 4 {
			w.Note(ended(tc.from, ClassCancelled, tc.took))
		}
		if got := w.Hung().Scheduled; got != tc.hung {
			t.Errorf("%s: %d hung, wanted %d", name, got, tc.hung)
		}
	}
}

// Nobody powers the machine on, so no power-on shows that clients hung through the outage.
func TestRequestsThatTimeOutWhileAMachineStaysOffHang(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		on, took float64
		class    Class
		ok       float64 // when another began, which took 1 s; 0: none
		want     int
	}{
		"for ten minutes":                    {0, 600, ClassTotal, 3, 4},
		"and others recovered":               {0, 600, ClassTotal, 1206, 0},
		"and others are ok for a moment":     {0, 600, ClassTotal, 650, 4},
		"for a hair less than 10 s":          {0, 9.999, ClassTotal, 3, 4},
		"for less than 9.5 s":                {0, 9.49, ClassTotal, 3, 0},
		"without an answer to any":           {0, 600, ClassFirstByte, 0, 4},
		"for less than a hang":               {0, 9, ClassTotal, 3, 0},
		"and the machine was on later":       {700, 600, ClassTotal, 3, 0},
		"a reset is the server's own doing":  {0, 600, ClassReset, 3, 0},
		"cancelled in the middle of answers": {0, 90, ClassCancelled, 0, 4},
		"cancelled after a pause of answers": {0, 50, ClassCancelled, 0, 0},
	} {
		w := NewWindow(outageOf(tc.on))
		for range 4 {
			r := ended(5, tc.class, tc.took)
			if tc.class == ClassCancelled {
				r.FirstByte, r.LastByte = r.CountedAt(), r.CountedAt().Add(time.Second)
			}
			w.Note(r)
		}
		if tc.ok > 0 {
			w.Note(ended(tc.ok, ClassOK, 1))
		}
		if got := w.HungWhileOff(); got != tc.want {
			t.Errorf("%s: %d, wanted %d", name, got, tc.want)
		}
	}
}

// Clients recovered from a hang if requests were ok, and none failed, for as long as the hang
// lasted: whatever fails before or later belongs to another error window.
func TestClientsThatHangBesideOthersThatAreOKHung(t *testing.T) {
	t.Parallel()
	type span struct {
		from, to float64 // when its requests are sent, one each step
		step     float64
		class    Class
		took     float64
	}
	for name, tc := range map[string]struct {
		spans []span
		want  int
	}{
		"every second one, to the very end":      {[]span{{0, 600, 2, ClassTotal, 30}, {1, 600, 2, ClassOK, 0.2}}, 300},
		"all, and one is ok after them":          {[]span{{0, 600, 1, ClassTotal, 30}, {630, 631, 1, ClassOK, 0.2}}, 600},
		"all, and others are ok for too short":   {[]span{{0, 40, 1, ClassTotal, 30}, {70, 99, 1, ClassOK, 0.2}}, 40},
		"all, and others are ok for long enough": {[]span{{0, 40, 1, ClassTotal, 30}, {70, 101, 1, ClassOK, 0.2}}, 0},
		"early, and others fail at the end":      {[]span{{0, 40, 1, ClassTotal, 30}, {71, 600, 1, ClassOK, 0.2}, {600, 612, 1, ClassRefused, 0.2}}, 0},
		"early, and again at the end":            {[]span{{0, 40, 1, ClassTotal, 30}, {71, 600, 1, ClassOK, 0.2}, {600, 612, 1, ClassTotal, 30}}, 12},
		"early, and others fail after them":      {[]span{{0, 20, 1, ClassTotal, 30}, {0, 600, 1, ClassReset, 0.1}}, 20},
		"too long for a calm between failures":   {[]span{{0, 4, 1, ClassTotal, 120}, {124, 210, 1, ClassOK, 0.2}, {210, 212, 1, ClassReset, 0.1}}, 4},
		"and sent nothing but one after them":    {[]span{{0, 4, 1, ClassTotal, 120}, {124, 125, 1, ClassOK, 0.2}, {400, 402, 1, ClassReset, 0.1}}, 4},
	} {
		w := NewWindow(outageOf(0))
		for _, x := range tc.spans {
			for s := x.from; s < x.to; s += x.step {
				w.Note(ended(s, x.class, x.took))
			}
		}
		if got := w.HungWhileOff(); got != tc.want {
			t.Errorf("%s: %d, wanted %d", name, got, tc.want)
		}
	}
}

// A further power-off has a window of its own once requests had recovered, in whatever order they
// end, and whenever lightsout learns of the power-off. Failures that go on make one window.
func TestAFurtherPowerOffHasItsOwnErrorWindow(t *testing.T) {
	t.Parallel()
	type span struct{ from, to, took float64 }
	for name, tc := range map[string]struct {
		failed []span
		off    float64 // of the second machine
		want   string
	}{
		"after a calm":                        {[]span{{1, 4, 3}, {38.75, 41, 3}}, 37.7, "1–6.5 38.75–43.75"},
		"after a short calm":                  {[]span{{0.5, 5, 3}, {22.1, 25, 3}}, 21.4, "0.5–7.5 22.1–27.6"},
		"in flight at the second power-off":   {[]span{{1, 4, 3}, {37, 41, 3}}, 37.7, "1–6.5 37–43.5"},
		"before the failures have ended":      {[]span{{1, 30, 3}, {22, 41, 3}}, 21.4, "1–43.5"},
		"a few at a time, for as long as off": {[]span{{1, 2, 3}, {9, 10, 3}, {17, 18, 3}, {25, 26, 3}, {33, 34, 3}}, 21.4, "1–36.5"},
		"and the second one goes off later":   {[]span{{1, 4, 3}, {38.75, 41, 3}}, 80, "1–43.75"},
	} {
		var requests []*Record
		for s := 0.0; s < 100; s++ {
			requests = append(requests, ended(s+0.25, ClassOK, 0.2))
		}
		for _, x := range tc.failed {
			for s := x.from; s < x.to; s += 0.5 {
				requests = append(requests, ended(s, ClassTotal, x.took))
			}
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range 20 {
			o := &PowerOffs{}
			o.SwitchedOff("n1", at(0))
			o.SwitchedOn("n1", at(20))
			late := i%2 == 0
			if !late {
				o.SwitchedOff("n2", at(tc.off))
			}
			w := NewWindow(o)
			rnd.Shuffle(len(requests), func(i, k int) { requests[i], requests[k] = requests[k], requests[i] })
			for _, r := range requests {
				w.Note(r)
			}
			if late {
				o.SwitchedOff("n2", at(tc.off))
			}
			errors, _ := w.Errors()
			var got []string
			for _, f := range errors {
				got = append(got, fmt.Sprintf("%g–%g", f.First.Sub(at(0)).Seconds(), f.Ended.Sub(at(0)).Seconds()))
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Fatalf("%s, order %d: %s, wanted %s", name, i, s, tc.want)
			}
		}
	}
}

// Of two machines one is powered on, and clients hang because of the other one.
func TestAPowerOnEndsTheOutageOfItsOwnMachine(t *testing.T) {
	t.Parallel()
	var o PowerOffs
	o.SwitchedOff("", at(0))
	o.SwitchedOff("n1", at(0)) // the first one has its name now
	o.SwitchedOff("n2", at(0))
	o.SwitchedOn("n1", at(60))
	w := NewWindow(&o)
	for range 4 {
		w.Note(ended(100, ClassTotal, 600))
	}
	if got := w.HungWhileOff(); got != 4 || len(o) != 2 {
		t.Errorf("%d hung, wanted 4; %+v", got, o)
	}
	o.SwitchedOn("n2", at(720))
	if got := w.HungWhileOff(); got != 0 {
		t.Errorf("%d hung while a machine stayed off, and all are on again", got)
	}
	if got := o.FirstOn(); !got.Equal(at(60)) {
		t.Errorf("the first power-on was at %s: %+v", got, o)
	}
	o.SwitchedOff("n1", at(-5)) // noticed late
	if got := o[len(o)-1].Off; !got.Equal(at(0)) {
		t.Errorf("a power-off before the last one is at %s", got)
	}
}

// A record of an early version has one power-on, the first, for all power-offs before it.
func TestARecordOfAnEarlyVersionHasOnePowerOnForAll(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		outages PowerOffs
		want    int
	}{
		{PowerOffs{{Off: at(0), On: at(60)}, {Off: at(5), On: at(60)}}, 0},
		{PowerOffs{{Off: at(0), On: at(60)}, {Off: at(80)}}, 4},
		{PowerOffs{{Off: at(0), On: at(60)}, {Off: at(800)}}, 0},
	} {
		w := NewWindow(&tc.outages)
		for range 4 {
			w.Note(ended(100, ClassTotal, 600))
		}
		if got := w.HungWhileOff(); got != tc.want {
			t.Errorf("%+v: %d hung, wanted %d", tc.outages, got, tc.want)
		}
	}
}
