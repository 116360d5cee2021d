package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"lightsout/loadgen"
)

// ReadEvents reads an events.jsonl. torn reports that the last line is not
// whole, which is what a program that was killed while writing leaves; it is
// not in the events. The error names the line that can't be understood.
func ReadEvents(path string) (events []Event, torn bool, err error) {
	return readLines[Event](path)
}

// ReadRequests reads a requests.jsonl like ReadEvents.
func ReadRequests(path string) (records []loadgen.Record, torn bool, err error) {
	return readLines[loadgen.Record](path)
}

// readLines reads a file of one JSON value a line.
func readLines[T any](path string) (out []T, torn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, len(bytes.TrimSpace(line)) > 0, nil
		}
		if err != nil {
			return out, false, err
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return out, false, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		out = append(out, v)
	}
}
