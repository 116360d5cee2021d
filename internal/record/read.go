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

// Limits of a file. This program writes nothing longer, and longer text may not fit
// into memory. Only the limit of a line applies to requests: EachRequest adds them up
// as it reads them.
const (
	lineMost = 32 << 20
	fileMost = 512 << 20
)

// openRegular opens a regular file, and refuses others before it opens them, because
// that may take for ever. size is in bytes.
func openRegular(fsys fs.FS, name string) (f fs.File, size int64, err error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	}
	f, err = fsys.Open(name)
	return f, info.Size(), err
}

// readSmall reads a file of a record whole: one that is not written line by line. It
// is nil when it is not there.
func readSmall(fsys fs.FS, name string) ([]byte, error) {
	f, size, err := openRegular(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > lineMost {
		return nil, fmt.Errorf("%s is larger than %d MB: it was not written by lightsout", name, lineMost>>20)
	}
	b, err := io.ReadAll(io.LimitReader(f, lineMost)) // it may grow
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, err)
	}
	return b, nil
}

// eachOf calls each with what every line of a file of JSON holds, which is each's only until it
// returns. It is readLines otherwise; what names the content in the error about a line.
func eachOf[T any](fsys fs.FS, name string, most int64, what string, each func(n int, v *T) error) (torn bool, err error) {
	v := new(T)
	return readLines(fsys, name, most, func(n int, line []byte) error {
		*v = *new(T)
		if err := json.Unmarshal(line, v); err != nil {
			return fmt.Errorf("line %d of %s is not %s: %w", n, name, what, err)
		}
		return each(n, v)
	})
}

// readLines calls each with every line, by its number from 1. torn reports
// that the last one is neither ended nor a whole JSON value; each is not called with
// it then. It ends at the first error, which a file of more than most bytes is;
// 0 is no bound. The line is each's only until it returns.
func readLines(fsys fs.FS, name string, most int64, each func(n int, line []byte) error) (torn bool, err error) {
	f, size, err := openRegular(fsys, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if most > 0 && size > most {
		return false, tooLarge(name)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 1<<16), lineMost)
	lines.Split(withEnd)
	n, total := 1, int64(0)
	for ; lines.Scan(); n++ {
		line := lines.Bytes()
		if total += int64(len(line)); most > 0 && total > most {
			return false, tooLarge(name)
		}
		if line[len(line)-1] != '\n' { // the last one
			rest := bytes.TrimRight(line, " \t\r\x00") // zeros: a machine that lost power
			if len(rest) == 0 || !json.Valid(rest) {
				return len(rest) > 0 || bytes.IndexByte(line, 0) >= 0, nil
			}
			line = rest // only the line feed is missing
		}
		if err := each(n, line); err != nil {
			return false, err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return false, fmt.Errorf("line %d of %s is longer than %d MB: it was not written by lightsout", n, name, lineMost>>20)
	case err != nil:
		return false, fmt.Errorf("%s can't be read: %w", name, err)
	}
	return false, nil
}

// withEnd is bufio.ScanLines, and keeps the line feed.
func withEnd(data []byte, atEOF bool) (advance int, token []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEOF {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

func tooLarge(name string) error {
	return fmt.Errorf("%s is larger than %d MB, which is more than can be read", name, fileMost>>20)
}
