package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"lightsout/loadgen"
)

// Whatever is added by many at once is in the file when Add returns: each
// request once, in whole lines.
func TestRequestsAreWrittenBeforeAddReturns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	l, err := NewRequests(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 100 {
				id := strconv.Itoa(w) + "-" + strconv.Itoa(i)
				l.Add(loadgen.Record{ID: id, Run: w, Class: loadgen.ClassOK, Scheduled: time.Now(), End: time.Now()})
				if data, err := os.ReadFile(path); i%20 == 0 && (err != nil || !bytes.Contains(data, []byte(`{"id":"`+id+`",`))) {
					t.Errorf("%s is not in the file: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil || l.Err() != nil {
		t.Fatal(err, l.Err())
	}
	lines, seen := 0, map[string]int{}
	torn, err := EachRequest(os.DirFS(filepath.Dir(path)), func(n int, r *loadgen.Record) error {
		lines = n
		seen[r.ID]++
		return nil
	})
	if err != nil || torn || lines != 800 || len(seen) != 800 {
		t.Errorf("%d lines, %d requests, torn %v, %v", lines, len(seen), torn, err)
	}
	l.Add(loadgen.Record{ID: "late"}) // is nowhere, and does no harm
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
