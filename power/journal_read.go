package power

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entryLimit is the length, in bytes, of the longest line that counts as an entry.
const entryLimit = 1 << 20

// readLines gives each line to one of the functions. Of a damaged line that is
// longer than an entry can be only the beginning is given.
func readLines(data []byte, entry func(Entry), damaged func(line []byte)) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if e, ok := parseEntry(line); ok {
			entry(e)
		} else if len(line) > 0 {
			damaged(line[:min(len(line), entryLimit)])
		}
	}
}

// A line ends with a checksum of the text before it: damage that leaves it readable
// would name another node, or another operation.
const sumLength = len(`,"sum":"01234567"}`)

// withSum puts the checksum into an entry's line, which has no newline yet.
func withSum(line []byte) []byte {
	line = line[:len(line)-1]
	return fmt.Appendf(line, `,"sum":"%08x"}`, crc32.ChecksumIEEE(line))
}

func sumHolds(line []byte) bool {
	return len(line) >= sumLength && bytes.Equal(line, withSum(append(slices.Clone(line[:len(line)-sumLength]), '}')))
}

func parseEntry(line []byte) (Entry, bool) {
	var e Entry
	if len(line) > entryLimit || json.Unmarshal(line, &e) != nil || !sumHolds(line) {
		return Entry{}, false
	}
	// A terminal shows this text later.
	e.Text = Clean(e.Text)
	if Clean(e.Node) != e.Node {
		return Entry{}, false
	}
	return e, slices.Contains([]EntryKind{EntryIntent, EntryOutcome, EntrySeen, EntryChecked, EntryCordoned, EntryUncordoned, EntryAnnotating}, e.Kind)
}

// torn reports whether a last line without its end may be one that is just being
// written, or that a crash cut off: then nothing that it was to tell of had
// begun. Anything else there is an entry, or damage.
func torn(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("{")) || bytes.IndexByte(line, 0) >= 0 || len(line) > entryLimit {
		return len(line) == 0
	}
	_, whole := parseEntry(line)
	return !whole
}

// noFile returns the reason why the object at a journal's path cannot be a journal; nil
// if it may be, or if there is nothing yet. It opens nothing, because a pipe would
// block.
func noFile(path string) error {
	info, err := os.Stat(path)
	what := ""
	switch {
	case deadLink(path), deadLink(filepath.Dir(path)):
		what = "is behind a dangling link"
	case err == nil && !info.Mode().IsRegular():
		what = "is not a plain file"
	default:
		return nil
	}
	return fmt.Errorf("the journal %s %s, so lightsout does not know which machines are off: put the journal back there, or name its folder (--state), and check the machines (lightsout power status)", path, what)
}

// deadLink reports whether path is a link to a missing file.
func deadLink(path string) bool {
	_, there := os.Stat(path)
	_, link := os.Lstat(path)
	return errors.Is(there, fs.ErrNotExist) && link == nil
}

// catchUp reads the lines appended since the last call; the caller holds j.mu. It also
// takes readable lines when there is an error.
func (j *Journal) catchUp() (err error) {
	if j.closed {
		return fmt.Errorf("the journal %s is closed", j.path)
	}
	unreadable := func(err error) error { return fmt.Errorf("the journal %s can't be read: %w", j.path, err) }
	if j.reading == nil {
		if err := noFile(j.path); err != nil {
			return err
		}
		j.reading, err = os.Open(j.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing has been written yet
		case err != nil:
			return unreadable(err)
		}
	}
	info, err := j.reading.Stat()
	switch {
	case err != nil:
		return unreadable(err)
	case info.Size() < j.read: // truncated by hand
		return unreadable(errors.New("it is shorter than before; start lightsout again"))
	}
	data := make([]byte, info.Size()-j.read)
	if _, err := j.reading.ReadAt(data, j.read); err != nil {
		return unreadable(err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if !torn(data[whole:]) {
		whole = len(data)
	}
	now := time.Now()
	changed := slices.MinFunc([]time.Time{info.ModTime(), now}, time.Time.Compare)
	readLines(data[:whole], func(e Entry) { j.left.fold(e.notAfter(now)) }, func(line []byte) { j.left.damage(line, changed) })
	j.read += int64(whole)
	return nil
}
