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
	"lightsout/internal/view"
)

// The file has the expectations, without names.
func TestJUnitHasNoNames(t *testing.T) {
	names := record.NewNames()
	names.Add(record.NameHost, "kube-node3")
	names.Add(record.NameNamespace, "payments")
	names.Add(record.NameNamespace, "failure") // a word of the format
	path := filepath.Join(t.TempDir(), "junit.xml")
	sum := &record.Summary{
		Verdict: view.Fail, Deployment: "payments/web",
		Expectations: []view.Expectation{{Name: "ready", Want: "kube-node3 in time", Got: "kube-node3 late"}},
	}
	if err := writeJUnit(path, "mdx", sum, "", names); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); strings.Contains(text, "kube-node3") || strings.Contains(text, "payments") || !strings.Contains(text, "<failure ") || !strings.Contains(text, "in time") {
		t.Error(text)
	}
}

// A run that does not begin is an error in the file, not a gap in it, and replaces what an
// earlier trial left there. With --redact the file has no names.
func TestJUnitHasARunThatDoesNotBegin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junit.xml")
	for _, args := range [][]string{nil, {"--redact"}} {
		if err := os.WriteFile(path, []byte("green"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"trial", "run", "mdx", "--yes", "--state", t.TempDir(), "--kubeconfig", "/none/secret", "--junit", path}, args...)
		out, err := program(t, args...).CombinedOutput()
		b, e := os.ReadFile(path)
		if e != nil {
			t.Fatal(e)
		}
		text := string(b)
		if err == nil || strings.Count(text, "<error ") != 1 || !strings.Contains(text, `errors="1"`) || !strings.Contains(text, "did not begin") || strings.Contains(text, "green") {
			t.Errorf("%q: %v\n%s\n%s", args, err, out, text)
		}
		if redacted := args[len(args)-1] == "--redact"; redacted == strings.Contains(text, "secret") {
			t.Errorf("%q: %s", args, text)
		}
	}
}

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
