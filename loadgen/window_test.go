package loadgen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var spellStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return spellStart.Add(time.Duration(s * float64(time.Second))) }

// ended is a request of the given second that took so long.
func ended(sent float64, class Class, took float64) *Record {
	return &Record{Class: class, Scheduled: at(sent), Sent: at(sent), End: at(sent + took)}
}

// each are requests that were sent from one second up to another, one each step.
func each(from, to, step float64, class Class, took float64) (out []*Record) {
	for s := from; s < to; s += step {
		out = append(out, ended(s, class, took))
	}
	return out
}

// fed is a request that lightsout ended, and when its last byte had come.
func fed(sent, lastByte, end float64) *Record {
	r := ended(sent, ClassCancelled, end-sent)
	r.LastByte = at(lastByte)
	return r
}

// off are power-off requests, each with its power-on request; 0: none.
func off(times ...[2]float64) (out PowerOffs) {
	for _, x := range times {
		o := PowerOff{Off: at(x[0])}
		if x[1] > 0 {
			o.On = at(x[1])
		}
		out = append(out, o)
	}
	return out
}

// The findings about an outage, whatever the order in which its requests end: windows and later
// failures, "again" if the service was down in these, "open" if the last window has no end, how the
// requests in flight at zero ended, and those that hung.
func TestAnErrorWindowLastsUntilTheLastFailureEnded(t *testing.T) {
	t.Parallel()
	ok := func(from, to float64) []*Record { return each(from, to, 1, ClassOK, 0.2) }
	calm := ok(0.25, 200)
	early := &Record{Class: ClassConnectTimeout, Scheduled: at(-1.8), Dial: at(-1.8), End: at(1.2)}
	for name, tc := range map[string]struct {
		outages  PowerOffs
		requests [][]*Record
		want     string
	}{
		"one hung, a hundred failed, and one failed later": {off([2]float64{0, 70}), [][]*Record{
			{ended(-1, ClassTruncated, 85), ended(200, ClassConnectTimeout, 3), ended(-9, ClassReset, 1)}, each(0, 60, 1, ClassConnectTimeout, 3), ok(60, 300),
		}, "0–84 later 200–203; at zero: 1 failed (1 truncated); hung: 1 failed (1 truncated)"},
		"nothing was sent in a calm":      {off([2]float64{0, 0}), [][]*Record{{ended(5, ClassReset, 1), ended(150, ClassReset, 1)}}, "5–151 open"},
		"all were cancelled in a calm":    {off([2]float64{0, 0}), [][]*Record{{ended(5, ClassReset, 1), ended(150, ClassReset, 1), ended(100, ClassCancelled, 1)}}, "5–151 open"},
		"one was ok in a calm":            {off([2]float64{0, 0}), [][]*Record{{ended(5, ClassReset, 1), ended(150, ClassReset, 1), ended(100, ClassOK, 1)}}, "5–6 later 150–151"},
		"59 s without a failure":          {off([2]float64{0, 0}), [][]*Record{calm, {ended(1, ClassReset, 1), ended(61, ClassReset, 1)}}, "1–62"},
		"no failure for 12 s at the end":  {off([2]float64{0, 0}), [][]*Record{ok(0, 15), {ended(1, ClassReset, 1)}}, "1–2"},
		"no failure for 8 s at the end":   {off([2]float64{0, 0}), [][]*Record{ok(0, 11), {ended(1, ClassReset, 1)}}, "1–2 open"},
		"every third fails until the end": {off([2]float64{0, 0}), [][]*Record{ok(0.5, 90), each(1, 90, 3, ClassReset, 1)}, "1–89 open"},
		"a stray failure at the end":      {off([2]float64{0, 0}), [][]*Record{calm, {ended(1, ClassReset, 1), ended(198, ClassReset, 1)}}, "1–2 later 198–199"},
		"down again":                      {off([2]float64{0, 20}), [][]*Record{ok(3, 70), ok(90, 200), {ended(1, ClassReset, 1)}, each(70, 90, 1, ClassReset, 0.1)}, "1–2 later 70–89.1 again"},
		"down again until the end":        {off([2]float64{0, 20}), [][]*Record{ok(3, 70), {ended(1, ClassReset, 1)}, each(70, 90, 1, ClassReset, 0.1)}, "1–2 later 70–89.1 again open"},
		"some fail again beside others":   {off([2]float64{0, 20}), [][]*Record{calm, {ended(1, ClassReset, 1)}, each(70, 90, 2, ClassReset, 0.1)}, "1–2 later 70–88.1"},
		"each power-off has a window": {off([2]float64{0, 90}, [2]float64{300, 0}, [2]float64{300, 0}), [][]*Record{
			{ended(10, ClassTotal, 3), ended(100, ClassOK, 1), ended(310, ClassTotal, 3), ended(400, ClassOK, 1), ended(500, ClassTotal, 3), ended(590, ClassOK, 1)},
		}, "10–13 310–313 later 500–503"},
		"a further power-off after a calm":    {off([2]float64{0, 20}, [2]float64{37.7, 0}), [][]*Record{calm, each(1, 4, 0.5, ClassTotal, 3), each(38.75, 41, 0.5, ClassTotal, 3)}, "1–6.5 38.75–43.75"},
		"in flight at the further one":        {off([2]float64{0, 20}, [2]float64{37.7, 0}), [][]*Record{calm, each(1, 4, 0.5, ClassTotal, 3), each(37, 41, 0.5, ClassTotal, 3)}, "1–6.5 37–43.5"},
		"a further one while requests fail":   {off([2]float64{0, 20}, [2]float64{21.4, 0}), [][]*Record{calm, each(1, 30, 0.5, ClassTotal, 3), each(22, 41, 0.5, ClassTotal, 3)}, "1–43.5"},
		"a further one long after failures":   {off([2]float64{0, 20}, [2]float64{80, 0}), [][]*Record{calm, each(1, 4, 0.5, ClassTotal, 3), each(38.75, 41, 0.5, ClassTotal, 3)}, "1–43.75"},
		"it had no connection at zero":        {off([2]float64{0, 60}), [][]*Record{ok(1, 20), {early}}, "; before: 1"},
		"nothing was asked":                   {off([2]float64{0, 20}), [][]*Record{{ended(-5, ClassOK, 1), ended(3, ClassCancelled, 2)}}, "unasked"},
		"nothing was switched":                {off(), [][]*Record{{ended(5, ClassReset, 1)}}, ""},
		"hung, sent just after zero":          {off([2]float64{0, 60}), [][]*Record{{ended(2, ClassTotal, 70)}, ok(132, 140)}, "2–72; hung: 1 failed (1 total timeout)"},
		"ok after the power-on":               {off([2]float64{0, 60}), [][]*Record{{ended(-5, ClassOK, 90)}}, "; at zero: 1 ok"},
		"failed before the power-on":          {off([2]float64{0, 60}), [][]*Record{{ended(2, ClassTotal, 30)}}, "2–32 open"},
		"sent just before the power-on":       {off([2]float64{0, 60}), [][]*Record{{ended(58, ClassTotal, 30)}}, "58–88 open"},
		"silent since zero, until the end":    {off([2]float64{0, 60}), [][]*Record{ok(1, 2), {fed(-5, -2, 195)}}, "; at zero: 1 cancelled; hung: 1 cancelled"},
		"bytes until the end":                 {off([2]float64{0, 60}), [][]*Record{ok(1, 2), {fed(40, 95, 100)}}, ""},
		"the machine stays off":               {off([2]float64{0, 0}), [][]*Record{ok(2, 3), {ended(1, ClassCancelled, 40), ended(30, ClassCensored, 11)}}, "; hung: 2 cancelled"},
		"hung from the second half on":        {off([2]float64{0, 60}), [][]*Record{ok(2, 3), {ended(45, ClassCancelled, 50)}}, "; hung: 1 cancelled"},
		"slow answers":                        {off([2]float64{0, 60}), [][]*Record{{ended(2, ClassOK, 20), ended(61, ClassCancelled, 30)}}, ""},
		"in flight when the load was stopped": {off([2]float64{0, 60}), [][]*Record{ok(2, 3), {ended(89, ClassCancelled, 1)}}, ""},
	} {
		var requests []*Record
		for _, list := range tc.requests {
			requests = append(requests, list...)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 5 {
			rnd.Shuffle(len(requests), func(i, k int) { requests[i], requests[k] = requests[k], requests[i] })
			w, zero := NewWindow(), time.Time{}
			if len(tc.outages) > 0 {
				zero = tc.outages[0].Off
			}
			for _, r := range requests {
				w.Note(r, zero, zero)
			}
			if got := findings(w, tc.outages); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", name, got, tc.want)
				break
			}
		}
	}
}

// findings are the answers of a window to all queries about outages.
func findings(w *Window, outages PowerOffs) string {
	var out []string
	span := func(f Failures) string {
		return fmt.Sprintf("%g–%g", f.First.Sub(at(0)).Seconds(), f.Ended.Sub(at(0)).Seconds())
	}
	found := w.Findings(outages)
	for _, f := range found.ErrorWindows {
		out = append(out, span(f))
	}
	if found.LaterFailures.N > 0 {
		out = append(out, "later "+span(found.LaterFailures))
	}
	for _, x := range []struct {
		is   bool
		word string
	}{{found.DownAgain, "again"}, {found.Unasked, "unasked"}, {found.Unrecovered, "open"}} {
		if x.is {
			out = append(out, x.word)
		}
	}
	text := strings.Join(out, " ")
	if n := w.Before; n > 0 {
		text += fmt.Sprintf("; before: %d", n)
	}
	if n := w.AtZero(); n.Scheduled > 0 {
		text += "; at zero: " + n.Ends()
	}
	if n := w.Hung(outages); n.Scheduled > 0 {
		text += "; hung: " + n.Ends()
	}
	return text
}

// A request that found no connection since a drain began fails because of the drain, and counts from the power-off.
func TestAConnectionThatADrainKeptFromARequestCounts(t *testing.T) {
	r := &Record{Class: ClassConnectTimeout, Scheduled: at(8.4), Sent: at(8.4), Dial: at(8.4), End: at(11.4)}
	for drained, want := range map[time.Time]string{at(8): "10–11.4 open; at zero: 1 failed (1 connect timeout)", at(10): "unasked; before: 1"} {
		w := NewWindow()
		w.Note(r, at(10), drained)
		if got := findings(w, PowerOffs{{Off: at(10)}}); got != want {
			t.Errorf("a drain at %s: %q", drained.Sub(at(0)), got)
		}
	}
}
