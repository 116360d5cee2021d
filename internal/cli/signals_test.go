package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lightsout/internal/record/examples"
)

// asProgram has the test's own binary be the program.
const asProgram = "LIGHTSOUT_TEST_AS_PROGRAM"

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// A config file that is a pipe is read, and one signal is enough where nobody writes.
func TestAConfigMayBeAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{"context: piped\n", ""} {
		cmd := program(t, "config", "show", "--config", pipe)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // until it is read
		if err != nil {
			t.Fatal(err)
		}
		if written == "" {
			err = cmd.Process.Signal(syscall.SIGTERM)
		} else {
			_, err = w.WriteString(written)
			w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		w.Close()
		var exit *exec.ExitError
		switch {
		case written == "" && (!errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM)):
			t.Errorf("after a signal: %v\n%s", err, &out)
		case written != "" && (err != nil || !strings.Contains(out.String(), "context: piped")):
			t.Errorf("%v\n%s", err, &out)
		}
	}
}

// A config file without end is read no further than shows that it is too large.
func TestAConfigWithoutEndIsTooLarge(t *testing.T) {
	out, err := program(t, "config", "show", "--config", "/dev/zero").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/dev/zero: the config is larger than 1048576 bytes") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The record of a killed load or trial lacks requests, so load verify fails. The record
// of a session never has a summary.
func TestLoadVerifyOfARecordWithoutASummary(t *testing.T) {
	for _, c := range []struct {
		files      []string
		incomplete bool
	}{
		{[]string{"requests.jsonl"}, true},
		{[]string{"requests.jsonl", "events.jsonl", "plan.yaml"}, true},
		{[]string{"requests.jsonl", "events.jsonl"}, false},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := verifyLoad(dir, &out)
		if c.incomplete != errors.Is(err, errNoEnd) || !c.incomplete && (err != nil || !strings.Contains(out.String(), "this is the record of a session")) {
			t.Errorf("%v: %v\n%s", c.files, err, &out)
		}
	}
}

// A summary that leaves out a load step of the plan would hide its requests.
func TestLoadVerifyMissesALoadStep(t *testing.T) {
	dir := t.TempDir()
	example, _ := examples.Open("mdx")
	for _, name := range []string{"requests.jsonl", "plan.yaml", "summary.json"} {
		data, err := fs.ReadFile(example, name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "summary.json" {
			data = withoutStep(t, data, "all on again")
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := verifyLoad(dir, &out)
	if want := `load step "all on again" began, and the summary does not count its requests`; err == nil || !strings.Contains(out.String()+err.Error(), want) {
		t.Errorf("%v\n%s", err, &out)
	}
}

// withoutStep takes a load step, and its requests, out of a summary.
func withoutStep(t *testing.T, summary []byte, step string) []byte {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(summary, &s); err != nil {
		t.Fatal(err)
	}
	ledger := s["ledger"].(map[string]any)
	s["load"] = slices.DeleteFunc(s["load"].([]any), func(l any) bool {
		x := l.(map[string]any)
		if x["step"] != step {
			return false
		}
		for _, key := range []string{"scheduled", "ok"} {
			ledger[key] = ledger[key].(float64) - x[key].(float64)
		}
		return true
	})
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A command whose kubeconfig or ssh configuration does not answer, such as one on a server that is away,
// reports that, and one signal ends it.
func TestASignalEndsTheReadingOfAKubeconfig(t *testing.T) {
	dir := t.TempDir()
	pipe, config, state := filepath.Join(dir, "pipe"), filepath.Join(dir, "lightsout.yaml"), filepath.Join(dir, "state")
	err := errors.Join(os.Mkdir(state, 0o700), syscall.Mkfifo(pipe, 0o600), os.WriteFile(config, []byte("ssh: {config: pipe}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		what string
	}{
		{[]string{"power", "status", "--kubeconfig", pipe}, "the kubeconfig"},
		{[]string{"restore", "--kubeconfig", pipe}, "the kubeconfig"},
		{[]string{"restore", "--kubeconfig", "/dev/null", "--config", config}, "the ssh configuration"},
	} {
		t.Run(strings.Join(c.args[:2], " ")+" "+c.what, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, append(c.args, "--state", state)...)
			errs, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(errs)
			for lines.Scan() && !strings.Contains(lines.Text(), "still reading "+c.what) {
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM) {
				t.Errorf("%v after %q", err, lines.Text())
			}
		})
	}
}
