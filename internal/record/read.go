package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Bounds on what is read of a file. What lies beyond them was not written by
// this program, or is more than fits into memory.
const (
	lineMost = 32 << 20
	fileMost = 512 << 20
)

// ReadEvents reads an events.jsonl. torn reports that the last line is not
// whole, which is what a program that was killed while writing leaves; it is
// not in the events. The error names the line that can't be understood.
func ReadEvents(path string) (events []view.Event, torn bool, err error) {
	return readPath[view.Event](path, "an event")
}

// ReadRequests reads a requests.jsonl like ReadEvents.
func ReadRequests(path string) (records []loadgen.Record, torn bool, err error) {
	return readPath[loadgen.Record](path, "a request")
}

func readPath[T any](path, what string) (out []T, torn bool, err error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return readAll[T](os.DirFS(dir), name, what)
}

// readAll reads a file of one JSON value a line.
func readAll[T any](fsys fs.FS, name, what string) (out []T, torn bool, err error) {
	torn, err = readLines(fsys, name, func(n int, line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("line %d of %s is not %s: %w", n, name, what, err)
		}
		out = append(out, v)
		return nil
	})
	return out, torn, err
}

// readLines calls each with every line, by its number from 1. torn reports
// that the last one is neither ended nor a whole JSON value; each is not called with
// it then. It ends at the first error.
func readLines(fsys fs.FS, name string, each func(n int, line []byte) error) (torn bool, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > fileMost {
		return false, tooLarge(name)
	}
	r := bufio.NewReaderSize(f, 1<<16)
	total := 0
	for n := 1; ; n++ {
		line, err := readLine(r)
		total += len(line)
		switch {
		case errors.Is(err, errLong):
			return false, fmt.Errorf("line %d of %s is longer than %d MB: it was not written by lightsout", n, name, lineMost>>20)
		case total > fileMost:
			return false, tooLarge(name)
		case errors.Is(err, io.EOF):
			rest := bytes.TrimRight(line, " \t\r\x00") // zeros: a machine that lost power
			if len(rest) == 0 {
				return len(line) > 0 && bytes.IndexByte(line, 0) >= 0, nil
			}
			if !json.Valid(rest) {
				return true, nil
			}
			return false, each(n, rest) // only the line feed is missing
		case err != nil:
			return false, fmt.Errorf("%s can't be read: %w", name, err)
		}
		if err := each(n, line); err != nil {
			return false, err
		}
	}
}

func tooLarge(name string) error {
	return fmt.Errorf("%s is larger than %d MB, which is more than can be read", name, fileMost>>20)
}

var errLong = errors.New("line too long")

// readLine is bufio.Reader.ReadBytes with a bound.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > lineMost {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
