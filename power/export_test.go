package power

import (
	"context"
	"io"
	"time"
)

// SetRetryPause shortens the pause before a power-on is asked for again.
func (f *Fleet) SetRetryPause(d time.Duration) { f.retryPause = d }

// Unjudged carries an action out as the Switcher does once it has judged.
func (f *Fleet) Unjudged(ctx context.Context, a Action, bindings []Binding, report func(Progress)) error {
	return f.do(ctx, a, bindings, nil, report, nil)
}

// Child is run in place of the tests when the variable ChildEnv is set.
var Child func()

// ChildEnv is the variable that makes this binary a child of a test.
const ChildEnv = "LIGHTSOUT_TEST_CHILD"

// SetCarriedOut shortens the time within which a shutdown may be carried out.
func (j *Journal) SetCarriedOut(d time.Duration) { j.left.carriedOut = d }

// ReadJournal reads entries from r, oldest first. Lines that are no entries
// (torn by a crash, damaged, longer than 1 MiB) are left out and counted; an
// entry with an unknown field is read, for a newer version may have written it.
// The error is r's own.
func ReadJournal(r io.Reader) (entries []Entry, damaged int, err error) {
	data, err := io.ReadAll(r)
	readLines(data, func(e Entry) { entries = append(entries, e) }, func([]byte) { damaged++ })
	return entries, damaged, err
}
