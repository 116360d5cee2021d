package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"

	"github.com/charmbracelet/x/ansi"
)

// runs are records of the same trial: the second is 0.3 s slower, the third
// misses the forecast and a phase.
func runs() []*record.Record {
	var out []*record.Record
	for i := range 3 {
		r := mdxRecord()
		r.Dir = fmt.Sprintf("/records/mdx-%d", i+1)
		for j := range r.Summary.Phases {
			x := &r.Summary.Phases[j]
			if o := x.Observed; o != nil {
				x.Observed = p(*o + []float64{0, 0.3, 1.6}[i])
			}
			if x.Observed != nil && x.Predicted != nil {
				x.Inside = yes(x.Predicted[0] <= *x.Observed && *x.Observed <= x.Predicted[1])
			}
		}
		out = append(out, r)
	}
	s := out[2].Summary
	for j := range s.Phases {
		if s.Phases[j].Name == view.PhaseRestored {
			s.Phases[j].Observed = nil
		}
	}
	s.Phases = append(s.Phases[:4:4], s.Phases[5:]...) // kube-node3 was never ready
	s.Settings[0].Value = "6s"
	s.Load[1].PeakServed = 7
	return out
}

func compareText(t *testing.T, rs []*record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := Compare(&b, rs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisonsAreAsTheyWereAccepted(t *testing.T) {
	golden(t, "compare.txt", []byte(compareText(t, append(runs(), tornRecord()))))
	var b bytes.Buffer
	if err := CompareMarkdown(&b, append(runs(), tornRecord())); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.md", b.Bytes())
}

func TestAComparisonAlignsPhasesByNameAndSubject(t *testing.T) {
	text := compareText(t, runs())
	for _, want := range []string{
		"4.6 in 4.0–5.0", "4.9 +0.3 in 4.0–5.0", "6.2 +1.6 OUT 4.0–5.0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	found := false
	for _, l := range strings.Split(text, "\n") {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "ready" && f[1] == "kube-node3" {
			found = true
			if f[len(f)-1] != none {
				t.Errorf("the phase that the third run lacks: %q", l)
			}
		}
	}
	if !found {
		t.Error("no row for kube-node3 ready")
	}
	if !strings.Contains(text, "node-monitor-grace-period") || strings.Contains(text, "node-monitor-period ") {
		t.Error("exactly the settings that differ are listed")
	}
}

// A comparison has no error window of "none" if requests hung or none was sent.
func TestAComparisonShowsWhyThereIsNoErrorWindow(t *testing.T) {
	fine, silent, hung, few := bare(), bare(), bare(), bare()
	silence(silent)
	silence(hung)
	hung.Summary.Load = []record.Load{{Step: "clients", Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: 16, Cancelled: 16}}}}
	few.Summary.Load = []record.Load{{Step: "clients", Counts: loadgen.Counts{Scheduled: 5002, OK: 2, Unsent: 5000}}}
	for _, tc := range []struct {
		r    *record.Record
		want []string
	}{
		{fine, []string{`error window +load +none`}},
		{silent, []string{`error window +load +no requests were sent`}},
		{hung, []string{`error window +load +16 requests hung until lightsout ended them`, `clients +hung +16: 16 cancelled`}},
		{few, []string{`clients +unsent +5000`}},
	} {
		asks(tc.r, "k8s2", 0, power.ActionOff, power.StageSending)
		down(tc.r, "k8s2", view.SpanOff, 1, 400)
		tc.r.Summary.Phases = []view.Phase{{Name: view.PhaseErrors, Subject: "load", Predicted: iv(0, 60)}}
		got := compareText(t, []*record.Record{tc.r})
		for _, want := range tc.want {
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
}

// An expectation that nobody observed is not one that was missed.
func TestAComparisonTellsUnobservedFromMissed(t *testing.T) {
	for want, e := range map[string]view.Expectation{
		"yes: 4 s":                     {OK: true, Got: "4 s"},
		"NO: 9 s":                      {Got: "9 s"},
		"not observed":                 {Got: "not observed", Unobserved: true},
		"not observed: the load ended": {Got: "not observed: the load ended", Unobserved: true},
		"not observed: k8s2 between 4.0 s and…": {Got: "k8s2 between 4.0 s and 50.0 s", Unobserved: true},
	} {
		if got := held(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Names that begin alike, or come twice, have a row each in a comparison.
func TestAComparisonKeepsNamesThatBeginAlikeApart(t *testing.T) {
	long := "requests of the first customer, while "
	var rs []*record.Record
	for i := range 2 {
		at := func(n int) *float64 { return p(float64(n + 100*i)) }
		s := &record.Summary{}
		for j, end := range []string{"k8s2 is off", "k8s3 is off", "k8s3 is off"} {
			s.Load = append(s.Load, record.Load{Step: long + end, Sent: 11 + j + 100*i})
			s.Expectations = append(s.Expectations, view.Expectation{Name: "failed of " + long + end, Want: "at most 10, of all that were sent " + end, Got: itoa(21 + j + 100*i), OK: true})
			s.Settings = append(s.Settings, record.Setting{Name: "grace of " + long + end, Value: itoa(31 + j + 100*i)})
			s.Phases = append(s.Phases, view.Phase{Name: view.PhaseOff, Subject: "a-node-with-a-very-" + end + "-long-name-of-a-rack", Observed: at(41 + j)})
		}
		if i == 1 { // another order
			s.Load[0], s.Load[1] = s.Load[1], s.Load[0]
			s.Phases[0], s.Phases[1] = s.Phases[1], s.Phases[0]
			s.Load[0].Sent, s.Load[1].Sent = 112, 111
		}
		rs = append(rs, &record.Record{Dir: fmt.Sprintf("/r/%d", i+1), Summary: s, Start: zero, End: zero})
	}
	s := rs[1].Summary
	s.Expectations = s.Expectations[1:]
	got := compareText(t, rs)
	for _, n := range []string{"11", "12", "13"} {
		row := regexp.MustCompile(`(?m)^.* sent +` + n + ` +1` + n + ` *$`)
		if !row.MatchString(got) {
			t.Errorf("no row with %s requests and 1%s", n, n)
		}
	}
	for _, want := range []string{`yes: 21 +` + none, `yes: 22 +yes: 122`, `yes: 23 +yes: 123`, `41\.0 +141\.0 \+100\.0`, `42\.0 +142\.0 \+100\.0`, `43\.0 +143\.0 \+100\.0`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no row %s", want)
		}
	}
	names := map[string]bool{}
	for _, m := range matrices(rs) {
		for _, r := range m.Rows {
			id := m.Title
			for _, c := range r[:m.keys] {
				id += "\x00" + c.Text
			}
			if names[id] {
				t.Errorf("two rows are called %q", id)
			}
			names[id] = true
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestManyRunsStayWithinTheTerminal(t *testing.T) {
	var rs []*record.Record
	for i := range 20 {
		r := mdxRecord()
		r.Dir = fmt.Sprintf("/records/%d/run", i) // all of one name
		rs = append(rs, r)
	}
	rs[7].Summary = nil
	text := compareText(t, rs)
	for _, l := range strings.Split(text, "\n") {
		if ansi.StringWidth(l) > compareWidth && !strings.HasPrefix(l, "  ") {
			t.Errorf("%d columns: %q", ansi.StringWidth(l), l)
		}
	}
	if n := strings.Count(text, "4.6"); n < 2*19 {
		t.Errorf("only %d of the 38 detections are shown", n)
	}
	if !strings.Contains(text, "run (20)") {
		t.Error("runs of one name are told apart")
	}
}

func TestNothingToCompareIsAnError(t *testing.T) {
	var b bytes.Buffer
	if Compare(&b, nil) == nil || CompareMarkdown(&b, nil) == nil || b.Len() > 0 {
		t.Error("no records, no error")
	}
}

func TestAgreementCountsDistancesFromTheForecast(t *testing.T) {
	of := func(dir string, phases ...view.Phase) *record.Record {
		return &record.Record{Dir: dir, Summary: &record.Summary{Phases: phases}}
	}
	d := view.PhaseDetected
	rs := []*record.Record{
		of("/r/a",
			view.Phase{Name: d, Subject: "n1", Predicted: iv(40, 50), Observed: p(40)},                                          // on the edge is inside
			view.Phase{Name: d, Subject: "n2", Predicted: iv(40, 50), Observed: p(51.5), First: iv(40, 60)},                     // 1.5 s late
			view.Phase{Name: view.PhaseEvicted, Subject: "n1", Predicted: iv(340, 350), Observed: p(336), First: iv(337, 350)}), // 4 s early
		of("/r/b",
			view.Phase{Name: d, Subject: "n1", Predicted: iv(40, 50), Observed: p(50.1), Inside: yes(true)}, // what the record claims does not count
			view.Phase{Name: d, Subject: "n2", Predicted: iv(40, 50)},
			view.Phase{Name: d, Subject: "n3", Observed: p(45)},
			view.Phase{Name: "a new phase", Subject: "x", Observed: p(1)}),
		tornRecord(),
	}
	got := agreement(rs)
	want := []agreementRow{
		{Phase: d, Pairs: 3, Inside: 1, Near: 3, Largest: 1.5, LargestRun: "a", LargestSubject: "n2", FirstPairs: 1, FirstInside: 1, Unobserved: 1, Unforecast: 1},
		{Phase: view.PhaseEvicted, Pairs: 1, Largest: -4, LargestRun: "a", LargestSubject: "n1", FirstPairs: 1},
		{Phase: "a new phase", Unforecast: 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows: %+v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
	table := agreementTable(rs).within(compareWidth)
	if row := strings.Join(strings.Fields(table[2]), " "); row != "detected 3 1 of 3 3 of 3 1 of 1 1 1 1.5 s late a, n2" {
		t.Errorf("the row is %q in\n%s", row, strings.Join(table, "\n"))
	}
}

// A hidden phase misses its forecast by at least the distance to the time in which it can have
// happened, and meets it if all of that time is within it.
func TestAHiddenPhaseCountsWithTheTimeInWhichItCanHaveHappened(t *testing.T) {
	from, at := 10.0, 20.0
	for name, tc := range map[string]struct {
		forecast      [2]float64
		pairs, inside int
		largest       float64
	}{
		"within":        {[2]float64{5, 25}, 1, 1, 0},
		"perhaps early": {[2]float64{15, 25}, 0, 0, 0},
		"perhaps late":  {[2]float64{5, 15}, 0, 0, 0},
		"late":          {[2]float64{5, 9}, 1, 0, 1},
		"early":         {[2]float64{22, 30}, 1, 0, -2},
	} {
		var a agreementRow
		a.count(view.Phase{Name: view.PhaseEndpointsOut, Subject: "n1", Predicted: &tc.forecast, First: &tc.forecast, Observed: &at, HiddenFrom: &from}, "run 1")
		if a.Pairs != tc.pairs || a.Inside != tc.inside || a.Largest != tc.largest || a.FirstPairs != tc.pairs || a.FirstInside != tc.inside {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
