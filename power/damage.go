package power

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"lightsout/internal/text"
)

// damage keeps a line that is not an entry, by its hash: nobody can tell what it was. It was written by then.
func (l *journalState) damage(line []byte, by time.Time) {
	sum := sha256.Sum256(line)
	l.damaged = append(l.damaged, Entry{Op: "damaged-" + hex.EncodeToString(sum[:6]), At: by})
}

// Damaged returns the unreadable lines of the journal, until they are acknowledged for this cluster: they
// may have contained a machine that is off. Only Op, the line's ID, is known of them. A power API may carry
// their requests out until CarriedOutWithin after At, when they were written at the latest.
func (j *Journal) Damaged() ([]Entry, error) {
	err := j.lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.left.damaged), func(e Entry) bool {
		return slices.ContainsFunc(j.left.checked[e.Op], j.cluster.Same)
	}), err
}

// acknowledge records that the machines which damaged lines may have contained were polled, in this
// journal's cluster.
func (j *Journal) acknowledge(damaged []Entry, how string) error {
	return j.appendSoon(Entry{Kind: EntryChecked, Text: Clean(how), Checked: text.Each(damaged, func(d Entry) string { return d.Op })})
}
