package terminal

import (
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A lone change is drawn at once, a stream of changes at the highest rate, and at
// rest there is next to nothing to wake for.
func TestTheScreenIsDrawnWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRefresh(tea.NewProgram(nil))
		if r == nil {
			t.Fatal("bubbletea has no ticker any more: the screen is drawn 120 times a second for nothing")
		}
		defer r.stop()
		drawn := 0
		draws := func(d time.Duration) int {
			before := drawn
			for end := time.After(d); ; {
				select {
				case <-r.ticker.C:
					drawn++
				case <-end:
					return drawn - before
				}
			}
		}
		for range 2 {
			if n := draws(10 * time.Second); n > 41 {
				t.Errorf("drawn %d times in 10 s at rest", n)
			}
			r.due()
			if n := draws(drawSoon + drawSoon/4); n != 1 {
				t.Errorf("a lone change is drawn %d times at once", n)
			}
			draws(time.Second)
		}
		before := drawn
		for range 500 {
			r.due()
			draws(2 * time.Millisecond)
		}
		if n := drawn - before; n < 110 || n > 125 {
			t.Errorf("a stream of changes is drawn %d times a second", n)
		}
	})
}
