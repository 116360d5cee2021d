package tui

import (
	"strings"
	"testing"
)

func TestNamesOfPodsAreWholeOnWideScreens(t *testing.T) {
	for _, s := range []size{{200, 60}, {240, 60}} {
		m, _, _ := testModel(outage(), s.w, s.h, Options{})
		if v := plainView(m); !strings.Contains(v, lostPod.Name) || !strings.Contains(v, "lost (was Running)  evicted in") {
			t.Errorf("at %dx%d a name is cut:\n%s", s.w, s.h, v)
		}
	}
}
