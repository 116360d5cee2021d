package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// keptBytes bounds what waits for a disk that can't be written.
const keptBytes = 8 << 20

// retryEach is the least time between two tries to write what waits.
const retryEach = time.Second

// disk is what a file is written to.
type disk interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// file is a growing file of whole lines. A failed write does not end it: unwritten
// lines wait, up to keptBytes, and file retries; it counts lines without room as lost.
// So a disk that is full for a while costs nothing, or a gap of known length. It is safe for concurrent use. The
// zero file, like a closed one, accepts lines and keeps none.
type file struct {
	now   func() time.Time
	names *Names // names to replace; may be nil
	past  *past  // the newest lines, if they are kept; else nil

	mu      sync.Mutex
	disk    disk  // nil: closed
	size    int64 // of the whole lines on the disk
	part    bool  // there may be a part of a line behind them
	waiting []byte
	lost    int
	err     error // why what waits could not be written; nil: nothing waits
	tried   time.Time
	syncs   sync.WaitGroup
}

// openFile creates the file at path, with mode 0600, or appends to it. It locks the file, so
// that beingWritten sees that this program writes it. For an empty path it returns the zero file. The error begins with fault.
func openFile(path, fault string) (*file, error) {
	if path == "" {
		return &file{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fault, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", fault, err)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // not every file system can
	return &file{now: time.Now, disk: f, size: info.Size()}, nil
}

// Redact has names replaced in all that is written from now on. It is called
// before the first line.
func (f *file) Redact(n *Names) { f.names = n }

// open reports whether the file keeps its lines.
func (f *file) open() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.disk != nil || f.past != nil
}

// write adds whole lines. It returns when they are written, or wait for it.
func (f *file) write(lines []byte) {
	lines = f.names.JSON(lines)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.past.add(lines)
	f.put(lines)
}

// put is write for the disk alone.
func (f *file) put(lines []byte) {
	switch {
	case f.disk == nil:
		return
	case f.err == nil:
		f.try(lines)
		return
	case len(f.waiting)+len(lines) > keptBytes:
		f.lost += bytes.Count(lines, []byte{'\n'})
	default:
		f.waiting = append(f.waiting, lines...)
	}
	f.retry()
}

// try writes lines behind those that are there, all or none of them.
func (f *file) try(lines []byte) {
	if f.part {
		if err := f.disk.Truncate(f.size); err != nil {
			f.fail(lines, err)
			return
		}
		f.part = false
	}
	if _, err := f.disk.Write(lines); err != nil {
		f.part = true
		f.fail(lines, err)
		return
	}
	f.size += int64(len(lines))
	f.waiting, f.err = nil, nil
}

func (f *file) fail(lines []byte, err error) {
	if f.err == nil {
		f.waiting = append([]byte(nil), lines...) // the caller's
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok { // the cause first: a line of the screen may have no room for the path
		err = fmt.Errorf("%w (%s)", p.Err, p.Path)
	}
	f.err, f.tried = err, f.now()
}

// retry tries what waits again, if it is time.
func (f *file) retry() {
	if f.disk != nil && f.err != nil && f.now().Sub(f.tried).Abs() >= retryEach {
		f.try(f.waiting)
	}
}

// add writes v as a line of JSON, and returns how many bytes that takes: 0 when
// it can't be written so, which is a line lost.
func (f *file) add(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lost++
		return 0
	}
	f.write(append(b, '\n'))
	return len(b) + 1
}

// Err retries waiting lines, and returns the reason why they still cannot be written;
// nil if all are written except those in Lost.
func (f *file) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retry()
	return f.err
}

// Lost is how many lines have been lost so far: there was no room for them
// while the file could not be written.
func (f *file) Lost() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// sync brings the written lines to the disk itself, soon and without waiting, so that a
// power loss of this machine does not lose them.
func (f *file) sync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.disk; d != nil {
		f.syncs.Go(func() { _ = d.Sync() }) // the next write tells
	}
}

// Close retries waiting lines once more, waits for a running sync, and closes the file.
// The error reports the missing lines.
func (f *file) Close() error {
	f.mu.Lock()
	if f.disk == nil {
		f.mu.Unlock()
		return nil
	}
	if f.err != nil {
		f.try(f.waiting)
	}
	d, err, lost := f.disk, f.err, f.lost+bytes.Count(f.waiting, []byte{'\n'})
	f.disk = nil
	f.mu.Unlock()
	f.syncs.Wait()
	if err = cmp.Or(err, d.Close()); err != nil && lost > 0 {
		err = fmt.Errorf("%w; %s missing", err, text.Count(lost, "line is", "lines are"))
	}
	return err
}

// Health follows whether the files of a record can be written, and makes the
// events about that. One goroutine may use it.
type Health struct {
	failed bool
	lost   int
}

// Observe compares the files' current Err and Lost with the last call. If they differ
// it returns an event for the timeline; what names the record in it ("the record").
func (h *Health) Observe(what string, err error, lost int) (e view.Event, changed bool) {
	switch failed := err != nil; {
	case failed == h.failed:
		return e, false
	case failed:
		e = view.NewEvent(view.CodeRecordFails, "record", view.Facts{Name: what, Reported: err.Error()})
	default:
		e = view.NewEvent(view.CodeRecordWorks, "record", view.Facts{Name: what, N: lost - h.lost})
		h.lost = lost
		if e.N > 0 {
			e.Level = view.Warning
		}
	}
	e.Kind, h.failed = "record", err != nil
	return e, true
}
