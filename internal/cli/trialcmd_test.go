package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
)

// A plan that asks is refused before its first step where nobody can be asked.
func TestAPlanThatAsksNeedsSomebodyToAsk(t *testing.T) {
	out, err := program(t, "trial", "run", "mdx", "--state", t.TempDir(), "--kubeconfig", "/none").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(string(out), "no terminal to confirm on (shut down") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A trial whose record is gone, or was not written, proves nothing.
func TestATrialWithoutItsRecordFails(t *testing.T) {
	example, ok := examples.Open("mdx")
	if !ok {
		t.Fatal("no example")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, example); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{record.ReportFile, record.HTMLFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a report"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := provenBy(dir); err != nil {
		t.Errorf("a whole record: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, record.HTMLFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := provenBy(dir); err == nil || !strings.Contains(err.Error(), record.HTMLFile+" is empty") {
		t.Errorf("an empty report: %v", err)
	}
	if _, err := provenBy(filepath.Join(dir, "none")); err == nil {
		t.Error("no folder")
	}
}
