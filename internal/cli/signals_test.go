package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
