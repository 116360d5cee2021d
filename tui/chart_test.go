package tui

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// chartOf draws a frame's requests pane and gives it without looks.
func chartOf(f *view.Frame, w, h int) (*Model, string) {
	m, _, _ := testModel(f, w, h, Options{})
	typeKeys(m, "4 z")
	return m, plainView(m)
}

func TestTheScaleHoldsWhileARunLasts(t *testing.T) {
	held := func() *view.Frame {
		f := failing()
		f.Load.Spec = loadgen.Spec{Shape: loadgen.Hold, N: 12}
		return f
	}
	f := held()
	f.Load.Gauge.Queued = 40
	m, v := chartOf(f, 100, 20)
	if !strings.Contains(v, " 48 ") {
		t.Fatalf("the scale does not reach 48:\n%s", v)
	}
	m.Update(FrameMsg{held()})
	if v := plainView(m); !strings.Contains(v, " 48 ") {
		t.Errorf("the scale has jumped back while the run lasts:\n%s", v)
	}
	f = held()
	f.Load.Active, f.Load.Totals, f.Load.Seconds = false, loadgen.Totals{}, nil
	m.Update(FrameMsg{f})
	if v := plainView(m); strings.Contains(v, " 48 ") {
		t.Errorf("the scale of a run that is no longer seen stays:\n%s", v)
	}
}

func TestEveryCellBelowTheAxisGoesToAClassThatFailed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		var n [failGroups]int
		sum := 0
		for i := range n {
			if rnd.IntN(2) == 0 {
				n[i] = rnd.IntN(50)
				sum += n[i]
			}
		}
		if sum == 0 {
			continue
		}
		cells := 1 + rnd.IntN(6)
		got := 0
		for i, c := range share(n, sum, cells) {
			got += c
			if c < 0 || c > 0 && n[i] == 0 {
				t.Fatalf("share(%v, %d) gives %d cells to group %d", n, cells, c, i)
			}
		}
		if got != cells {
			t.Fatalf("share(%v, %d) gives %d cells", n, cells, got)
		}
	}
}
