package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/recorder"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
)

// TestMachinesLeftOffAreNotForgotten closes the program while a machine is off:
// by the key, which asks; by kill -9, after which the terminal is right and
// the next start offers to power it on.
func TestMachinesLeftOffAreNotForgotten(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) { c["state"] = state })
	command := labtest.Program(t, "lightsout") + " " + strings.Join(args(l, config), " ")
	const long = time.Minute
	x := openTerminal(t, 120, 36, nil, "while :; do sh -c 'echo $$ >"+state+"/pid; exec "+command+"'; echo exit $?; read again; done")
	x.waitFor("the cluster", long, ready("5"), `16/16\s+Running`)
	x.mark("kube-node4")
	x.keys("s")
	x.answer("Shut down kube-node4?", "Shut down 1 node")
	x.waitFor("the machine off", long, `kube-node4\s+(?:Not)?Ready[^\n│]*\soff\s`)

	x.keys("q")
	x.waitFor("the question", long, "Leave with machines off", "kube-node4")
	x.answer("Leave with machines off", "Stay")
	x.waitFor("the screen again", long, ready("[45]"))

	process(t, state+"/pid").Kill()
	// What the shell says of the kill may still land on the alternate screen and go with it.
	s := x.waitFor("the terminal put right", long, `ended unexpectedly`)
	if !strings.Contains(s, "lightsout restore") {
		t.Errorf("nothing is said of restoring:\n%s", s)
	}
	x.checkTerminal()
	x.keys("Enter")
	x.waitFor("the offer", long, "Power on what lightsout asked to go off?", "kube-node4")
	x.answer("Power on what lightsout asked to go off?", "Power on")
	x.waitFor("all on again", long, ready("5"), `16/16\s+Running`)
	x.keys("q")
	x.waitFor("the shell again", long, `exit 0`)

	x.keys("Enter")
	x.waitFor("the cluster", long, ready("5"))
	x.mark("kube-node3")
	x.keys("S")
	x.answer("Pull the plug on kube-node3?", "Pull the plug on 1 node") // by the portal: ssh can't
	x.waitFor("the machine off", long, `kube-node3\s+(?:Not)?Ready[^\n│]*\soff\s`)
	x.keys("q")
	x.answer("Leave with machines off", "Leave them as they are")
	x.waitFor("what is still off", long, `outage's record is in`, `off by the journal: kube-node3`, `lightsout restore --config`)
	dirs, err := filepath.Glob(filepath.Join(state, "*", recorder.Folder, "*Z*"))
	if err != nil || len(dirs) != 2 {
		t.Fatalf("the records of the outages by hand: %q, %v", dirs, err)
	}
	sum := readSummary(t, dirs[1])
	if signs := sum.Unplanned.Signs; len(signs) != 1 || signs[0].Kind != view.SignSwitchedOff || signs[0].Subject != "kube-node3" || !slices.Equal(sum.LeftOff, []string{"kube-node3"}) ||
		!slices.ContainsFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseOff && p.Observed != nil }) {
		t.Errorf("the record of the outage by hand: %+v, %+v, left off %q", sum.Unplanned, sum.Phases, sum.LeftOff)
	}

	// A hang-up in a trial: what it switched off is powered on again.
	x.keys("Enter")
	x.answer("Power on what lightsout asked to go off?", "Power on")
	x.waitFor("all on again", long, ready("5"), `16/16\s+Running`)
	x.press("t", "Start a trial\\?") // refused while the power-on has not ended
	x.answer("Start a trial?", "By keyboard")
	x.mark("kube-node4")
	x.keys("s")
	x.answer("Shut down kube-node4?", "Shut down 1 node")
	x.waitFor("the machine off", long, `kube-node4\s+(?:Not)?Ready[^\n│]*\soff\s`)
	if err := process(t, state+"/pid").Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	end := x.waitFor("the end in order", long, `aborted: by a signal`, `powering on the machines that the trial switched off: kube-node4`, `trial's record is in`)
	if strings.Contains(end, "off by the journal: kube-node4") {
		t.Errorf("the trial's machine is left off:\n%s", end)
	}
}

// TestACrashLeavesTheTerminalRight makes the Go runtime end the program with a
// stack trace, as a panic in any goroutine does (SIGQUIT, os/signal).
func TestACrashLeavesTheTerminalRight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := labtest.Program(t, "lightsout") + " --state " + dir + " --kubeconfig " + kubeconfig(t, "https://"+testenv.Refusing(t))
	x := openTerminal(t, 80, 24, nil, "sh -c 'echo $$ >"+dir+"/pid; exec "+command+"'; echo exit $?; exec sleep 600")
	x.waitFor("the screen", time.Minute, "STALE")
	process(t, dir+"/pid").Signal(syscall.SIGQUIT)
	s := x.waitFor("the shell again", time.Minute, "ended unexpectedly")
	if strings.Contains(s, "goroutine ") {
		t.Errorf("a stack trace on the screen:\n%s", s)
	}
	x.checkTerminal()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "sessions", "*", "stderr.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs: %v, %v", logs, err)
	}
	if b, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(b), "goroutine ") {
		t.Errorf("the log has no stack trace: %v", err)
	}
}

// The log that a crashed demo names outlives the lab's folder.
func TestACrashedDemoNamesALogThatStays(t *testing.T) {
	testenv.Long(t, 20)
	t.Parallel()
	labtest.Room(t)
	dir := t.TempDir()
	command := "TMPDIR=" + dir + " " + labtest.Program(t, "lightsout") + " demo"
	x := openTerminal(t, 200, 50, nil, "sh -c 'echo $$ >"+dir+"/pid; "+strings.Replace(command, " ", " exec ", 1)+"'; exec sleep 600")
	x.waitFor("the screen", 5*time.Minute, `kube-node\d`)
	process(t, dir+"/pid").Signal(syscall.SIGQUIT)
	s := x.waitFor("the name of the log", time.Minute, `Its last messages are in \S+`)
	_, log, _ := strings.Cut(s, "Its last messages are in ")
	log = strings.Fields(log)[0]
	if filepath.Dir(log) != dir {
		t.Errorf("the log is in a folder that the lab deletes: %s", log)
	}
	if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "goroutine ") {
		t.Errorf("the log has no stack trace: %v", err)
	}
}

// process is the one whose id is in a file.
func process(t *testing.T, path string) *os.Process {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkTerminal checks that the main screen and the cursor are shown.
func (x *terminal) checkTerminal() {
	x.t.Helper()
	if got := strings.TrimSpace(x.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}")); got != "0 1" {
		x.t.Errorf("alternate screen and cursor are %q, wanted 0 1", got)
	}
}
