package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// lookedInto is a load with known single requests.
func lookedInto() *view.Frame {
	f := failing()
	f.Trial = nil
	sent := t0.Add(41 * time.Second)
	entries := []string{"10.0.0.13:31080", "10.0.0.11:31080"}
	f.Load.Latency.Scheduled = loadgen.Quantiles{Count: 520, P50: 140 * time.Millisecond, P90: 420 * time.Millisecond, P95: 900 * time.Millisecond, P99: 3 * time.Second, Max: 4100 * time.Millisecond}
	d := &loadgen.Digest{}
	for i, n := range []int{96, 60, 24, 8} {
		class := []loadgen.Class{loadgen.ClassConnectTimeout, loadgen.Class502, loadgen.ClassRefused, loadgen.ClassReset}[i]
		d.Failed = append(d.Failed, loadgen.FailedGroup{Class: class, Endpoint: entries[i%2], N: n})
		d.Failures = append(d.Failures, loadgen.Record{ID: "a343155a-" + string(rune('1'+i)), Class: class, Scheduled: sent, Sent: sent, End: sent.Add(3 * time.Second), Remote: entries[i%2], Error: "dial tcp: i/o timeout"})
	}
	d.Answers = []loadgen.Record{{ID: "a343155a-9", Class: loadgen.ClassOK, Scheduled: sent, Sent: sent, FirstByte: sent.Add(90 * time.Millisecond), End: sent.Add(140 * time.Millisecond), Remote: entries[1], Status: 200}}
	f.Requests = d
	return f
}

func TestTheRequestsPaneOpensIntoItsRequests(t *testing.T) {
	m, _, _ := testModel(lookedInto(), 140, 70, Options{})
	typeKeys(m, "4 enter")
	v := plainView(m)
	for _, want := range []string{"720 scheduled: 520 ok, 188 failed", "connect timeout [c]",
		"10.0.0.13:31080", "120: 96 connect timeout, 24 refused", "at most 140 ms",
		"10.0.0.13:31080 · a343155a-1 · dial tcp", "ok · 140 ms · first byte after 90 ms"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	typeKeys(m, "esc")
	if m.dialogs.top() != nil {
		t.Error("esc does not close the dialog")
	}
	// A replay has no single requests, and shows where they are.
	f := lookedInto()
	f.Requests = nil
	m, _, _ = testModel(f, 140, 70, Options{})
	typeKeys(m, "4 enter")
	if v := plainView(m); !strings.Contains(v, "requests.jsonl") || !strings.Contains(v, "502 [s]") {
		t.Errorf("without single requests:\n%s", v)
	}
	// Without requests there is nothing to open.
	m, _, _ = testModel(calm(), 120, 36, Options{})
	typeKeys(m, "4 enter")
	if m.dialogs.top() != nil {
		t.Errorf("the details open:\n%s", plainView(m))
	}
}
