package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Bounds on what is read of a file. What lies beyond them was not written by
// this program, or is more than fits into memory. Requests are bounded by the
// line only: they are summed up as they are read.
const (
	lineMost = 32 << 20
	fileMost = 512 << 20
)

// readLines calls each with every line, by its number from 1. torn reports
// that the last one is neither ended nor a whole JSON value; each is not called with
// it then. It ends at the first error, which a file of more than most bytes is;
// 0 is no bound. The line is each's only until it returns.
func readLines(fsys fs.FS, name string, most int64, each func(n int, line []byte) error) (torn bool, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && most > 0 && info.Size() > most {
		return false, tooLarge(name)
	}
	r := bufio.NewReaderSize(f, 1<<16)
	var line []byte
	total := int64(0)
	for n := 1; ; n++ {
		line, err = readLine(r, line[:0])
		total += int64(len(line))
		switch {
		case errors.Is(err, errLong):
			return false, fmt.Errorf("line %d of %s is longer than %d MB: it was not written by lightsout", n, name, lineMost>>20)
		case most > 0 && total > most:
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

// readLine is bufio.Reader.ReadBytes with a bound, and appends to line.
func readLine(r *bufio.Reader, line []byte) (_ []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > lineMost {
			return line, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
