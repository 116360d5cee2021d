package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
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
	gone, err := trim(dir, 250, filepath.Join(dir, name(1)))
	if want := []string{filepath.Join(dir, name(2)), filepath.Join(dir, name(3))}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("%v %v", gone, err)
	}
	if gone, err := trim(dir, 250, ""); err != nil || len(gone) > 0 {
		t.Errorf("%v %v", gone, err)
	}
	if left := folders(dir); len(left) != 2 {
		t.Error(left)
	}
	if _, err := os.Stat(filepath.Join(dir, "20251126-my-notes")); err != nil {
		t.Errorf("the recorder removed a folder that is not a record: %v", err)
	}
}

// A hook that has heard of an outage hears of its end too, if the recorder was killed. The
// notice comes from the next recorder.
func TestHooksHearTheEndOfAnInterruptedOutage(t *testing.T) {
	for _, heard := range []bool{true, false} {
		s := newScreen(t)
		s.opt.Notify = func(Notice) {
			if heard {
				s.timeline.Add(view.NewEvent(view.CodeHookCalled, "command", view.Facts{Name: string(StateBegan), N: 1}))
			}
		}
		s.fails("n2")
		s.look(5)
		dir := s.Newest()
		var got []Notice
		h := &Hooks{queues: []chan Notice{make(chan Notice, 9)}}
		h.Resolve("test", Interrupted(s.opt.Dir))
		close(h.queues[0])
		for n := range h.queues[0] {
			got = append(got, n)
		}
		if !heard {
			if len(got) > 0 {
				t.Errorf("nobody heard of it, and hooks receive %+v", got)
			}
			continue
		}
		if len(got) != 1 || got[0].State != StateEnded || got[0].Cluster != "test" || got[0].Record != dir || got[0].Severity != record.SeverityUnknown ||
			got[0].Ended.IsZero() || !got[0].Zero.Before(got[0].Ended) || !strings.HasPrefix(got[0].Sentence, "An earlier recorder ended at ") {
			t.Errorf("hooks receive %+v", got)
		}
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
