package record

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is not a file is refused before it is opened: to open a pipe waits for a
// writer, and a device may have no end.
func TestOpenRefusesAPathThatIsNotAFile(t *testing.T) {
	for _, name := range []string{EventsFile, RequestsFile, SamplesFile, PlanFile, SummaryFile} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, EventsFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, name))
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
		_ = os.Remove(filepath.Join(dir, name))
		if err := os.Symlink("/dev/zero", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
