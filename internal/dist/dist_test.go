package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/cli"
	"lightsout/internal/testenv"
)

// TestWhatIsMadeIsWholeAndTheSameTwice makes everything around a program, with
// this test in its place.
func TestWhatIsMadeIsWholeAndTheSameTwice(t *testing.T) {
	made := map[string][]byte{}
	for range 2 {
		r := &release{version: "1.2.3", out: t.TempDir(), stage: t.TempDir(), when: time.Unix(1_700_000_000, 0).UTC()}
		if err := r.common(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.staged("lightsout"), []byte("a program"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{r.archive("lightsout_1.2.3"), r.image("lightsout_1.2.3_linux_amd64", "amd64"), r.pack("deb", "amd64"), r.pack("rpm", "arm64"), r.sums()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]string{
			"man/lightsout.1": "lightsout restore", "man/lightsout-trial.1": "how: shutdown asks the guest", "man/lightsout.yaml.5": "off_by: ssh",
			"completions/_lightsout":     "#compdef lightsout",
			"lightsout-recorder.service": "ExecStart=/usr/bin/lightsout recorder", "lightsout.yaml.example": "off_by",
		} {
			if b, err := os.ReadFile(r.staged(name)); err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s has no %q: %v", name, want, err)
			}
		}
		files, _ := filepath.Glob(filepath.Join(r.out, "*"))
		if len(files) != 5 {
			t.Fatalf("made %v", files)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if before := made[filepath.Base(f)]; before != nil && !bytes.Equal(b, before) {
				t.Errorf("%s is another one the second time", filepath.Base(f))
			}
			made[filepath.Base(f)] = b
		}
	}
}

// systemd itself finds no fault in the recorder's unit. The unit names a program that is
// not installed here, so the test puts itself in its place.
func TestSystemdAcceptsTheRecordersUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		testenv.Skip(t, "systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("../../docs/lightsout-recorder.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lightsout-recorder.service")
	if err := os.WriteFile(path, bytes.ReplaceAll(unit, []byte("/usr/bin/lightsout"), []byte(self)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every page has its sections. The program's page has its keys, files and
// variables, and the config's page has every field.
func TestThePagesHaveTheirSections(t *testing.T) {
	r := &release{version: "1.2.3", stage: t.TempDir(), when: time.Unix(1_700_000_000, 0).UTC()}
	if err := os.Mkdir(r.staged("man"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.manual(cli.Command(r.version)); err != nil {
		t.Fatal(err)
	}
	for page, wants := range map[string][]string{
		"lightsout.1": {"NAME", "SYNOPSIS", "DESCRIPTION", "KEYS", "shut the marked nodes down", "EXIT STATUS", "not observed",
			"ENVIRONMENT", "KUBECONFIG", "FILES", "lightsout-locks", "OPTIONS", "EXAMPLE", "SEE ALSO"},
		"lightsout-power-off.1": {"DESCRIPTION", "cuts the power", "EXIT STATUS", "OPTIONS", "EXAMPLE", "SEE ALSO"},
		"lightsout-trial.1":     {"DESCRIPTION", "how: shutdown asks the guest", "SEE ALSO"},
		"lightsout.yaml.5":      {"LIGHTSOUT.YAML", "NAME", "DESCRIPTION", "EXAMPLE", "keep_ready", "service_level"},
	} {
		b, err := os.ReadFile(r.staged("man/" + page))
		if err != nil {
			t.Error(err)
		}
		text := strings.ReplaceAll(string(b), `\\-`, "-")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q:\n%s", page, want, text)
			}
		}
	}
}
