package record

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Samples writes samples.jsonl. Each line is one write and is on its way to
// the disk before Add returns. Safe for use by several goroutines.
type Samples struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// NewSamples appends to the file at path, which is made with mode 0600. The
// error says why the file can't be made.
func NewSamples(path string) (*Samples, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the screen can't be recorded: %w", err)
	}
	return &Samples{file: f}, nil
}

// Add writes s down and returns how many bytes that took. After a failure
// nothing more is written; Err tells.
func (l *Samples) Add(s Sample) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.err != nil {
		return 0
	}
	b, err := json.Marshal(s)
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	l.err = err
	return len(b) + 1
}

// Err is the first failure to write.
func (l *Samples) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close closes the file.
func (l *Samples) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}
