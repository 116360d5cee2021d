package knative

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestMeterTellsTheAverageOfTheLastWholeSecond(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	m := newMeter("p", start)
	check := func(ms int, average, proxied, count float64) {
		t.Helper()
		s := m.stat(at(ms))
		if math.Abs(s.AverageConcurrentRequests-average) > 1e-9 || math.Abs(s.AverageProxiedConcurrentRequests-proxied) > 1e-9 || s.RequestCount != count {
			t.Errorf("at %d ms: %+v", ms, s)
		}
	}
	check(500, 0, 0, 0)
	m.enter(at(750), true)
	check(999, 0, 0, 0) // the second is not over
	check(1000, 0.25, 0.25, 1)
	m.enter(at(1500), false)
	check(2100, 1.5, 1, 1)
	check(3000, 2, 1, 0)
	m.leave(at(3100), true)
	check(100500, 1, 0, 0) // long afterwards
	m.leave(at(100600), false)
	check(101000, 0.6, 0, 0)
	check(102000, 0, 0, 0)
}

func TestMeterAfterLongRest(t *testing.T) {
	start := time.Now()
	m := newMeter("p", start)
	m.enter(start, true)
	if s := m.stat(start.Add(36*time.Hour + 300*time.Millisecond)); s.AverageConcurrentRequests != 1 || s.ProcessUptime != 36*3600 {
		t.Errorf("%+v", s)
	}
}

func TestStatOnTheWire(t *testing.T) {
	data := Stat{
		PodName:                          "pod-1",
		AverageConcurrentRequests:        1,
		AverageProxiedConcurrentRequests: 0.5,
		RequestCount:                     3,
		ProcessUptime:                    12.5,
		Timestamp:                        7,
	}.Marshal()
	got := map[protowire.Number]any{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
		switch kind {
		case protowire.BytesType:
			var v []byte
			v, n = protowire.ConsumeBytes(data)
			got[number] = string(v)
		case protowire.Fixed64Type:
			var v uint64
			v, n = protowire.ConsumeFixed64(data)
			got[number] = math.Float64frombits(v)
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(data)
			got[number] = v
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
	}
	for number, want := range map[protowire.Number]any{1: "pod-1", 2: 1.0, 3: 0.5, 4: 3.0, 6: 12.5, 7: uint64(7)} {
		if got[number] != want {
			t.Errorf("field %d is %v, want %v", number, got[number], want)
		}
	}
	if _, ok := got[5]; ok {
		t.Error("field 5 is zero and was sent")
	}
}
