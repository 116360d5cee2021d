package outage

import (
	"testing"
	"time"
)

func TestSpansBeginAndEndAndStayAsHandedOut(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	o := NewSpans()
	o.See(Sight{Node: "a", Kind: SpanOff, Down: false, At: at(0)}) // never was
	o.See(Sight{Node: "a", Kind: SpanOff, Down: true, At: at(1)})
	o.See(Sight{Node: "a", Kind: SpanOff, Down: true, At: at(2)}) // still is
	o.See(Sight{Node: "a", Kind: SpanNotReady, Down: true, At: at(3)})
	before := o.Spans()
	o.See(Sight{Node: "a", Kind: SpanOff, Down: false, At: at(4)})
	o.See(Sight{Node: "b", Kind: SpanOff, Down: true, At: at(5)})
	o.See(Sight{Node: "b", Kind: SpanOff, Down: false, At: at(4)}) // by a clock that was set back
	o.See(Sight{Node: "a", Kind: SpanOff, Down: true, At: at(6)})
	want := []Span{
		{Node: "a", Kind: SpanOff, From: at(1), To: at(4), After: at(0)}, {Node: "a", Kind: SpanNotReady, From: at(3)}, {Node: "b", Kind: SpanOff, From: at(5), To: at(5)}, {Node: "a", Kind: SpanOff, From: at(6), After: at(4)},
	}
	got := o.Spans()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("span %d is %+v, not %+v", i, got[i], want[i])
		}
	}
	if len(before) != 2 || !before[0].To.IsZero() {
		t.Errorf("what was handed out has changed: %+v", before)
	}
}
