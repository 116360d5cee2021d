package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"

	"github.com/charmbracelet/x/ansi"
)

// compareWidth is that of the terminal for which the tests compare.
const compareWidth = 120

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
	if err := Compare(&b, rs, compareWidth); err != nil {
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

// A comparison has no error window of "none" if requests hung or none was sent.
func TestAComparisonShowsWhyThereIsNoErrorWindow(t *testing.T) {
	fine, silent, early, hung, few := bare(), bare(), bare(), bare(), bare()
	silence(silent)
	silence(hung)
	silence(early)
	early.Zero, early.Seconds[5].Sent, early.Seconds[5].OK = at(20), 1, 1
	hung.Summary.Load = []record.Load{{Step: "clients", Failures: record.Failures{Hung: &loadgen.Counts{Scheduled: 16, Cancelled: 16}}}}
	few.Summary.Load = []record.Load{{Step: "clients", Counts: loadgen.Counts{Scheduled: 5002, OK: 2, Unsent: 5000}}}
	for _, tc := range []struct {
		r    *record.Record
		want []string
	}{
		{fine, []string{`error window +load +no request failed`}},
		{silent, []string{`error window +load +lightsout sent no requests`}},
		{early, []string{`error window +load +lightsout sent no requests`}},
		{hung, []string{`clients +hung +16`}},
		{few, []string{`clients +else +5000 unsent`}},
	} {
		asks(tc.r, "k8s2", 0, power.ActionOff, power.StageSending)
		down(tc.r, "k8s2", outage.SpanOff, 1, 400)
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
		"not observed: k8s2 between 4.0 s and 50.0 s": {Got: "k8s2 between 4.0 s and 50.0 s", Unobserved: true},
	} {
		if got := expectationMatrix([]*record.Record{{Summary: &record.Summary{Expectations: []view.Expectation{e}}}}).Rows[0][2].Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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

// The record's own verdict counts; nobody knows of a hidden phase whether it was inside.
func TestAgreementCountsDistancesFromTheForecast(t *testing.T) {
	of := func(dir string, phases ...view.Phase) *record.Record {
		return &record.Record{Dir: dir, Summary: &record.Summary{Phases: phases}}
	}
	d := view.PhaseDetected
	rs := []*record.Record{
		of("/r/a",
			view.Phase{Name: d, Subject: "n1", Predicted: iv(40, 50), Observed: p(40), Inside: yes(true)},
			view.Phase{Name: d, Subject: "n2", Predicted: iv(40, 50), Observed: p(51.5), Inside: yes(false)},
			view.Phase{Name: view.PhaseEvicted, Subject: "n1", Predicted: iv(340, 350), Observed: p(336), Inside: yes(false)}),
		of("/r/b",
			view.Phase{Name: d, Subject: "n1", Predicted: iv(40, 50), Observed: p(49)},
			view.Phase{Name: d, Subject: "n2", Predicted: iv(40, 50)},
			view.Phase{Name: d, Subject: "n3", Observed: p(45)},
			view.Phase{Name: "a new phase", Subject: "x", Observed: p(1)}),
		tornRecord(),
	}
	want := "detected|1 of 2|2|1.5 s late\nevicted|0 of 1|–|4.0 s early"
	if all := comparison(rs); rowsOf(all[len(all)-1]) != want {
		t.Errorf("got\n%s\nwant\n%s", rowsOf(all[len(all)-1]), want)
	}
}
