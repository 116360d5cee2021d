package cli

import (
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
