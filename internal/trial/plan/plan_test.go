package plan

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

func TestBuiltInPlansAreTheTwoExperiments(t *testing.T) {
	if got := Builtin(); !slices.Equal(got, []string{"mdx", "vagrant"}) {
		t.Fatalf("built in are %v", got)
	}
	for name, want := range map[string]struct{ off, steps string }{
		"mdx": {"kube-node3 kube-node4",
			"load off wait wait pause load on wait wait pause load"},
		"vagrant": {"k8s2",
			"load pause off wait wait wait on wait pause stop rollout wait"},
	} {
		p, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != name || p.About == "" {
			t.Errorf("%s is named %q, about %q", name, p.Name, p.About)
		}
		if got := strings.Join(p.Nodes(), " "); got != want.off {
			t.Errorf("%s switches off %s, want %s", name, got, want.off)
		}
		var kinds []string
		for _, s := range p.Steps {
			kinds = append(kinds, string(s.Action.Kind))
		}
		if got := strings.Join(kinds, " "); got != want.steps {
			t.Errorf("%s: steps are %s, want %s", name, got, want.steps)
		}
	}
}

func TestPlanMadeByKeyboardReadsTheSame(t *testing.T) {
	p := &Plan{Name: "by-keyboard", Deployment: "shop/web", Steps: []Step{
		{Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Hold, N: 16}, Background: true}},
		{Action: Action{Kind: Load, Spec: loadgen.Spec{Shape: loadgen.Burst, N: 4}}},
		{Action: Action{Kind: Drain, Nodes: []string{"n1"}, Within: DrainWithin}},
		{Action: Action{Kind: Off, Nodes: []string{"true", "1e3"}, How: power.ActionOff}},
		{Name: `"quoted" # and: more`, Action: Action{Kind: Off, Nodes: []string{"n1"}, How: power.ActionShutdown}},
		{Action: Action{Kind: On, Nodes: []string{"true", "1e3"}}},
		{Action: Action{Kind: Rollout, Deployment: "shop/web"}},
		{Action: Action{Kind: Stop, Step: "all"}},
	}}
	if faults := p.check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	text := p.Marshal()
	q, err := parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(bareOf(p), bareOf(q)) {
		t.Errorf("written as\n%s\nand read as\n%s", text, q.Marshal())
	}
}

func TestUnknownNodesAndDeploymentsAreFoundBeforeAnythingIsSwitched(t *testing.T) {
	p, err := parse([]byte(`name: x
deployment: shop/web
steps:
  - off: [kube-node3]
  - rollout: shop/db
  - on: [kube-node3]
  - rollout: shop/cache
`))
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) []string { return names }
	check := func(got error, want string) {
		t.Helper()
		if fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}
	check(p.CheckNames("node", in("kube-node1", "kube-node3")), "<nil>")
	check(p.CheckNames("node", in("kube-n0de3", "other")), `line 4: the cluster has no node "kube-node3"; did you mean "kube-n0de3"?`)
	check(p.CheckNames("node", in("worker-a", "worker-b")), `line 4: the cluster has no node "kube-node3"; it has "worker-a" and "worker-b"`)
	check(p.CheckNames("node", in()), `line 4: the cluster has no node "kube-node3"`)
	check(p.CheckNames("node", in("\x1b[2J", "b")), `line 4: the cluster has no node "kube-node3"; it has "\x1b[2J" and "b"`)

	check(p.CheckNames("deployment", in("shop/web", "shop/db", "shop/cache")), "<nil>")
	check(p.CheckNames("deployment", in("shop/wep", "a/b")), `line 2: the cluster has no deployment "shop/web"; did you mean "shop/wep"?`)
	check(p.CheckNames("deployment", in("shop/web")), `line 5: the cluster has no deployment "shop/db"; it has "shop/web"`)
	check(p.CheckNames("deployment", in("shop/web", "shop/db")), `line 7: the cluster has no deployment "shop/cache"; it has "shop/web" and "shop/db"`)
}

// A plan takes a rate as "lightsout load --rate" does.
func TestAPlanTakesTheRatesOfTheCommandLine(t *testing.T) {
	for written, want := range map[string]struct {
		perSecond float64
		text      string
	}{
		"30/m": {0.5, "rate of 0.5 a second"}, "30/s": {30, "rate of 30 a second"}, "30": {30, "rate of 30 a second"}, "1.5 / s": {1.5, "rate of 1.5 a second"},
		"10/m": {1. / 6, "rate of 0.166667 a second"}, "36/h": {0.01, "rate of 0.01 a second"},
	} {
		p, err := parse([]byte("name: x\nsteps:\n  - load: {rate: " + written + ", background: true}\n  - off: [n1]\n"))
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if l := p.Steps[0].Action; l.Spec.PerSecond != want.perSecond || p.Steps[0].Name != want.text {
			t.Errorf("%s is %g a second, %q", written, l.Spec.PerSecond, p.Steps[0].Name)
		}
	}
}

func TestStepsInWords(t *testing.T) {
	p, err := Open("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"burst of 16",
		"burst of 16, each with a timeout of 30m",
		"hold at 4, 100 requests in all for 30s",
		"rate of 3 a second, 9 requests in all",
		"rate of 0.5 a second, in the background, each with a timeout of 1.5s",
		"pause for 1h30m",
		"cordon a, b",
		"drain a, c, within 5m",
		"drain d, within 10m",
		"shut down a, b",
		"shut down c",
		"pull the plug of d, 7, within 5m",
		"wait until 7, a, b and 2 more are detected as not Ready, within 5m",
		"wait until 7, a, b and 2 more have no ready endpoint, within 5m",
		"wait until the pods on a, c are evicted, within 1m30s",
		"wait until shop/web has as many pods again without 7, a, b and 2 more, within 20m",
		"power on a, b, within 10m",
		"power on c, d, 7",
		"wait until 7, a, b and 2 more are Ready again, within 15m",
		"restart the rollout of the deployment",
		"restart the rollout of shop/db",
		"restart the rollout of shop/web, within 3m",
		"wait until 7, a, b and 2 more are Ready and the deployment has all its pods, within 20m",
		"uncordon a, c",
		"stop clients and wait for the last requests",
	}
	for i, s := range p.Steps {
		if s.Text() != want[i] {
			t.Errorf("step %d:\ngot  %s\nwant %s", i, s.Text(), want[i])
		}
	}
}

func TestExpectationsInWords(t *testing.T) {
	for _, c := range []struct {
		e          Expectation
		name, want string
	}{
		{Expectation{Measure: "peak_served", Step: "all nodes on", Min: number1(16), Max: number1(16)},
			"peak served, all nodes on", "16"},
		{Expectation{Measure: "peak_queued", Step: "a", Min: number1(4)},
			"peak queued, a", "at least 4"},
		{Expectation{Measure: "failed", Step: "a", Min: number1(1), Max: number1(4)},
			"failed, a", "from 1 to 4"},
		{Expectation{Measure: "error_window", Step: "a", Max: number1(60)},
			"error window, a", "at most 60 s"},
		{Expectation{Measure: "detected", Subject: "n1", Min: number1(30), Max: number1(90.5)},
			"detected, n1", "from 30 s to 90.5 s"},
		{Expectation{Measure: "endpoints_out", Predicted: true},
			"endpoints out", "inside the forecast"},
		{Expectation{Measure: "balanced", Min: number1(1), Max: number1(1)},
			"balanced", "true"},
		{Expectation{Measure: "skew_before_rollout", Max: number1(0)},
			"skew before rollout", "at most 0"},
	} {
		if c.e.Name() != c.name || c.e.Want() != c.want {
			t.Errorf("got %q, %q; want %q, %q", c.e.Name(), c.e.Want(), c.name, c.want)
		}
	}
}

func TestWhatWasSeenHasTheUnitOfWhatWasWanted(t *testing.T) {
	for measure, want := range map[string]string{"error_window": "3.2 s", "failed": "3.2"} {
		if got := (Expectation{Measure: measure}).Got(3.249); got != want {
			t.Errorf("%s: %q, not %q", measure, got, want)
		}
	}
}

func TestMeasuresOfPhasesNameTheRecordsPhases(t *testing.T) {
	for _, m := range slices.Sorted(maps.Keys(measures)) {
		phase := Expectation{Measure: m}.Phase()
		// The error window is a phase, and of a load.
		if (phase != "") != (measures[m].of == "node" || measures[m].of == "deployment" || m == "error_window") {
			t.Errorf("%s is of phase %q", m, phase)
		}
		if phase != "" && !slices.Contains(view.PhaseNames, phase) {
			t.Errorf("%s: the record has no phase %q", m, phase)
		}
	}
}

func TestHelpIsTrue(t *testing.T) {
	var example strings.Builder
	for _, line := range strings.Split(Help(), "\n")[1:] {
		if line == "Steps" {
			break
		}
		example.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if _, err := parse([]byte(example.String())); err != nil {
		t.Errorf("the example: %v", err)
	}
	words := strings.FieldsFunc(Help(), func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	for _, w := range slices.Concat(kindNames(), slices.Collect(maps.Keys(measures)), []string{"min", "max", "shutdown", "plug"}) {
		if !slices.Contains(words, w) {
			t.Errorf("it does not tell of %s", w)
		}
	}
	for _, w := range WaitFor() {
		if !strings.Contains(Help(), w) {
			t.Errorf("it does not tell of waiting for %s", w)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range badPlans(f) {
		f.Add([]byte(c.text))
	}
	for _, name := range []string{"builtin/mdx.yaml", "builtin/vagrant.yaml", "testdata/full.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, s := range p.Steps {
			if words := s.Name + s.Text(); strings.ContainsFunc(words, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("a step would harm a terminal: %q", words)
			}
		}
	})
}

// TestAllFaultsAreReportedTogether: each with its line, and none that only follows from
// another one.
func TestAllFaultsAreReportedTogether(t *testing.T) {
	const head = "nam: x\nname: two\ndeployment: shop\n"
	for text, want := range map[string]string{
		head + "steps:\n  - of: [n1]\n  - wait: detected\n  - pause: soon\n  - on: [n1]\nexpect:\n  - detected: maybe\n  - sent: 3\n    step: clients\n":                                                                                             "1 3 5 7 10",
		head + "steps:\n  - off: [n1, n2]\n  - off: [n2, n3]\n  - wait: ready\n  - on: [n1, n2, n3, n4]\n  - on: [n1]\nexpect:\n  - detcted: predicted\n  - sent: 3\n    step: clients\n":                                                            "1 3 6 7 8 9 11 12",
		"name: two\nsteps:\n  - load: {hold: 0, background: yes}\n  - off: [n1, n1, N2]\n  - wait: {for: redy, within: x}\n    name: all\n  - uncordon: [n1]\n  - on: [n3]\n  - stop: nothing\nexpect:\n  - ready: {min: a, max: b}\n    node: n9\n": "3 3 4 4 5 5 6 7 11 11",
	} {
		p, faults := Parse([]byte(text))
		var lines []string
		for _, err := range faults {
			lines = append(lines, strings.Fields(strings.TrimSuffix(strings.TrimPrefix(err.Error(), "line "), ":"))[0])
		}
		if got := strings.ReplaceAll(strings.Join(lines, " "), ":", ""); p != nil || got != want {
			t.Errorf("lines %s, not %s: %v", got, want, faults)
		}
	}
}

func TestAPlanThatLeavesAMachineOffIsWarnedOf(t *testing.T) {
	p, err := parse([]byte("name: x\nsteps:\n  - off: [n1, n2]\n  - on: [n1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if w := p.Warnings(); len(w) != 2 || !strings.HasPrefix(w[0], "line 3: no step powers n2 on again") || !strings.HasPrefix(w[1], "it has no expectations") {
		t.Errorf("warned of %q", w)
	}
	for _, name := range Builtin() {
		if p, err := Open(name); err != nil || len(p.Warnings()) > 0 {
			t.Errorf("%s: %v, %v", name, p.Warnings(), err)
		}
	}
}
