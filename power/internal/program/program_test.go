package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/power"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAProgramGetsItsInputAndNothingElse(t *testing.T) {
	t.Setenv("FROM_OUTSIDE", "passed")
	r, err := Run(t.Context(), Program{
		Argv:  []string{"sh", "-c", `cat; echo "$FROM_OUTSIDE $ADDED"; echo "$1" >&2; (: </dev/tty) 2>/dev/null && echo "a terminal"; exit 3`, "sh", "a b;c"},
		Env:   []string{"ADDED=too"},
		Stdin: "action=on\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Status: 3, Stdout: "action=on\npassed too\n", Stderr: "a b;c\n"}
	if r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestTheOutputOfAProgramContainsNoSecrets(t *testing.T) {
	t.Parallel()
	p := Program{Argv: []string{"sh", "-c", "cat; cat >&2; exit 1"}, Stdin: "password=hunter2\n", Secrets: []string{"hunter2"}}
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if all := r.Stdout + r.Stderr + r.How(); strings.Contains(all, "hunter2") || !strings.Contains(all, "(secret)") {
		t.Errorf("said %q", all)
	}
}

func TestHostileOutputIsBoundedAndMadeHarmless(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Program{Argv: []string{"sh", "-c", `printf '\033]0;owned\007\033[2Jred\r\nover' >&2; head -c 3000000 /dev/zero`}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stdout) != outputLimit {
		t.Errorf("%d bytes were kept", len(r.Stdout))
	}
	if got := r.Said(); got != "red over" {
		t.Errorf("said %q", got)
	}
}

// TestTheWholeGroupIsEndedWhenTimeIsUp starts a child and a grandchild that do
// not care for SIGTERM.
func TestTheWholeGroupIsEndedWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Program{Argv: []string{"sh", "-c",
			`trap "" TERM; echo working >&2; sh -c 'trap "" TERM; echo $$ >> "$0"; while :; do sleep 0.1; done' "$1" & echo $$ >> "$1"; while :; do sleep 0.1; done`, "sh", pids}})
		done <- err
	}()
	running := func() (n int) {
		data, _ := os.ReadFile(pids)
		for _, f := range strings.Fields(string(data)) {
			pid, _ := strconv.Atoi(f)
			if pid > 0 && !gone(pid) {
				n++
			}
		}
		return n
	}
	await(t, "both to run", func() bool { return running() == 2 })
	cancel()
	err := <-done
	var stopped *power.SilentError
	if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "working") {
		t.Errorf("got %v", err)
	}
	await(t, "all to be gone", func() bool { return running() == 0 })
}

// gone: there is no such process, or it has ended and nobody has asked how.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestWhatIsNotThereIsNotStarted(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]func() (Result, error){
		"no such program": func() (Result, error) { return Run(t.Context(), Program{Argv: []string{"/no/such/program"}}) },
		"not in PATH":     func() (Result, error) { return Run(t.Context(), Program{Argv: []string{"no-such-program"}}) },
		"empty":           func() (Result, error) { return Run(t.Context(), Program{Argv: []string{""}}) },
		"ended context":   func() (Result, error) { return Run(ended, Program{Argv: []string{"true"}}) },
	} {
		var e *power.RefusedError
		if _, err := run(); !errors.As(err, &e) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChildLeftBehindDoesNotHoldUpTheResult(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Program{Argv: []string{"sh", "-c", "sleep 600 & echo $!; exit 0"}})
	if err != nil || r.Status != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(r.Stdout)); err == nil && pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
