package power

import (
	"encoding/json"
	"slices"
)

// notesLimit is the largest number of notes on one node: one for each journal that has
// switched it off and not seen it on again.
const notesLimit = 16

// others holds the notes of other journals on the same node, as a JSON array. It is
// text so that Notes are comparable.
type others string

// MarshalJSON returns the array itself.
func (o others) MarshalJSON() ([]byte, error) { return []byte(o), nil }

// UnmarshalJSON keeps the array unchanged.
func (o *others) UnmarshalJSON(text []byte) error {
	*o = others(text)
	return nil
}

// all returns a node's notes one by one, of which m is the newest; nil if there are
// none.
func (m Note) all() (out []Note) {
	var more []Note
	if json.Unmarshal([]byte(m.Others), &more) != nil {
		more = nil
	}
	m.Others = ""
	for _, one := range append([]Note{m}, more...) {
		one.Others = ""
		if one != (Note{}) && len(out) < notesLimit {
			out = append(out, one)
		}
	}
	return out
}

// together is the inverse of all.
func together(all []Note) Note {
	if len(all) == 0 {
		return Note{}
	}
	m := all[0]
	if more := all[1:min(len(all), notesLimit)]; len(more) > 0 {
		text, _ := json.Marshal(more) // these fields always marshal
		m.Others = others(text)
	}
	return m
}

// without returns a node's notes except those that drop accepts, for NoteStore.Change, and
// reports whether there were such notes.
func (m Note) without(drop func(Note) bool) (Note, bool) {
	all := m.all()
	left := slices.DeleteFunc(slices.Clone(all), drop)
	return together(left), len(left) < len(all)
}
