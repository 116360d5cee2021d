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

// With --redact no printed line has a name of the config, the cluster or the plan.
func TestPrintedLinesAreRedacted(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plan := put("plan.yaml", "name: p\nsteps:\n  - off: acme-n1\n")
	kubeconfig := put("k", `{clusters: [{name: c, cluster: {server: "https://api.acme.invalid:1"}}], contexts: [{name: acme-prod, context: {cluster: c}}], current-context: acme-prod}`)
	out, err := program(t, "trial", "run", plan, "--yes", "--redact", "--wait-for-api", "1s", "--state", dir, "--kubeconfig", kubeconfig).CombinedOutput()
	if err == nil || strings.Contains(string(out), "acme") || !strings.Contains(string(out), "lightsout cannot see the cluster") {
		t.Errorf("%v\n%s", err, out)
	}
	names := record.NewNames()
	names.Add(record.NameHost, "acme-n1")
	hidden.Store(names)
	defer hidden.Store(nil)
	lines, err := os.Create(filepath.Join(dir, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	_, _ = standard{&lines}.Write([]byte("acme-n1 is off\n"))
	if b, err := os.ReadFile(lines.Name()); err != nil || strings.Contains(string(b), "acme") || !strings.HasSuffix(string(b), " is off\n") || newConsole(true, "").out != stdout {
		t.Errorf("%v: %s", err, b)
	}
}

// A refused plan reports every fault with its file, and is an error of JUnit's. Help of a command that is not there is an error.
func TestARefusedCommandLineIsAnError(t *testing.T) {
	dir := t.TempDir()
	bad, junit := filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "junit.xml")
	if err := os.WriteFile(bad, []byte("name: p\nsteps:\n  - of: n1\n  - onn: n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"trial run mdx --yes --junit " + filepath.Join(bad, "junit.xml"):              "bad.yaml/junit.xml: not a directory; nothing was sent",
		"trial run mdx --yes --kubeconfig /none --state " + dir + " --junit " + junit: "/none",
		"trial run --lab --junit " + junit + " " + bad:                                bad + `: line 3: there is no step "of"; did you mean "off"?` + "\n" + bad + `: line 4: `,
		"compare --help":      `there is no command "lightsout compare"; did you mean "lightsout trial compare"?`,
		"trial compar --help": `did you mean "compare"?`,
	} {
		out, err := program(t, strings.Fields(line)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if b, err := os.ReadFile(junit); err != nil || !strings.Contains(string(b), `<error message="`) {
		t.Errorf("%v: %s", err, b)
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
	if _, err := provenBy(dir); err == nil || !strings.Contains(err.Error(), record.HTMLFile+" is missing or empty") {
		t.Errorf("an empty report: %v", err)
	}
	if _, err := provenBy(filepath.Join(dir, "none")); err == nil {
		t.Error("no folder")
	}
}
