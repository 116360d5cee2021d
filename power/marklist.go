package power

import (
	"encoding/json"
	"slices"
)

// marksLimit is the largest number of notes on one node: one for each journal that has
// switched it off and not seen it on again.
const marksLimit = 16

// others holds the notes of other journals on the same node, as a JSON array. It is
// text so that Marks are comparable.
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
func (m Mark) all() (out []Mark) {
	var more []Mark
	if json.Unmarshal([]byte(m.Others), &more) != nil {
		more = nil
	}
	m.Others = ""
	for _, one := range append([]Mark{m}, more...) {
		one.Others = ""
		if one != (Mark{}) && len(out) < marksLimit {
			out = append(out, one)
		}
	}
	return out
}

// together is the inverse of all.
func together(all []Mark) Mark {
	if len(all) == 0 {
		return Mark{}
	}
	m := all[0]
	if more := all[1:min(len(all), marksLimit)]; len(more) > 0 {
		text, _ := json.Marshal(more) // these fields always marshal
		m.Others = others(text)
	}
	return m
}

// without returns a node's notes except those that drop accepts, for Marker.Note, and
// reports whether there were such notes.
func (m Mark) without(drop func(Mark) bool) (Mark, bool) {
	all := m.all()
	left := slices.DeleteFunc(slices.Clone(all), drop)
	return together(left), len(left) < len(all)
}
