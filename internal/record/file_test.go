package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/view"
)

// fullDisk has room for so many bytes more, and writes what fits.
type fullDisk struct {
	*os.File
	room int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) <= d.room {
		d.room -= len(b)
		return d.File.Write(b)
	}
	n, _ := d.File.Write(b[:d.room])
	d.room = 0
	return n, syscall.ENOSPC
}

// onFullDisk puts f on a disk that is full.
func onFullDisk(t *testing.T, f *file, clock func() time.Time) *fullDisk {
	t.Helper()
	real, ok := f.disk.(*os.File)
	if !ok {
		t.Fatal("no file")
	}
	d := &fullDisk{File: real, room: 10}
	f.disk, f.now = d, clock
	return d
}

func TestTheRecordCountsAndReportsLinesThatAFullDiskLoses(t *testing.T) {
	dir := t.TempDir()
	now := t0
	clock := func() time.Time { return now }
	l, err := NewTimeline(filepath.Join(dir, EventsFile), clock)
	if err != nil {
		t.Fatal(err)
	}
	d := onFullDisk(t, l.file, clock)
	long := strings.Repeat("x", 1<<20)
	for range 20 {
		l.Add(view.Event{Lane: view.LaneLoad, Text: long})
	}
	lost := l.Lost()
	if lost < 10 || lost > 15 {
		t.Fatalf("%d of 20 lines of 1 MB are lost", lost)
	}
	var h Health
	h.Observe("the record", l.Err(), l.Lost())
	d.room = 1 << 30
	now = now.Add(retryEach)
	e, ok := h.Observe("the record", l.Err(), l.Lost())
	if want := fmt.Sprintf("the record can be written again; %d lines of it are missing", lost); !ok || e.Text != want || e.Level != view.Warning {
		t.Errorf("%v %q, want %q", ok, e.Text, want)
	}
	l.Add(e)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d events are missing in %s: it could not be written", lost, EventsFile); len(r.Torn) != 1 || r.Torn[0] != want {
		t.Errorf("the record says %q, not %q", r.Torn, want)
	}
}

func TestSamplesGoOnWithAKeyframeAfterAGap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := t0
	s, err := stillSampler(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	frame := func(name string) {
		now = now.Add(2 * time.Second)
		s.sample(&view.Frame{Now: now, Title: view.Title{Cluster: name}}, false)
	}
	frame("before")
	d := onFullDisk(t, s.file, func() time.Time { return now })
	frame(strings.Repeat("x", keptBytes-1000))
	frame(strings.Repeat("y", 10_000)) // lost
	d.room = 1 << 30
	frame("after")
	frame("end")
	if err := s.file.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, SamplesFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if n := len(lines); n < 3 || !strings.Contains(string(text), `"cluster":"end"`) || strings.Contains(string(text), "yyy") {
		t.Fatalf("%d lines", n)
	}
	keys := 0
	for _, l := range lines[2:] {
		if strings.Contains(l, `"key":true`) {
			keys++
		}
	}
	if keys == 0 {
		t.Error("no keyframe follows the gap")
	}
}
