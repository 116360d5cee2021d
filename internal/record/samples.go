package record

import (
	"encoding/json"
	"fmt"
)

// Samples writes samples.jsonl. Safe for use by several goroutines.
type Samples struct{ *file }

// NewSamples appends to the file at path, which is made with mode 0600. The
// error says why the file can't be made.
func NewSamples(path string) (*Samples, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("the screen can't be recorded: %w", err)
	}
	return &Samples{f}, nil
}

// Add writes s down and returns how many bytes that takes.
func (l *Samples) Add(s Sample) int {
	b, err := json.Marshal(s)
	if err != nil {
		return 0 // a number that is none; the next keyframe has the rest
	}
	l.write(append(b, '\n'))
	return len(b) + 1
}
