package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/loadgen"
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
	var printed []string
	r := &Recorder{opt: Options{Dir: dir, KeepBytes: 250, Now: time.Now, Print: func(line string) { printed = append(printed, line) }}, newest: filepath.Join(dir, name(1))}
	r.trim()
	r.trim()
	if len(printed) != 2 || !strings.HasSuffix(printed[0], name(2)) || !strings.HasSuffix(printed[1], name(3)) {
		t.Errorf("%q", printed)
	}
	if left := folders(dir); len(left) != 2 {
		t.Error(left)
	}
	if _, err := os.Stat(filepath.Join(dir, "20251126-my-notes")); err != nil {
		t.Errorf("the recorder removed a folder that is not a record: %v", err)
	}
}

// A notice's sentence and severity agree, and hooks receive another when clients begin to
// notice the outage.
func TestANoticeFollowsWhatClientsNotice(t *testing.T) {
	s := newScreen(t)
	var got []Notice
	s.opt.Notify = func(n Notice) { got = append(got, n) }
	s.fails("n2")
	s.look(6)
	s.Record(loadgen.Record{Run: 1, Scheduled: s.now, Sent: s.now, End: s.now.Add(100 * time.Millisecond), Class: loadgen.ClassRefused})
	s.look(6)
	if len(got) != 2 || got[0].Severity != record.SeverityUnknown || got[1].State != StateChanged || got[1].Severity != record.SeverityDegraded ||
		strings.Contains(got[0].Sentence, "clients") || !strings.Contains(got[1].Sentence, "clients see errors") {
		t.Errorf("hooks receive %+v", got)
	}
}
