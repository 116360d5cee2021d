package session

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

const (
	// logLines bounds the stored part of a log, and logLine one line.
	logLines = 1000
	logLine  = 4 << 10
)

// logTail keeps the newest lines of a log, harmless for a terminal. It is safe for
// concurrent use.
type logTail struct {
	changed func() // is called when there is news

	mu     sync.Mutex
	lines  []string
	cut    bool
	stream view.Stream
	err    error
}

// read reads a log that the kubelet has opened to its end, of long lines the beginning.
func (t *logTail) read(r io.Reader) error {
	t.turn(view.StreamOpen, nil)
	in := bufio.NewReaderSize(r, logLine)
	long := false // the rest of a long line comes
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 && !long {
			t.add(text.Cells(strings.TrimRight(string(line), "\r\n")))
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

// add appends a line, and drops the oldest lines of too many.
func (t *logTail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > logLines {
		t.lines, t.cut = t.lines[1:], true
	}
	t.changed()
}

// turn marks how far the log has come, and why it has ended.
func (t *logTail) turn(to view.Stream, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream, t.err = to, err
	t.changed()
}

// put puts the newest lines into shown. They do not change: the log only appends.
func (t *logTail) put(shown *view.Inspection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shown.Lines, shown.Cut, shown.Stream = slices.Clip(t.lines), t.cut, t.stream
	if t.err != nil {
		shown.Err = t.err.Error()
	}
}
