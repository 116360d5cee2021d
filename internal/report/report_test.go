package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
	"lightsout/loadgen"

	"github.com/charmbracelet/x/ansi"
)

// harmlessText fails for what may not reach a terminal or a file: control and
// invisible format characters other than the end of a line.
func harmlessText(t *testing.T, what, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)) {
			t.Fatalf("%s holds %U", what, r)
		}
	}
}

func TestEveryFormatIsHarmless(t *testing.T) {
	r := hostileRecord()
	for name, f := range map[string]func(io.Writer, *record.Record) error{
		"Markdown": asMarkdown, "HTML": asHTML,
		"Compare":         func(w io.Writer, r *record.Record) error { return Compare(w, []*record.Record{r, r}, compareWidth) },
		"CompareMarkdown": func(w io.Writer, r *record.Record) error { return CompareMarkdown(w, []*record.Record{r, r}) },
		"Lines": func(w io.Writer, r *record.Record) error {
			_, err := io.WriteString(w, strings.Join(Lines(r.Summary, 0), "\n"))
			return err
		},
	} {
		harmlessText(t, name, string(write(t, f, r)))
	}
}

// unescaped counts the runes of s that are c and not escaped by a backslash.
func unescaped(s string, c rune) int {
	n, escaped := 0, false
	for _, r := range s {
		if r == c && !escaped {
			n++
		}
		escaped = r == '\\' && !escaped
	}
	return n
}

func TestMarkdownTablesHoldWhateverIsInThem(t *testing.T) {
	page := string(write(t, asMarkdown, hostileRecord()))
	columns := 0
	for i, l := range strings.Split(page, "\n") {
		if !strings.HasPrefix(l, "|") {
			columns = 0
			if n := unescaped(l, '|'); n > 0 {
				t.Errorf("line %d has %d bars outside a table: %q", i+1, n, l)
			}
		} else if n := unescaped(l, '|'); columns == 0 {
			columns = n
		} else if n != columns {
			t.Errorf("line %d has %d bars, its table %d: %q", i+1, n, columns, l)
		}
		if unescaped(l, '<') > 0 || unescaped(l, '`') > 0 || unescaped(l, '[') > 0 || unescaped(l, '&') > 0 {
			t.Errorf("line %d holds markup: %q", i+1, l)
		}
	}
	if n := strings.Count(page, "\n# ") + strings.Count("\n"+page[:2], "\n# "); n != 1 {
		t.Errorf("%d titles", n)
	}
}

func TestMachinesThatMayGoOffAreOn(t *testing.T) {
	s := abortedRecord().Summary
	s.LeftOff, s.MayGoOff = nil, s.LeftOff
	if plain := Lines(s, 0); !strings.HasPrefix(plain[0], "! These machines were on, but may still go off") || strings.Contains(strings.Join(plain, "\n"), "STILL OFF") {
		t.Errorf("machines that are on: %q", plain)
	}
}

func TestAnEmptyRecordHasAReport(t *testing.T) {
	empty := &record.Record{}
	write(t, asMarkdown, empty)
	write(t, asHTML, empty)
	write(t, asHTML, &record.Record{Summary: &record.Summary{}})
	write(t, func(w io.Writer, r *record.Record) error { return Compare(w, []*record.Record{r, r}, compareWidth) }, empty)
}

func TestTheLedgerIsCheckedAgain(t *testing.T) {
	l := record.Ledger{Counts: loadgen.Counts{Scheduled: 12, OK: 8, InFlight: 4}, Balanced: true}
	if e := equation(l); e.Tone != good || e.Text != "12 scheduled = 8 ok + 0 failed + 0 cancelled + 4 in flight + 0 unsent: balanced" {
		t.Errorf("%+v", e)
	}
	l.OK = 7 // and still claims to balance
	if e := equation(l); e.Tone != bad || !strings.Contains(e.Text, "does NOT balance, the right side is 11") {
		t.Errorf("%+v", e)
	}
}

// terminalLines are Lines as a terminal shows them.
func terminalLines(s *record.Summary, width int) (out []string) {
	for _, l := range Lines(s, width) {
		out = append(out, text.Hang(l, width)...)
	}
	return out
}

func TestJUnitHasACaseForEachExpectation(t *testing.T) {
	s := mdxRecord().Summary
	s.Verdict, s.Expectations[1].OK, s.Expectations[2].OK, s.Expectations[2].Unobserved = view.Fail, false, false, true
	s.Why = []string{"peak served", "pending"}
	b, err := JUnit("plans/mdx.yaml", s, errors.New("it failed"))
	got := string(b)
	for _, want := range []string{fmt.Sprintf(`<testsuite name="mdx" tests="%d" failures="2" errors="1" time="%v">`, 1+len(s.Expectations), s.Ended.Sub(s.Started).Seconds()), `name="peak served of &#34;during&#34;" time="0">`, `<failure message="wanted 8, got 8">`, `<error message="not observed: wanted 4, got 4">`} {
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: no %s in\n%s", err, want, got)
		}
	}
	for verdict, want := range map[view.Verdict]string{view.NotObserved: `failures="1" errors="2"`, view.Aborted: `failures="1" errors="2"`, view.Fail: `failures="2" errors="1"`} {
		s.Verdict = verdict
		if b, err := JUnit("mdx", s, errors.New("it failed")); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v: %s", verdict, err, b)
		}
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	s := mdxRecord().Summary
	s.Why = append(s.Why, strings.Repeat("長い 理由 ", 60))
	s.Phases[0].Subject, s.Phases[0].Note = "ノード三号機の名前がとても長い", strings.Repeat("word ", 60)
	s.Expectations[0].Name = strings.Repeat("期待", 40)
	for _, s := range []*record.Summary{s, vagrantRecord().Summary} {
		for _, width := range []int{80, 100} {
			for _, l := range terminalLines(s, width) {
				if ansi.StringWidth(l) > width {
					t.Errorf("%d columns: %q", ansi.StringWidth(l), l)
				}
			}
		}
	}
}

// A trial of which only the time of a phase is unknown observed the outage and the return.
func TestATrialThatIsNotObservedShowsWhatWasMissing(t *testing.T) {
	late := view.Expectation{Name: "endpoints out", Want: "inside the forecast", Got: "k8s2 at 62.0 s (forecast 47.0–58.0 s)", Unobserved: true}
	why := "endpoints out: wanted inside the forecast, got k8s2 at 62.0 s (forecast 47.0–58.0 s)"
	const hidden, outage = "did not observe what an expectation is about", "did not observe the whole outage and return"
	for name, c := range map[string]struct {
		why          []string
		expectations []view.Expectation
		want, not    string
	}{
		"only a hidden phase":            {[]string{why}, []view.Expectation{{Name: "ok", OK: true}, late}, hidden, outage},
		"a node that never went down":    {[]string{"k8s2 never went down", why}, []view.Expectation{late}, outage, hidden},
		"a watch that was stuck":         {[]string{"the watch of the pods was stuck"}, nil, outage, hidden},
		"an expectation that was missed": {[]string{"k8s2 never went down"}, []view.Expectation{{Name: "failed"}}, outage, hidden},
	} {
		s := &record.Summary{Verdict: view.NotObserved, Why: c.why, Expectations: c.expectations}
		for form, got := range map[string]string{"lines": strings.Join(Lines(s, 0), "\n"), "page": string(write(t, asMarkdown, &record.Record{Start: at(0), Summary: s}))} {
			if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
				t.Errorf("%s, %s:\n%s", name, form, got)
			}
		}
	}
}
