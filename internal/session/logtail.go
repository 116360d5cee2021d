package session

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"lightsout/internal/text"
)

const (
	// logLines and logBytes bound what is kept of a log, logLine a line of it.
	logLines = 1000
	logBytes = 256 << 10
	logLine  = 4 << 10
	// logPace is how soon news of a log is told again.
	logPace = 100 * time.Millisecond
)

// logTail keeps the newest lines of a log, harmless for a terminal.
type logTail struct {
	// changed is called some time after there is news, and not again before that
	// was taken.
	changed func()

	mu      sync.Mutex
	lines   []string
	bytes   int
	cut     bool
	ended   bool
	err     error
	telling bool
}

// read reads a log to its end.
func (t *logTail) read(r io.Reader) error {
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
			return errors.New("the log has broken off: the connection was lost")
		}
	}
}

func (t *logTail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	t.bytes += len(line)
	for len(t.lines) > logLines || t.bytes > logBytes {
		t.bytes -= len(t.lines[0])
		t.lines, t.cut = t.lines[1:], true
	}
	t.tell()
}

// end says that no more comes, and why.
func (t *logTail) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.err = true, err
	t.tell()
}

func (t *logTail) tell() {
	if !t.telling {
		t.telling = true
		time.AfterFunc(logPace, t.changed)
	}
}

// take gives the newest lines, and whether more were left away.
func (t *logTail) take() (lines []string, cut, ended bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.telling = false
	return slices.Clone(t.lines), t.cut, t.ended, t.err
}
