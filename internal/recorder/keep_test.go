package recorder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The oldest records go first, and never the one that is being written.
func TestTheOldestRecordsGoFirst(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1", "2", "3", "4"} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "events.jsonl"), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := trim(dir, 250, filepath.Join(dir, "1"))
	if want := []string{filepath.Join(dir, "2"), filepath.Join(dir, "3")}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("%v %v", gone, err)
	}
	if gone, err := trim(dir, 250, ""); err != nil || len(gone) > 0 {
		t.Errorf("%v %v", gone, err)
	}
	if left := folders(dir); len(left) != 2 {
		t.Error(left)
	}
}

func TestOneRecorderToAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outages")
	unlock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil {
		t.Error("a second recorder got in")
	}
	unlock()
	if unlock, err = Lock(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}
