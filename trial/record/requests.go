package record

import (
	"encoding/json"
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

// Requests writes one line of JSON for each ended request. Safe for use by
// several goroutines.
type Requests struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// NewRequests appends to the file at path, which is made with mode 0600. An
// empty path keeps no file. The error says why the file can't be made.
func NewRequests(path string) (*Requests, error) {
	l := &Requests{}
	if path == "" {
		return l, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the requests can't be recorded: %w", err)
	}
	l.file = f
	return l, nil
}

// Add writes r down before it returns. After a failure nothing more is written;
// Err tells.
func (l *Requests) Add(r loadgen.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.err != nil {
		return
	}
	b, err := json.Marshal(r)
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	l.err = err
}

// Err is the first failure to write.
func (l *Requests) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close closes the file.
func (l *Requests) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
