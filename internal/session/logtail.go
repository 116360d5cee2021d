package session

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

const (
	// logLines and logBytes bound the stored part of a log, and logLine one line.
	logLines = 1000
	logBytes = 256 << 10
	logLine  = 4 << 10
)

// logTail keeps the newest lines of a log, or of several in the order of their times, harmless for a
// terminal. It is safe for concurrent use.
type logTail struct {
	changed func() // is called when there is news

	mu    sync.Mutex
	lines []view.LogLine
	bytes int
	cut   bool
	ended bool
	err   error
	fresh bool // something has not been taken
}

// read reads a log to its end.
func (t *logTail) read(r io.Reader) error {
	return readLines(r, func(line string) { t.add(view.LogLine{Text: text.Cells(line)}) })
}

// readStamped reads a log of several to its end, without the lines up to the time after. It returns
// the time of the newest line.
func (t *logTail) readStamped(r io.Reader, pod string, after time.Time) (last time.Time, err error) {
	last = after
	err = readLines(r, func(line string) {
		at, rest := cluster.SplitStamp(line)
		if at.IsZero() {
			at = last
		}
		if at.After(after) {
			t.add(view.LogLine{At: at, Pod: pod, Text: text.Cells(rest)})
			last = at
		}
	})
	return last, err
}

func (t *logTail) note(at time.Time, pod, text string) {
	t.add(view.LogLine{At: at, Pod: pod, Text: text, Note: true})
}

// readLines passes the lines of a log to add, of long ones the beginning, until it ends.
func readLines(r io.Reader, add func(line string)) error {
	in := bufio.NewReaderSize(r, logLine)
	long := false // the rest of a long line comes
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 && !long {
			add(strings.TrimRight(string(line), "\r\n"))
		}
		long = errors.Is(err, bufio.ErrBufferFull)
		switch {
		case long || err == nil:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return errors.New("the log ended early: the connection was lost")
		}
	}
}

// add puts a line where its time belongs, and drops the oldest lines of too many.
func (t *logTail) add(line view.LogLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.lines)
	for i > 0 && t.lines[i-1].At.After(line.At) {
		i--
	}
	if i == 0 && t.cut {
		return // older than the dropped ones
	}
	t.lines = slices.Insert(t.lines, i, line)
	t.bytes += len(line.Text)
	for len(t.lines) > logLines || t.bytes > logBytes {
		t.bytes -= len(t.lines[0].Text)
		t.lines, t.cut = t.lines[1:], true
	}
	t.fresh = true
	t.changed()
}

// end marks the end of the log, with the reason.
func (t *logTail) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.err, t.fresh = true, err, true
	t.changed()
}

// take puts the newest lines into shown, and reports whether there are any.
func (t *logTail) take(shown *view.Inspection) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fresh {
		return false
	}
	t.fresh = false
	shown.Lines, shown.Merged, shown.Cut, shown.Ended = nil, nil, t.cut, t.ended
	for _, l := range t.lines {
		if shown.Of.Kind.HasPods() {
			shown.Merged = append(shown.Merged, l)
		} else {
			shown.Lines = append(shown.Lines, l.Text)
		}
	}
	if t.err != nil {
		shown.Err = t.err.Error()
	}
	return true
}
