package record

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"lightsout/loadgen"
)

var notInFolder = regexp.MustCompile(`[^\pL\pM\pN._-]+`)

// FolderName returns the name of the folder for the records of a context's cluster.
func FolderName(context string) string {
	name := cmp.Or(strings.Trim(notInFolder.ReplaceAllString(context, "_"), "."), "cluster")
	return strings.ToValidUTF8(name[:min(len(name), 100)], "")
}

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
	err := os.MkdirAll(path, 0o700)
	entries, unread := os.ReadDir(path)
	switch err = cmp.Or(err, unread); {
	case err != nil:
		return fmt.Errorf("the record can't be kept: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("the record can't be kept in %s: the folder is not empty; name another one", path)
	}
	return nil
}

// Requests writes one line of JSON for each ended request. Safe for use by
// several goroutines.
type Requests struct{ *file }

// NewRequests appends to the file at path, which it creates with mode 0600. An empty
// path keeps no file. The error is the reason why it cannot create the file.
func NewRequests(path string) (*Requests, error) {
	f, err := openFile(path, "the requests can't be recorded")
	return &Requests{f}, err
}

// Add writes r down before it returns, or keeps it until it can be written.
func (l *Requests) Add(r loadgen.Record) {
	if l.open() {
		l.add(r)
	}
}
