package record

import (
	"sort"
	"time"
)

// Cursor gives the State of any moment of a record. It remembers where it was, so that
// the next moments cost only their changes. The zero Cursor with a Record is before
// its first sample. One goroutine may use it.
type Cursor struct {
	Record *Record

	state State
	next  int // the first sample that is not in state
}

// To returns the state at t, which is valid until the next call.
func (c *Cursor) To(t time.Time) *State {
	samples := c.Record.Samples
	// The samples up to t, and all lines of the last one's moment.
	end := sort.Search(len(samples), func(i int) bool { return samples[i].At.After(t) })
	key := end - 1
	for key >= 0 && !samples[key].Key {
		key--
	}
	if end < c.next || key >= c.next { // back, or from the last keyframe
		c.next = max(key, 0)
		c.state = State{}
	}
	for ; c.next < end; c.next++ {
		c.state.Apply(&samples[c.next])
	}
	return &c.state
}

// Ahead are the samples that come after the State that To gave last.
func (c *Cursor) Ahead() []Sample { return c.Record.Samples[c.next:] }

// Shown is the first moment at or after at at which the screen showed event
// number seq: the program's samples come a little after what they tell of. It is
// at where there is no such sample within a few seconds.
func (r *Record) Shown(at time.Time, seq int) time.Time {
	samples := r.Samples
	i := sort.Search(len(samples), func(i int) bool { return !samples[i].At.Before(at) })
	for ; i < len(samples) && samples[i].At.Sub(at) < lull; i++ {
		if s := &samples[i]; s.Seq >= seq && !s.More {
			return s.At
		}
	}
	return at
}
