package session

import "testing"

// The screen names :uncordon only for nodes that it uncordons.
func TestWhatUncordonsANodeIsNamed(t *testing.T) {
	t.Parallel()
	c := &cordons{ours: map[string]*ourCordon{"own": {}}}
	if own, others := c.undo("own"), c.undo("other"); own != " (:uncordon)" || others != " by somebody else (kubectl uncordon)" {
		t.Errorf("%q, %q", own, others)
	}
}
