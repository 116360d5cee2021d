package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/testenv"
)

// terminal is a real terminal with a shell command in it, by tmux.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal runs command by sh in a new terminal of the given size.
func openTerminal(t *testing.T, width, height int, env []string, command string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		testenv.Skip(t, "tmux is not installed")
	}
	x := &terminal{t, filepath.Join(t.TempDir(), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height)}
	for _, e := range append([]string{"LC_ALL=C.UTF-8"}, env...) {
		args = append(args, "-e", e)
	}
	x.tmux(append(args, "sh", "-c", command)...)
	t.Cleanup(x.close)
	return x
}

// close ends the terminal, and waits for its programs: they end their records in the test's folders.
func (x *terminal) close() {
	panes, _ := exec.Command("tmux", "-S", x.socket, "list-panes", "-a", "-F", "#{pane_pid}").Output()
	var programs []string
	for _, shell := range strings.Fields(string(panes)) {
		children, _ := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
		programs = append(programs, strings.Fields(string(children))...)
	}
	_ = exec.Command("tmux", "-S", x.socket, "kill-server").Run()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && slices.ContainsFunc(programs, runs); {
		time.Sleep(lookAtScreen)
	}
}

// runs reports whether a process has not ended. The command line of one that nobody has waited for is
// empty.
func runs(pid string) bool {
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && len(line) > 0
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", args[0], err, stderr.String())
	}
	return string(out)
}

// lookAtScreen is how often a test looks at the screen. Each look starts a process.
const lookAtScreen = 150 * time.Millisecond

// screen is what is on the terminal.
func (x *terminal) screen() string { return x.tmux("capture-pane", "-p") }

// keys types keys by their tmux names.
func (x *terminal) keys(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

// waitFor waits until every pattern is on the screen at once.
func (x *terminal) waitFor(what string, within time.Duration, patterns ...string) string {
	x.t.Helper()
	var res []*regexp.Regexp
	for _, p := range patterns {
		res = append(res, regexp.MustCompile(p))
	}
	return x.wait(what, within, func(s string) bool {
		for _, re := range res {
			if !re.MatchString(s) {
				return false
			}
		}
		return true
	})
}

// wait waits until ok accepts the screen.
func (x *terminal) wait(what string, within time.Duration, ok func(string) bool) string {
	x.t.Helper()
	deadline := time.Now().Add(within)
	for {
		s := x.screen()
		if ok(s) {
			x.t.Logf("seen: %s", what)
			return s
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("never seen: %s; the screen is\n%s", what, s)
		}
		time.Sleep(lookAtScreen)
	}
}

// press presses a key, each second again, until the pattern is on the screen.
func (x *terminal) press(key, pattern string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); ; {
		x.keys(key)
		for wait := time.Now().Add(time.Second); time.Now().Before(wait); time.Sleep(lookAtScreen) {
			if re.MatchString(x.screen()) {
				return
			}
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%s does not lead to %q:\n%s", key, pattern, x.screen())
		}
	}
}

// answer waits for a question and takes the choice with the given label. The
// screen ignores keys for a moment after a question comes up, so the choice is
// looked at before it is taken.
func (x *terminal) answer(title, label string) {
	x.t.Helper()
	x.waitFor("the question: "+title, time.Minute, regexp.QuoteMeta(title))
	chosen := "[ " + label + " ]"
	for deadline := time.Now().Add(2 * time.Minute); ; {
		s := x.screen()
		key := "Right"
		switch {
		case !strings.Contains(s, title):
			return
		case time.Now().After(deadline):
			x.t.Fatalf("no key leads to %q:\n%s", label, s)
		case strings.Contains(s, chosen):
			key = "Enter"
		}
		x.keys(key)
		for wait := time.Now().Add(5 * time.Second); strings.Contains(x.screen(), title) && strings.Contains(x.screen(), chosen) == (key == "Enter") && time.Now().Before(wait); {
			time.Sleep(lookAtScreen)
		}
	}
}
