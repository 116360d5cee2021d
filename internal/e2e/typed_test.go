package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
)

// ready matches the nodes pane when so many of 5 nodes are Ready.
func ready(n string) string { return `\b` + n + `/5 ready` }

// TestTheMDXExperimentByKeyboard is the experiment of the mdx article, typed
// and read as an operator does.
func TestTheMDXExperimentByKeyboard(t *testing.T) {
	testenv.Long(t, 80)
	t.Parallel()
	labtest.Room(t)
	labtest.Program(t, "lightsout-lab") // which demo starts
	state := t.TempDir()
	t.Cleanup(func() { showRecord(t, state) })
	x := openTerminal(t, 120, 36, nil, labtest.Program(t, "lightsout")+" demo mdx --pace fast --state "+state+"; echo exit $?; exec sleep 600")
	const long = 3 * time.Minute
	x.waitFor("16 pods Running", long, `16/16\s+Running`, ready("5"))

	x.keys("t")
	x.answer("Start a trial?", "By keyboard")
	x.keys("4", "b")
	x.waitFor("16 sent, 16 served", long, `serving 16 of 16`, `queued 0`)
	x.waitFor("all 16 ended ok", long, `16 scheduled = 16 ok`)

	x.mark("kube-node3")
	x.mark("kube-node4")
	x.keys("s")
	x.answer("Shut down kube-node3 and kube-node4?", "Shut down 2 nodes")
	x.waitFor("both nodes silent", long, `kube-node3\s+\S*Ready \(silent`, `kube-node4\s+\S*Ready \(silent`)
	x.waitFor("both NotReady, the deployment Partly", long,
		`kube-node3\s+NotReady`, `kube-node4\s+NotReady`, ready("3"), `8/16\s+Partly`)
	x.waitFor("both machines off by the portal's word", long, `kube-node3\s+NotReady.*\boff\b`, `kube-node4\s+NotReady.*\boff\b`)

	// For some seconds after the endpoints are out, Knative's activator still sends to the
	// dead pods, and answers 502; the built-in plan waits 10 s, too.
	x.waitFor("20 s since the first request to switch off", long, `T\+00:[2-5]\d|T\+0[1-9]:`)
	x.keys("n")
	x.waitFor("the prompt for a number", long, `requests at once`)
	x.keys("C-u", "1", "2", "Enter")
	x.keys("4", "b")
	x.waitFor("12 sent: 8 served and 4 queued at once", long, `serving 8 of 8`, `queued 4`)
	x.waitFor("all 12 ended ok", long, `28 scheduled in all = 28 ok`)

	x.keys("o")
	x.answer("Power on kube-node3 and kube-node4?", "Power on 2 nodes")
	x.waitFor("4 workers Ready, the deployment Running", long, ready("5"), `16/16\s+Running`)
	// Until its next sync, up to a second after the endpoints are back, kube-proxy refuses connections.
	x.waitForClock(5 * time.Second)

	x.keys("n")
	x.waitFor("the prompt for a number", long, `requests at once`)
	x.keys("C-u", "1", "6", "Enter")
	x.keys("4", "b")
	x.waitFor("16 sent, 16 served again", long, `serving 16 of 16`, `queued 0`)
	x.waitFor("all 44 ended ok", long, `44 scheduled in all = 44 ok`)

	x.keys("t")
	x.answer("End the trial by-keyboard?", "End now and give the verdict")
	x.waitFor("the verdict", long, `NO EXPECTATIONS`)

	x.keys("q")
	s := x.waitFor("the shell again", long, `exit 0`)
	if strings.Contains(s, "off by the journal") {
		t.Errorf("something is said to be off:\n%s", s)
	}
	checkRecord(t, state)
	checkTrial(t, state)
}

// checkTrial looks at the record of the trial that was done by keyboard.
func checkTrial(t *testing.T, state string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(state, "*", "trials", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the trials are %v, %v", dirs, err)
	}
	r, err := record.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	s := r.Summary
	if len(r.Torn) > 0 || s == nil || s.Verdict != view.NoExpectations || s.Ledger.OK != 44 || !s.Ledger.Balanced || len(s.Load) != 3 {
		t.Fatalf("the record: torn %v, %+v", r.Torn, s)
	}
	for i, want := range []struct{ served, queued int }{{16, 0}, {8, 4}, {16, 0}} {
		if l := s.Load[i]; l.PeakServed != want.served || i == 1 && l.PeakQueued != want.queued {
			t.Errorf("%s: served %d, queued %d at most", l.Step, l.PeakServed, l.PeakQueued)
		}
	}
	// The plan can be repeated: it is read, and then there is no cluster.
	_, errs, code := run(t, nil, "--kubeconfig", kubeconfig(t, "https://"+testenv.Refusing(t)), "--wait-for-api", "1s", "trial", "run", write(t, "again.yaml", string(r.Plan)), "--dry-run")
	if code != exitUsage || strings.Contains(errs, "line ") || strings.Count(string(r.Plan), "\n  - ") != 5 {
		t.Errorf("the plan can't be repeated: exit %d, %s\n%s", code, errs, r.Plan)
	}
}

// mark marks a node by moving the cursor to it in the nodes pane. It waits for
// what each key does before it presses the next.
func (x *terminal) mark(node string) {
	x.t.Helper()
	x.keys("1")
	marked := regexp.MustCompile(`■[ ✕]*` + node)
	cursor := regexp.MustCompile(`▌[ ■✕]*(kube-\S+)`)
	at := func(s string) string {
		if m := cursor.FindStringSubmatch(s); m != nil {
			return m[1]
		}
		return ""
	}
	s := x.wait("the cursor", time.Minute, func(s string) bool { return at(s) != "" })
	for !marked.MatchString(s) {
		from := at(s)
		switch {
		case from < node:
			x.keys("Down")
		case from > node:
			x.keys("Up")
		default:
			x.keys("Space")
			x.wait(node+" marked", time.Minute, marked.MatchString)
			return
		}
		s = x.wait("the cursor leaves "+from, time.Minute, func(s string) bool { return at(s) != "" && at(s) != from })
	}
}

// waitForClock waits until the clock on the screen has gone on for d.
func (x *terminal) waitForClock(d time.Duration) {
	x.t.Helper()
	clock := regexp.MustCompile(`T\+(\d\d):(\d\d) `)
	read := func(s string) time.Duration {
		m := clock.FindStringSubmatch(s)
		if m == nil {
			return -1
		}
		at, _ := time.ParseDuration(m[1] + "m" + m[2] + "s")
		return at
	}
	from := read(x.wait("the clock", time.Minute, func(s string) bool { return read(s) >= 0 }))
	x.wait(d.String()+" later", time.Minute, func(s string) bool { return read(s) >= from+d })
}

// checkRecord looks for what must be on disk after a session.
func checkRecord(t *testing.T, state string) {
	t.Helper()
	// What is of the lab alone has gone with it, its journal above all.
	if files, err := filepath.Glob(filepath.Join(state, "*")); err != nil || len(files) != 1 {
		t.Errorf("kept are %v, %v", files, err)
	}
	files, err := filepath.Glob(filepath.Join(state, "*", "*", "*", "events.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the records are %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kube-node3", "NotReady", "16/16"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the record lacks %q", want)
		}
	}
}

// showRecord logs, when the test has failed, what the session wrote down: its
// events but those of pods, and the requests that failed.
func showRecord(t *testing.T, state string) {
	if !t.Failed() {
		return
	}
	for _, name := range []string{"events.jsonl", "requests.jsonl"} {
		files, _ := filepath.Glob(filepath.Join(state, "*", "trials", "*", name))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Log(err)
				continue
			}
			for _, line := range strings.Split(string(b), "\n") {
				many := strings.Contains(line, `"lane":"pod"`) || strings.Contains(line, `"lane":"event"`)
				if line != "" && !many && !strings.Contains(line, `"class":"ok"`) {
					t.Log(line)
				}
			}
		}
	}
}
