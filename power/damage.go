package power

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// Fields of a damaged line that tell whether it matters, if they can be read.
var damagedField = regexp.MustCompile(`"(kind|op|action|node)":"([^"\\,]{1,253})"`)

// damage keeps a line that is not an entry, with its readable part as a hint: damage
// may have changed a name into another.
func (l *journalState) damage(line []byte) {
	sum := sha256.Sum256(line)
	e := Entry{Op: "damaged-" + hex.EncodeToString(sum[:6])}
	for _, f := range damagedField.FindAllSubmatch(line, -1) {
		value := Clean(string(f[2]))
		field := map[string]*string{"kind": (*string)(&e.Kind), "op": &e.Text, "node": &e.Node, "action": (*string)(&e.Action)}[string(f[1])]
		if *field == "" {
			*field = value
		}
	}
	switch {
	case e.Kind != "" && e.Kind != EntryIntent && e.Kind != EntryOutcome, e.Action == ActionOn:
		return // a later entry can repeat it
	}
	l.damaged = append(l.damaged, e)
}

// unreadable returns the damaged lines that may have contained a machine of cluster c that is
// off and that no other entry has.
func (l *journalState) unreadable(c Cluster) []Entry {
	var out []Entry
	for _, e := range l.damaged {
		if !slices.ContainsFunc(l.checked[e.Op], c.Same) && !l.known[e.Text] {
			e.Text = ""
			out = append(out, e)
		}
	}
	return out
}

// Damaged returns the unreadable lines of the journal that may have contained a machine
// of this cluster that is off, until they are acknowledged. Of an entry only Op, the
// line's ID, is certain; Node is a hint. A power API may carry their requests out until
// CarriedOutWithin after At, which is zero while no line follows them.
func (j *Journal) Damaged() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	return j.left.unreadable(j.cluster), err
}

// Acknowledge records that the machines which damaged lines may have contained were polled, in this
// journal's cluster.
func (j *Journal) Acknowledge(damaged []Entry, text string) error {
	if len(damaged) == 0 {
		return nil
	}
	e := Entry{Kind: EntryChecked, Text: Clean(text)}
	for _, d := range damaged {
		e.Checked = append(e.Checked, d.Op)
	}
	return j.appendSoon(e)
}
