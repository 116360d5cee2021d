package plan

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"lightsout/internal/config/yamlfile"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// badPlan is one case of testdata/bad.txt: "-- name", the plan, "== error".
type badPlan struct{ name, text, want string }

func badPlans(t testing.TB) []badPlan {
	t.Helper()
	data, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []badPlan
	for _, part := range strings.Split("\n"+string(data), "\n-- ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		text, want, ok := strings.Cut(rest, "== ")
		if !ok {
			t.Fatalf("%s: no error is given", name)
		}
		out = append(out, badPlan{name, text, strings.TrimSpace(want)})
	}
	return out
}

func TestEveryBadPlanHasOneSentenceWithItsLine(t *testing.T) {
	for _, c := range badPlans(t) {
		t.Run(c.name, func(t *testing.T) {
			p, faults := Parse([]byte(c.text))
			if len(faults) == 0 || p != nil {
				t.Fatalf("accepted:\n%s", c.text)
			}
			if !slices.ContainsFunc(faults, func(err error) bool { return err.Error() == c.want }) {
				t.Errorf("got  %s\nwant %s", errors.Join(faults...), c.want)
			}
			if strings.HasSuffix(c.want, ".") || strings.Contains(c.want, ". ") {
				t.Errorf("more than one sentence: %v", c.want)
			}
			for _, err := range faults {
				checkError(t, []byte(c.text), err)
			}
		})
	}
}

// parse is Parse with the first error.
func parse(text []byte) (*Plan, error) {
	p, faults := Parse(text)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return p, nil
}

// checkError checks what holds for every error of Parse.
func checkError(t testing.TB, text []byte, err error) {
	t.Helper()
	var e *yamlfile.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *yamlfile.Error", err)
	}
	if most := bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1; e.Line < 1 || e.Line > most {
		t.Errorf("line %d of %d: %v", e.Line, most, err)
	}
	if i := strings.IndexFunc(e.Text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the error would harm a terminal: %q", e.Text)
	}
	if len(e.Text) > 500 {
		t.Errorf("too long to be read: %v", err)
	}
}

func TestHostileFilesAreRefusedWithTheirLine(t *testing.T) {
	const head = "name: x\nsteps:\n  - off: [n1]\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "line 1: the plan is empty: it needs at least a name and steps"},
		{"a NUL", head + "# a\x00b\n", "line 4: there is an invisible character here, or one that is not UTF-8 text (0x00): take it out, or save the file as UTF-8"},
		{"an escape sequence", head + "# \x1b[2J\n", "line 4: there is an invisible character here, or one that is not UTF-8 text (0x1b): take it out, or save the file as UTF-8"},
		{"a lone carriage return", "name: x\rsteps: []\n", "line 1: there is an invisible character here, or one that is not UTF-8 text (0x0d): take it out, or save the file as UTF-8"},
		{"writing turned around", head + "# \u202e\n", "line 4: there is an invisible character here, or one that is not UTF-8 text (0xe2): take it out, or save the file as UTF-8"},
		{"another line break", "name: x\u2028steps: []\n", "line 1: there is an invisible character here, or one that is not UTF-8 text (0xe2): take it out, or save the file as UTF-8"},
		{"not UTF-8", head + "  - pause: \xff\n", "line 4: there is an invisible character here, or one that is not UTF-8 text (0xff): take it out, or save the file as UTF-8"},
		{"UTF-16", "\xff\xfen\x00", "line 1: there is an invisible character here, or one that is not UTF-8 text (0xff): take it out, or save the file as UTF-8"},
		{"too large", head + strings.Repeat("# padding\n", MaxSize/10), "line 26215: the plan exceeds its limit of 256 KiB here"},
		{"one line too large", strings.Repeat("x", 10*MaxSize), "line 1: the plan exceeds its limit of 256 KiB here"},
		{"too many steps", head + strings.Repeat("  - pause: 1s\n", 200), "line 203: this is step 201, and a plan has at most 200"},
		{"too many expectations", head + "expect:\n" + strings.Repeat("  - balanced: true\n", 201), "line 205: this is expectation 201, and a plan has at most 200"},
		{"too deep", head + "  - off: " + strings.Repeat("[", 20000), "line 4: not valid YAML: exceeded max depth of 10000"},
		{"deep", head + "  - off: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "line 4: the name of a node must be text, not a list"},
		{"a long word", head + "  - " + strings.Repeat("x", 1000) + ": 1\n", `line 4: there is no step "` + strings.Repeat("x", 59) + `…"; there are load, off, on, wait, cordon, drain, uncordon, rollout, pause and stop`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse([]byte(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			checkError(t, []byte(c.text), err)
		})
	}
}

// TestBombsStaySmall: whatever the file, reading it takes memory in proportion
// to its size, and comes to an end.
func TestBombsStaySmall(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, MaxSize/len(s)) }
	bombs := map[string]string{
		"laughs":        "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 6000),
		"open lists":    fill("["),
		"open groups":   fill("{"),
		"dashes":        fill("- "),
		"questions":     fill("? "),
		"empty lists":   "[" + fill("[],")[:MaxSize-10] + "]",
		"words":         "[" + fill("a,")[:MaxSize-10] + "]",
		"same key":      fill("a: 1\n"),
		"empty items":   fill("-\n"),
		"comments":      fill("#\n"),
		"keys, remarks": fill("#x\na: 1\n"),
		"documents":     fill("---\n"),
		"folded":        "a: >\n" + fill("\n")[:MaxSize-10],
		"one word":      "name: " + fill("x")[:MaxSize-10],
		"open quote":    "name: '" + fill("x\n")[:MaxSize-10],
		"last line":     "name: x\nsteps:\n" + strings.Repeat("  - off: [n1]\n", 4000) + "  - off: [n1\n",
	}
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parse([]byte(text))
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("accepted")
			}
			checkError(t, []byte(text), err)
			// All that was allocated, the search for a syntax error's line included.
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
				t.Errorf("%d MiB allocated for %d KiB", used>>20, len(text)>>10)
			}
		})
	}
}

func TestEveryFormIsRead(t *testing.T) {
	p, err := Open("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	minute := time.Minute
	want := &Plan{
		Name: "full.plan_1", About: `Words on two lines: "quoted", with a colon.`, Deployment: "shop/web",
		Steps: []Step{
			{Name: "burst of 16", Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Burst, N: 16}}},
			{Name: "burst of 16 (2)", Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Burst, N: 16, Timeout: 30 * minute}}},
			{Name: "held: all", Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Hold, N: 4, For: 30 * time.Second, Requests: 100}}},
			{Name: "rate of 3 a second", Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 3, Requests: 9}}},
			{Name: "clients", Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 0.5, Timeout: 1500 * time.Millisecond}, Background: true}},
			{Name: "pause for 1h30m", Action: Action{Kind: Pause, Pause: 90 * minute}},
			{Name: "cordon a, b", Action: Action{Kind: Cordon, Nodes: []string{"a", "b"}}},
			{Name: "drain a, c", Action: Action{Kind: Drain, Nodes: []string{"a", "c"}, Within: 5 * minute}},
			{Name: "drain d", Action: Action{Kind: Drain, Nodes: []string{"d"}, Within: 10 * minute}},
			{Name: "shut down a, b", Action: Action{Kind: Off, Nodes: []string{"a", "b"}, How: power.ActionShutdown}},
			{Name: "shut down c", Action: Action{Kind: Off, Nodes: []string{"c"}, How: power.ActionShutdown}},
			{Name: "pull the plug of d, 7", Action: Action{Kind: Off, Nodes: []string{"d", "7"}, How: power.ActionOff, Within: 5 * minute}},
			{Name: "wait: detected", Action: Action{Kind: Wait, For: view.PhaseDetected, Within: 5 * minute}},
			{Name: "wait: endpoints out", Action: Action{Kind: Wait, For: view.PhaseEndpointsOut, Within: 5 * minute}},
			{Name: "wait: evicted", Action: Action{Kind: Wait, For: view.PhaseEvicted, Nodes: []string{"a", "c"}, Within: 90 * time.Second}},
			{Name: "wait: replaced", Action: Action{Kind: Wait, For: view.PhaseReplaced, Deployment: "shop/web", Within: 20 * minute}},
			{Name: "power on a, b", Action: Action{Kind: On, Nodes: []string{"a", "b"}, Within: 10 * minute}},
			{Name: "power on c, d, 7", Action: Action{Kind: On, Nodes: []string{"c", "d", "7"}}},
			{Name: "wait: ready", Action: Action{Kind: Wait, For: view.PhaseReady, Within: 15 * minute}},
			{Name: "rollout", Action: Action{Kind: Rollout}},
			{Name: "rollout of shop/db", Action: Action{Kind: Rollout, Deployment: "shop/db"}},
			{Name: "rollout of shop/web", Action: Action{Kind: Rollout, Deployment: "shop/web", Within: 3 * minute}},
			{Name: "wait: restored", Action: Action{Kind: Wait, For: WaitRestored, Within: 20 * minute}},
			{Name: "uncordon a, c", Action: Action{Kind: Uncordon, Nodes: []string{"a", "c"}}},
			{Name: "stop clients", Action: Action{Kind: Stop, Step: "clients"}},
		},
		Expect: []Expectation{
			{Measure: "peak_served", Step: "burst of 16", Min: number1(16), Max: number1(16)},
			{Measure: "peak_queued", Step: "burst of 16 (2)", Min: number1(4), Max: number1(4)},
			{Measure: "ok", Step: "held: all", Min: number1(1)},
			{Measure: "error_window", Step: "clients", Max: number1(60)},
			{Measure: "detected", Predicted: true},
			{Measure: "detected", Subject: "a", Min: number1(30), Max: number1(90)},
			{Measure: "restored", Subject: "shop/web", Max: number1(1200)},
			{Measure: "balanced", Min: number1(1), Max: number1(1)},
			{Measure: "skew", Max: number1(2)},
		},
	}
	if got := bareOf(p); !reflect.DeepEqual(got, want) {
		for i := range min(len(got.Steps), len(want.Steps)) {
			if !reflect.DeepEqual(got.Steps[i], want.Steps[i]) {
				t.Errorf("step %d: got %q, want %q", i, got.Steps[i].Text(), want.Steps[i].Text())
			}
		}
		t.Errorf("got\n%s\nwant\n%s", got.Marshal(), want.Marshal())
	}
	if p.Steps[0].Line != 8 || p.Steps[3].Line != 12 || p.Expect[0].Line != 37 {
		t.Errorf("lines %d, %d and %d, want 8, 12 and 37", p.Steps[0].Line, p.Steps[3].Line, p.Expect[0].Line)
	}
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil || !bytes.Equal(p.Text, text) {
		t.Errorf("the text is not kept as it was read: %v", err)
	}
}

func number1(v float64) *float64 { return &v }

// bareOf is p without what depends on how its file was written.
func bareOf(p *Plan) *Plan {
	q := &Plan{Name: p.Name, About: p.About, Deployment: p.Deployment}
	for _, s := range p.Steps {
		s.Line = 0
		s.Action.switched, s.word = nil, ""
		q.Steps = append(q.Steps, s)
	}
	for _, e := range p.Expect {
		e.Line = 0
		q.Expect = append(q.Expect, e)
	}
	return q
}

func TestLineEndsAndMarksOfOtherSystemsAreRead(t *testing.T) {
	text := strings.ReplaceAll("\ufeffname: x\nsteps:\n  - off: [n1]\n  - wat: detected\n", "\n", "\r\n")
	if _, err := parse([]byte(text)); err == nil || err.Error() != `line 4: there is no step "wat"; did you mean "wait"?` {
		t.Error(err)
	}
	if _, err := parse([]byte(strings.Replace(text, "wat", "wait", 1))); err != nil {
		t.Error(err)
	}
	if _, err := parse([]byte(`{"name": "x", "steps": [{"off": ["n1"]}, {"wait": {"for": "detected"}}]}`)); err != nil {
		t.Error("JSON is YAML:", err)
	}
}

func TestOpenSaysWhichFileIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(file, []byte("name: x\nsteps:\n  - of: [n1]\n  - onn: [n1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), 2*MaxSize), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{file, file + `: line 3: there is no step "of"; did you mean "off"?` + "\n" + file + `: line 4: there is no step "onn"; did you mean "on"?`},
		{large, large + ": line 1: the plan exceeds its limit of 256 KiB here"},
		{"vagrnat", `there is no plan "vagrnat", neither built in nor as a file; did you mean "vagrant"?`},
		{"outage", `there is no plan "outage", neither built in nor as a file; there are mdx, vagrant`},
		{filepath.Join(dir, "none.yaml"), "the plan can't be read: open " + filepath.Join(dir, "none.yaml") + ": no such file or directory"},
		{dir, "the plan can't be read: read " + dir + ": is a directory"},
	} {
		if _, err := Open(c.name); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
