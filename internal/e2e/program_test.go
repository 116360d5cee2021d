package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
)

// Exit codes, as the README tells them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotObserved = 3
	exitAborted     = 4
)

// program is the built program, to be run with nothing of the user's own
// settings in reach.
func program(ctx context.Context, t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, labtest.Program(t, "lightsout"), args...)
	cmd.Env = append([]string{"PATH=" + filepath.Dir(cmd.Path) + ":" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color", "LC_ALL=C.UTF-8"}, env...)
	cmd.Dir = home
	return cmd
}

// run runs the program without a terminal and returns what it printed.
func run(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return finish(t, program(context.Background(), t, env, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// start starts the program and gives what it prints line by line.
func start(t *testing.T, args ...string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := program(context.Background(), t, nil, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := make(chan string, 10_000)
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	return cmd, lines
}

// waitLine waits for a line that holds every word.
func waitLine(t *testing.T, lines <-chan string, words ...string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	var said []string
	for {
		select {
		case s, ok := <-lines:
			if !ok {
				t.Fatalf("it ended before a line with %q:\n%s", words, strings.Join(said, "\n"))
			}
			said = append(said, s)
			found := true
			for _, w := range words {
				found = found && strings.Contains(s, w)
			}
			if found {
				return
			}
		case <-deadline:
			t.Fatalf("no line with %q:\n%s", words, strings.Join(said, "\n"))
		}
	}
}

// args are the flags that lead to a lab, and more.
func args(l *labtest.Lab, config string, more ...string) []string {
	return append([]string{"--config", config, "--kubeconfig", l.Kubeconfig()}, more...)
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig points at an API server.
func kubeconfig(t *testing.T, server string) string {
	return write(t, "kubeconfig", `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "`+server+`", insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: s3cret-token}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`)
}

// readSummary reads the summary in the folder of a trial's record.
func readSummary(t *testing.T, dir string) *record.Summary {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, record.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var s record.Summary
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}
