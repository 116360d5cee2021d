package config

import (
	"os"
	"strings"
	"testing"
)

// A lightsout.yaml in another person's folder names programs that lightsout would run.
func TestLightsoutRefusesAConfigThatOthersMayHaveWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if err := os.WriteFile(Name, []byte("context: theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(f Flags) string {
		c, err := f.Read()
		if err != nil {
			return err.Error()
		}
		return c.Context
	}
	if got := read(Flags{}); got != "theirs" {
		t.Errorf("for a file of my own: %s", got)
	}
	if got := read(Flags{Elsewhere: true}); got != "" {
		t.Errorf("for a file that nobody has named: %s", got)
	}
	if err := os.Chmod(Name, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := read(Flags{}); !strings.Contains(got, "chmod go-w") {
		t.Errorf("for a file that others may write: %s", got)
	}
	if got := read(Flags{File: Name}); got != "theirs" {
		t.Errorf("named: %s", got)
	}
	if os.Getuid() != 0 {
		return
	}
	for _, err := range []error{os.Chmod(Name, 0o600), os.Chown(Name, 65534, 65534)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := read(Flags{}); !strings.Contains(got, "another account") {
		t.Errorf("for a file of another account: %s", got)
	}
}
