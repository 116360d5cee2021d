package record

import (
	"os"
	"syscall"
	"testing"
	"time"

	"lightsout/loadgen"
)

// fullOnce is a disk that is full within one write, of which it has written half.
type fullOnce struct {
	*os.File
	full bool
}

func (d *fullOnce) Write(p []byte) (int, error) {
	if !d.full {
		return d.File.Write(p)
	}
	d.full = false
	n, _ := d.File.Write(p[:len(p)/2])
	return n, syscall.ENOSPC
}

// A disk that is full for a moment leaves no hole in the record of an unplanned outage.
func TestARecordOfADiskThatWasFullCanBeRead(t *testing.T) {
	timeline, err := NewTimeline("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := newRolling(timeline, 1<<20, time.Minute, time.Now)
	dir := t.TempDir()
	if err := r.Spill(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	f := r.requests.file
	f.disk = &fullOnce{f.disk.(*os.File), true}
	r.Request(loadgen.Record{End: time.Now()})
	f.tried = time.Time{} // try again now
	r.Request(loadgen.Record{End: time.Now()})
	if err := r.Rest(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err != nil {
		t.Errorf("the record can't be read: %v", err)
	}
}
