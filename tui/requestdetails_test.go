package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// lookedInto is a load with known durations.
func lookedInto() *view.Frame {
	f := failing()
	f.Trial = nil
	f.Load.Latency.Scheduled = loadgen.Quantiles{Count: 520, P50: 140 * time.Millisecond, P90: 420 * time.Millisecond, P95: 900 * time.Millisecond, P99: 3 * time.Second, Max: 4100 * time.Millisecond}
	return f
}

func TestTheRequestsPaneOpensIntoItsDetails(t *testing.T) {
	m, _, _ := testModel(lookedInto(), 140, 70, Options{})
	typeKeys(m, "4 enter")
	v := plainView(m)
	for _, want := range []string{"720 scheduled: 520 ok, 188 failed", "connect timeout [c]", "502 [s]", "at most 140 ms", "requests.jsonl"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	typeKeys(m, "esc")
	if m.dialogs.top() != nil {
		t.Error("esc does not close the dialog")
	}
	// Without requests there is nothing to open.
	m, _, _ = testModel(calm(), 120, 36, Options{})
	typeKeys(m, "4 enter")
	if m.dialogs.top() != nil {
		t.Errorf("the details open:\n%s", plainView(m))
	}
}
