package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// Within is far longer than Write takes: lightsout waits for every report.
const Within = time.Hour

// Write makes report.md and report.html from the record in dir, and returns the sentences
// that they begin with.
func Write(dir string) (said string, err error) {
	rec, err := record.Open(dir)
	if err != nil {
		return "", err
	}
	for name, write := range map[string]func(io.Writer, *record.Record) error{record.ReportFile: asMarkdown, record.HTMLFile: asHTML} {
		err = errors.Join(err, text.WriteFile(filepath.Join(dir, name), func(f *os.File) error { return write(f, rec) }))
	}
	said = strings.Join(Opening(rec), " ")
	if err != nil {
		return said, fmt.Errorf("the reports of %s: %w", dir, err)
	}
	return said, nil
}
