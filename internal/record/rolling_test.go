package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// The past is bounded by its size and its age; the newest lines stay.
func TestThePastIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC)
	p := newPast(10_000, time.Minute, func() time.Time { return now })
	for i := range 1000 {
		now = now.Add(time.Second)
		p.add(fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("x", 50)))
		p.add(fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("long", 1000)))
	}
	var all bytes.Buffer
	for _, l := range p.lines {
		all.Write(l.read())
	}
	lines := strings.Split(strings.TrimSpace(all.String()), "\n")
	if p.size > p.most || len(lines) != 122 || !strings.HasPrefix(lines[0], "939 x") || lines[len(lines)-1] != "999 "+strings.Repeat("long", 1000) {
		t.Errorf("%d bytes, %d lines from %.10q", p.size, len(lines), lines[0])
	}
	for range 1000 {
		p.add(bytes.Repeat([]byte("y"), packedFrom-1))
	}
	if p.size > p.most {
		t.Errorf("%d bytes", p.size)
	}
}

// A record has the past with its own zero, and the next record has it again.
func TestRollingSpillsThePast(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	timeline, err := NewTimeline("", clock)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRolling(timeline, 1<<20, 15*time.Minute, clock)
	defer r.Close()
	mark := func(text string) { timeline.Add(view.NewEvent(view.CodeRemark, "remark", view.Facts{Reported: text})) }
	mark("long ago")
	now = now.Add(20 * time.Minute)
	mark("before")
	r.sampler.sample(&view.Frame{Now: now, Zero: now.Add(-time.Hour)}, false) // the zero of an earlier record
	r.Request(loadgen.Record{Run: 1, Class: loadgen.ClassOK, Scheduled: now, End: now})
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		zero := now.Add(-time.Second)
		if err := r.Spill(dir, zero); err != nil {
			t.Fatal(err)
		}
		mark("during")
		if err := r.Rest(); err != nil {
			t.Fatal(err)
		}
		mark("after")
		rec, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(rec.Events); n != 2+2*i || rec.Events[0].Reported != "before" || *rec.Events[n-1].Offset != 1 || !rec.Zero.Equal(zero) || rec.Runs[0].Totals.OK != 1 {
			t.Errorf("record %d: %+v, runs %+v", i, rec.Events, rec.Runs)
		}
	}
	mark("a sign")
	timeline.Add(view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: view.SignSilent}))
	dir := t.TempDir()
	if err := r.Spill(dir, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	r.Request(loadgen.Record{Run: 1, Class: loadgen.ClassRefused, Scheduled: now, End: now})
	if err := r.Rest(); err != nil {
		t.Fatal(err)
	}
	if rec, err := Open(dir); err != nil || rec.Runs[0].Totals.OK != 0 || rec.Runs[0].Totals.FailedSum() != 1 {
		t.Errorf("%v: requests before the zero of an outage count: %+v", err, rec.Runs)
	}
	if err := r.Spill(filepath.Join(t.TempDir(), "none"), now); err == nil {
		t.Error("a record without a folder")
	}
}
