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
	for name, write := range map[string]func(io.Writer, *record.Record) error{record.ReportFile: Markdown, record.HTMLFile: HTML} {
		f, ferr := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if ferr == nil {
			ferr = errors.Join(write(f, rec), f.Close())
		}
		err = errors.Join(err, ferr)
	}
	said = strings.Join(opening(rec, factsOf(rec)), " ")
	if err != nil {
		return said, fmt.Errorf("the reports of %s: %w", dir, err)
	}
	return said, nil
}
