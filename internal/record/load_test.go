package record

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"lightsout/loadgen"
)

// manyRequests is the folder of a record with n requests within ten minutes, of
// which each hundredth failed.
func manyRequests(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, RequestsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(filepath.Join(dir, EventsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	w := bufio.NewWriter(f)
	for i := range n {
		at := t0.Add(10 * time.Minute * time.Duration(i) / time.Duration(n))
		q := loadgen.Record{
			ID: "0123abcd-" + strconv.Itoa(i), Run: 1, Shape: loadgen.Rate, Class: loadgen.ClassOK, Scheduled: at, Dial: at, Connected: at, Sent: at,
			FirstByte: at, LastByte: at, End: at.Add(time.Millisecond), Remote: "10.0.0.11:31514", Status: 200, Bytes: 853,
		}
		if i%100 == 99 {
			q.Class, q.Error = loadgen.ClassReset, "the connection was closed without an answer: EOF"
		}
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(append(line, '\n'))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A record's requests are read and let go.
func TestRequestsAreReadInFlatMemory(t *testing.T) {
	kept := func(n int) uint64 {
		dir := manyRequests(t, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := r.Runs[0].Totals; got.Scheduled != n || got.FailedSum() != n/100 {
			t.Errorf("of %d requests: %+v", n, got)
		}
		sent := 0
		for _, s := range r.Seconds {
			sent += s.Sent
		}
		if sent != n {
			t.Errorf("%d of %d requests are in the seconds", sent, n)
		}
		runtime.KeepAlive(r)
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	// Their lines have 20 MB; kept are a second's counts, and no request.
	kept(5_000)
	if many := kept(50_000); many > 2<<20 {
		t.Errorf("%d bytes for 50,000 requests", many)
	}
}
