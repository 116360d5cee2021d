package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The oldest records go first, and never the one that is being written.
func TestTheOldestRecordsGoFirst(t *testing.T) {
	dir := t.TempDir()
	name := func(i int) string { return fmt.Sprintf("20261126T00000%dZ", i) }
	for _, name := range []string{"20251126-my-notes", name(1), name(2), name(3), name(4)} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "events.jsonl"), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := Trim(dir, 250, filepath.Join(dir, name(1)))
	if want := []string{filepath.Join(dir, name(2)), filepath.Join(dir, name(3))}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("%v %v", gone, err)
	}
	if gone, err := Trim(dir, 250, ""); err != nil || len(gone) > 0 {
		t.Errorf("%v %v", gone, err)
	}
	if left := SessionDirs(dir); len(left) != 2 {
		t.Error(left)
	}
	if _, err := os.Stat(filepath.Join(dir, "20251126-my-notes")); err != nil {
		t.Errorf("Trim removed a folder that is not a record: %v", err)
	}
}
