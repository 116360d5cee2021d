//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"

	"golang.org/x/sys/unix"
)

// soakEnv is for how long TestSoak goes on, e.g. 30m.
const soakEnv = "LIGHTSOUT_SOAK"

const (
	soakWidth, soakHeight = 120, 36
	soakRate              = 200 // requests a second
)

// soak is a session that an operator types at while pods and machines come and
// go, requests are sent, and one thing after the other breaks.
type soak struct {
	t     *testing.T
	lab   *labtest.Lab
	ask   func(method, path, body string) error
	way   *door // to the bastion
	x     *terminal
	pid   int    // of the program
	tmux  int    // of the terminal
	state string // where it keeps its records and its journal
	small bool   // that is a file system of its own, which can be filled

	mu     sync.Mutex
	counts map[string]int // what happened

	goroutines string // the file in which the program tells how many it has
	before     vital  // at rest, at the start
	vitals     []vital
}

// TestSoak goes on for LIGHTSOUT_SOAK. It fails when something that must hold
// does not: every request accounted for, record and journal whole, no machine
// left off, nothing leaked, the program ended by its key alone. Times are told
// and not judged.
func TestSoak(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv(soakEnv))
	if err != nil {
		t.Skip("set " + soakEnv + " to a time, e.g. 30m: make soak")
	}
	s := startSoak(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	api := s.lab.API()
	wg.Go(func() { s.breakThings(ctx) })
	wg.Go(func() { s.churn(ctx, api) })
	wg.Go(func() { s.sample(ctx, max(span/300, 500*time.Millisecond)) })
	func() {
		defer func() { stop(); wg.Wait() }()
		for end := time.Now().Add(span); time.Now().Before(end); {
			s.typeAround(5 + rand.IntN(10))
			s.outage([]string{"k8s2", "k8s3"}[rand.IntN(2)])
		}
	}()
	s.end()
	s.verify()
	s.summarize()
}

// startSoak opens the screen on a lab, begins a trial by keyboard, and has
// requests sent.
func startSoak(t *testing.T) *soak {
	dir := t.TempDir()
	program := filepath.Join(dir, "lightsout")
	build := exec.Command("go", "build", "-tags", "soak", "-o", program, ".")
	build.Dir = labtest.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l := labtest.Start(t, "vagrant")
	s := &soak{t: t, lab: l, ask: l.Asker(), state: t.TempDir(), goroutines: filepath.Join(dir, "goroutines"), counts: map[string]int{}}
	// With the rights for it, state has little room of its own.
	if err := unix.Mount("tmpfs", s.state, "tmpfs", 0, "size=1g"); err == nil {
		s.small = true
		t.Cleanup(func() { _ = unix.Unmount(s.state, unix.MNT_DETACH) })
	}
	config := l.ConfigWith(func(c map[string]any) {
		c["state"] = s.state
		s.way = throughDoor(t, l, c)
	})
	command := program + " " + strings.Join(args(l, config), " ")
	s.x = openTerminal(t, soakWidth, soakHeight, []string{"LIGHTSOUT_GOROUTINES=" + s.goroutines},
		"sh -c 'echo $$ >"+dir+"/pid; exec "+command+"'; echo exit $?; exec sleep 600")
	const long = 3 * time.Minute
	s.x.waitFor("the cluster", long, `3/3 ready`, `6/6\s+Running`)
	s.pid = process(t, filepath.Join(dir, "pid")).Pid
	t.Cleanup(func() { _ = syscall.Kill(s.pid, syscall.SIGCONT) })
	if _, err := fmt.Sscan(s.x.tmux("display-message", "-p", "#{pid}"), &s.tmux); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(s.tmux, syscall.SIGCONT) })
	time.Sleep(5 * time.Second) // at rest, for it to tell what it takes then
	s.x.wait("what it takes at rest", long, func(string) (ok bool) { s.before, ok = s.look(); return ok })
	s.x.press("t", "Start a trial\\?")
	s.x.answer("Start a trial?", "By keyboard")
	s.x.keys("4", "R")
	s.x.waitFor("requests", long, `[1-9]\d* scheduled`)
	s.x.press("n", "a second")
	s.x.keys("C-u")
	s.x.keys("-l", fmt.Sprint(soakRate))
	s.x.keys("Enter")
	s.x.waitFor("the rate", long, fmt.Sprint(soakRate, `(/s| a second)`))
	return s
}

func (s *soak) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// typeAround types keys that switch nothing.
func (s *soak) typeAround(n int) {
	keys := []string{"Up", "Down", "Tab", "PageDown", "PageUp", "g", "G", "i", "z", "w", "p", "?", "M", "C", "1", "2", "3", "4", "5", "Escape", "C-l"}
	for range n {
		s.x.keys(keys[rand.IntN(len(keys))])
		s.note("keys typed")
		time.Sleep(rand.N(500 * time.Millisecond))
	}
	s.x.keys("Escape")
	s.keyTook()
}

// keyTook notes how long it takes from a key to the changed screen, if that
// can be seen: the cursor moves in the nodes pane.
func (s *soak) keyTook() {
	s.home()
	before, began := s.x.screen(), time.Now()
	s.x.keys("Down")
	for time.Since(began) < time.Second {
		if s.x.screen() != before {
			s.mu.Lock()
			s.vitals = append(s.vitals, vital{key: time.Since(began)})
			s.mu.Unlock()
			return
		}
	}
}

// home leaves whatever is open, with the nodes in sight and in focus.
func (s *soak) home() {
	for range 6 {
		s.x.keys("Escape")
		time.Sleep(50 * time.Millisecond)
		s.x.keys("1")
		time.Sleep(50 * time.Millisecond)
		if scr := s.x.screen(); strings.Contains(scr, "Nodes ─") && strings.Contains(scr, "Requests ─") && !strings.Contains(scr, "esc close") && strings.Contains(scr, "▌") {
			return
		}
	}
}

var (
	// soakRow is a row of the nodes pane, with the cursor or without.
	soakRow = regexp.MustCompile(`^│([▌▏]?)[^│]*?(k8s\d) `)
	// soakButton is the chosen choice of a question.
	soakButton = regexp.MustCompile(`\[ ([^\]]+) \]`)
)

// soakRows gives the lines of the screen in which the cursor and a node are in
// the nodes pane, in whatever order; -1 where they are not.
func soakRows(scr, node string) (cursor, row int) {
	cursor, row = -1, -1
	for i, l := range strings.Split(scr, "\n") {
		m := soakRow.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if m[1] == "▌" {
			cursor = i
		}
		if m[2] == node && row < 0 {
			row = i
		}
	}
	return cursor, row
}

// outage switches a machine off and on again, by keys alone.
func (s *soak) outage(node string) {
	is := func(state string) func() bool {
		return func() bool { return slices.Contains(s.lab.Machines(state), node) }
	}
	if !s.operate(node, "s", "Shut down ", is("off")) {
		return
	}
	s.note("outages")
	s.typeAround(5 + rand.IntN(20))
	if !s.operate(node, "o", "Power on ", is("on")) {
		s.t.Errorf("%s can't be powered on:\n%s", node, s.x.screen())
	}
}

// operate does what an operator does until done: it marks the node, presses the
// key, and says yes when that is asked. It reports whether it came to that:
// while things are broken, switching off may well be refused.
func (s *soak) operate(node, key, yes string, done func() bool) bool {
	asked := 0
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if done() {
			return true
		}
		scr := s.x.screen()
		title := yes + node + "?"
		button := soakButton.FindStringSubmatch(scr)
		switch cursor, row := soakRows(scr, node); {
		case strings.Contains(scr, title) && button != nil && strings.HasPrefix(button[1], yes):
			s.x.keys("Enter")
			asked = 0
			s.patience(20*time.Second, done)
		case strings.Contains(scr, title) && button != nil:
			s.x.keys("Right")
		case button != nil:
			s.dismiss(button[1])
		case cursor < 0 || row < 0, strings.Contains(scr, "esc close"):
			s.home()
		case cursor < row:
			s.x.keys("Down")
		case cursor > row:
			s.x.keys("Up")
		default:
			if asked++; asked > 8 && key == "s" {
				return done()
			}
			s.x.keys(key)
			s.patience(3*time.Second, func() bool { return done() || strings.Contains(s.x.screen(), title) })
		}
	}
	s.note("not switched in time: " + key)
	s.t.Logf("%s of %s led to nothing:\n%s", key, node, s.x.screen())
	return done()
}

// dismiss closes a question without a change: a refusal has nothing but Close.
func (s *soak) dismiss(button string) {
	if button == "Close" {
		s.x.keys("Enter")
	} else {
		s.x.keys("Escape")
	}
	time.Sleep(300 * time.Millisecond)
}

// undisturbed dismisses what is asked until nothing has been for a while: what
// was looked up for a key may take until now.
func (s *soak) undisturbed() {
	quiet := 0
	s.patience(time.Minute, func() bool {
		button := soakButton.FindStringSubmatch(s.x.screen())
		if quiet++; button != nil {
			s.dismiss(button[1])
			quiet = 0
		}
		return quiet > 25
	})
}

// patience waits for so long at most.
func (s *soak) patience(most time.Duration, done func() bool) {
	for end := time.Now().Add(most); !done() && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
}

// end lets everything come to rest, has the trial judged and leaves.
func (s *soak) end() {
	const long = 3 * time.Minute
	for _, node := range s.lab.Machines("off", "stopping") {
		s.operate(node, "o", "Power on ", func() bool { return slices.Contains(s.lab.Machines("on"), node) })
	}
	s.undisturbed()
	s.home()
	s.x.waitFor("all at rest", long, `live`, `3/3 ready`, `6/6\s+Running`)
	s.x.press("c", `sending stopped|no load is running`)
	s.x.waitFor("nothing in flight", long, `\b0 in flight`)
	s.x.press("t", `End the trial by-keyboard\?`)
	s.x.answer("End the trial by-keyboard?", "End now and give the verdict")
	s.x.waitFor("a verdict", long, `PASS|NO EXPECTATIONS|FAIL|NOT OBSERVED|ABORTED`)
	s.leaked() // the trial's files are closed
	s.x.press("q", `exit \d|\[ `)
	if out := s.x.waitFor("the shell again", long, `exit \d`); !strings.Contains(out, "exit 0") || strings.Contains(out, "still off") {
		s.t.Errorf("it ends with\n%s", out)
	}
}

// verify looks for what must hold of what is on disk.
func (s *soak) verify() {
	t := s.t
	dirs, err := filepath.Glob(filepath.Join(s.state, "*", "trials", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the trials are %v, %v", dirs, err)
	}
	r, err := record.Open(dirs[0])
	if err != nil || len(r.Torn) > 0 || r.Summary == nil || !r.Summary.Ledger.Balanced || r.Summary.Ledger.InFlight != 0 {
		t.Fatalf("the record: %v, torn %v, %+v", err, r.Torn, r.Summary)
	}
	for _, look := range []struct{ args, want string }{
		{"replay --plain " + dirs[0], "verdict"}, {"restore --state " + s.state, "nothing is off"},
	} {
		out, errs, code := run(t, nil, strings.Fields(look.args)...)
		if code != 0 || !strings.Contains(out, look.want) {
			t.Errorf("%s: exit %d\n%s%s", look.args, code, out[max(0, len(out)-2000):], errs)
		}
	}
	if on := s.lab.Machines("on"); len(on) != 3 {
		t.Errorf("only %v are on", on)
	}
	for _, pattern := range []string{"power.jsonl", "*/power.jsonl", "*/sessions/*/events.jsonl"} {
		files, _ := filepath.Glob(filepath.Join(s.state, pattern))
		for _, f := range files {
			b, err := os.ReadFile(f)
			for line := range bytes.Lines(b) {
				if !json.Valid(line) && err == nil {
					err = fmt.Errorf("no JSON: %.200q", line)
				}
			}
			if err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
	logs, _ := filepath.Glob(filepath.Join(s.state, "*", "sessions", "*", "stderr.log"))
	for _, f := range logs {
		if b, _ := os.ReadFile(f); bytes.Contains(b, []byte("goroutine ")) {
			t.Errorf("%s:\n%s", f, b)
		}
	}
	t.Logf("%d requests: %+v; verdict %s", r.Summary.Ledger.Scheduled, r.Summary.Ledger, r.Summary.Verdict)
	s.latencies(filepath.Join(dirs[0], record.RequestsFile))
}
