package power

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// What stands where the journal should be and is none is said.
func TestLightsoutReportsAFileThatIsNotAJournal(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"not a plain":         func(path string) error { return os.Mkdir(path, 0o700) },
		"is not a plain file": func(path string) error { return syscall.Mkfifo(path, 0o400) }, // which nobody writes to
		"not a plain file":    func(path string) error { return os.Symlink(os.DevNull, path) },
		"dangling link":       func(path string) error { return os.Symlink(path+".gone", path) },
		"behind a dangling link": func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Remove(dir), os.Symlink(dir+".gone", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := errors.Join(os.Mkdir(dir, 0o700), put(filepath.Join(dir, JournalName))); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			_, err := j.LeftOff()
			if err == nil || !strings.Contains(err.Error(), j.Path()) || !strings.Contains(err.Error(), name) || strings.Contains(name, "link") && j.unwritable == nil {
				t.Errorf("read: %v; written: %v", err, j.unwritable)
			}
		})
	}
}

// A last line without its end is passed over only if a crash may have cut it off.
func TestOnlyATornLineIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, testJournal(t, dir), intent("1", "n3", ActionShutdown))
	line, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	nul := make([]byte, 1500)
	for name, c := range map[string]struct {
		text    []byte
		left    []string
		damaged int
	}{
		"the beginning of an entry":        {line[:40], nil, 0},
		"an entry without its end":         {bytes.TrimSpace(line), []string{"n3 uncertain"}, 0},
		"an entry but for its last letter": {line[:len(line)-2], nil, 0},
		"NUL bytes":                        {nul, nil, 1},
		"an entry, then NUL bytes":         {append(bytes.Clone(line), nul...), []string{"n3 uncertain"}, 1},
		"NUL bytes in a beginning":         {append(line[:40:40], nul...), nil, 1},
		"something else":                   {[]byte("not a journal"), nil, 1},
		"longer than any entry":            {append([]byte("{"), bytes.Repeat([]byte("x"), entryLimit)...), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, JournalName), c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			j := testJournal(t, dir)
			for range 2 { // it is taken in once
				lost, err := j.Damaged()
				if err != nil || len(lost) != c.damaged || !reflect.DeepEqual(leftOff(t, j), c.left) {
					t.Fatalf("left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
				}
			}
			lost, _ := j.Damaged()
			if err := j.acknowledge(lost, "looked at"); err != nil {
				t.Fatal(err)
			}
			write(t, j, intent("9", "n5", ActionShutdown))
			want := append(append([]string(nil), c.left...), "n5 uncertain")
			for _, j := range []*Journal{j, testJournal(t, dir)} {
				wasTorn := 0
				if c.damaged == 0 && c.left == nil {
					wasTorn = 1 // whose end was written for it
				}
				if lost, err := j.Damaged(); err != nil || len(lost) != wasTorn || !reflect.DeepEqual(leftOff(t, j), want) {
					t.Errorf("after it: left off %v, damaged %+v, %v", leftOff(t, j), lost, err)
				}
			}
		})
	}
}
