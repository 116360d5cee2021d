package record

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lightsout/loadgen"
)

// NewSessionDir makes the folder of a session's record below dir, named after
// the moment, mode 0700, and returns its path.
func NewSessionDir(dir string, at time.Time) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the record can't be kept: %w", err)
	}
	base := filepath.Join(dir, at.UTC().Format("20060102T150405Z"))
	for i := 1; ; i++ {
		path := base
		if i > 1 {
			path = fmt.Sprintf("%s-%d", base, i)
		}
		err := os.Mkdir(path, 0o700)
		if err == nil {
			return path, nil
		}
		if !os.IsExist(err) {
			return "", fmt.Errorf("the record can't be kept: %w", err)
		}
	}
}

// NewTrialDir makes the folder of a trial's record at path, mode 0700, with its
// parents. One that is there must be empty: no record is ever written over.
func NewTrialDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("the record can't be kept: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("the record can't be kept: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the record can't be kept in %s: the folder is not empty; name another one", path)
	}
	return nil
}

// Requests writes one line of JSON for each ended request. Safe for use by
// several goroutines: what they add while a write is under way goes into the
// next write together.
type Requests struct {
	writing sync.Mutex // held around a write

	mu   sync.Mutex
	next *lines // being gathered for the next write; nil: none

	*file // nil: none
}

// lines are written at once.
type lines struct {
	text []byte
	done chan struct{} // closed when they have been written
}

// NewRequests appends to the file at path, which is made with mode 0600. An
// empty path keeps no file. The error says why the file can't be made.
func NewRequests(path string) (*Requests, error) {
	l := &Requests{}
	if path == "" {
		return l, nil
	}
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("the requests can't be recorded: %w", err)
	}
	l.file = f
	return l, nil
}

// Add writes r down before it returns, or keeps it until it can be written.
func (l *Requests) Add(r loadgen.Record) {
	if l.file == nil {
		return
	}
	l.mu.Lock()
	w, first := l.next, l.next == nil
	if first {
		w = &lines{done: make(chan struct{})}
		l.next = w
	}
	w.text = append(r.AppendJSON(w.text), '\n')
	l.mu.Unlock()
	if !first {
		<-w.done
		return
	}
	// The first one writes for all that come until the last write is over.
	l.writing.Lock()
	defer l.writing.Unlock()
	defer close(w.done)
	l.mu.Lock()
	l.next = nil
	l.mu.Unlock()
	l.write(w.text)
}

// Close closes the file, after what has been added is written.
func (l *Requests) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.file.Close()
}
