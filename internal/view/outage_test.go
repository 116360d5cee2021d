package view

import (
	"testing"
	"time"
)

func TestOutagesBeginAndEndAndStayAsHandedOut(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	var o NodeSpans
	o.Set("a", SpanOff, false, at(0)) // never was
	o.Set("a", SpanOff, true, at(1))
	o.Set("a", SpanOff, true, at(2)) // still is
	o.Set("a", SpanNotReady, true, at(3))
	before := o.Spans()
	o.Set("a", SpanOff, false, at(4))
	o.Set("b", SpanOff, true, at(5))
	o.Set("b", SpanOff, false, at(4)) // by a clock that was set back
	o.Set("a", SpanOff, true, at(6))
	want := []NodeSpan{
		{Node: "a", Kind: SpanOff, From: at(1), To: at(4)}, {Node: "a", Kind: SpanNotReady, From: at(3), To: time.Time{}}, {Node: "b", Kind: SpanOff, From: at(5), To: at(5)}, {Node: "a", Kind: SpanOff, From: at(6), To: time.Time{}},
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
