package record

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lightsout/internal/view"
)

func readEvents(t *testing.T, path string) []view.Event {
	t.Helper()
	events, torn, err := eventsIn(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil || torn {
		t.Fatalf("torn %v, %v", torn, err)
	}
	return events
}

func TestEventsAreOnDiskWhenAddReturns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	tl, err := NewTimeline(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ {
		tl.Add(view.Event{Lane: "node", Subject: "n", Text: "x"})
		if got := readEvents(t, path); len(got) != i || got[i-1].Seq != i {
			t.Fatalf("after %d events the file holds %+v", i, got)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNoEventIsLostAmongManyWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	tl, err := NewTimeline(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 3000 // more than are kept in memory
	var wg sync.WaitGroup
	for range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				tl.Add(view.Event{Lane: "pod"})
			}
		}()
	}
	wg.Wait()
	if err := tl.Close(); err != nil {
		t.Fatal(err)
	}
	got := readEvents(t, path)
	if len(got) != writers*each {
		t.Fatalf("%d of %d events are in the file", len(got), writers*each)
	}
	for i, e := range got {
		if e.Seq != i+1 {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	last := tl.Last(10)
	if len(last) != 10 || last[9].Seq != writers*each {
		t.Errorf("the last ones are %+v", last)
	}
	if s := tl.Since(writers*each - 4); len(s) != 4 || s[0].Seq != writers*each-3 {
		t.Errorf("since: %d events", len(s))
	}
	if s := tl.Since(0); len(s) == 0 || s[len(s)-1].Seq != writers*each {
		t.Error("since the beginning gives what is kept")
	}
}
