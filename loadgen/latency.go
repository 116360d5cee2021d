package loadgen

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Quantiles sums up durations. Quantiles are exact to 1 %, Max is exact.
type Quantiles struct {
	Count int           `json:"count,omitzero"`
	P50   time.Duration `json:"p50,omitzero"`
	P90   time.Duration `json:"p90,omitzero"`
	P95   time.Duration `json:"p95,omitzero"`
	P99   time.Duration `json:"p99,omitzero"`
	Max   time.Duration `json:"max,omitzero"`
}

// Latency sums up the ok requests of all runs. It leaves out failed requests: their
// duration describes no service.
type Latency struct {
	// Scheduled is from when a request was due to its end. It holds what
	// waiting in the generator has cost, so that a service which stops is not
	// flattered by requests that were not sent meanwhile.
	Scheduled Quantiles `json:"scheduled,omitzero"`
	// Sent is from when the request was written to its end.
	Sent Quantiles `json:"sent,omitzero"`
	// Late is from when a request was due to when its sending began, of all
	// requests that were begun: how well the generator keeps its schedule.
	Late Quantiles `json:"late,omitzero"`
	// FirstToken is from when a chat was written to its first text, and PerToken the
	// mean time for a token after the first, of each chat.
	FirstToken Quantiles `json:"first_token,omitzero"`
	PerToken   Quantiles `json:"per_token,omitzero"`
}

// The range of the histogram; a value beyond it counts as the bound.
const (
	leastLatency = time.Microsecond
	mostLatency  = 24 * time.Hour
)

// histogram is a histogram of durations that caches its percentiles until it changes.
// Nil is an empty one. Its owner's lock guards it.
type histogram struct {
	h     *hdrhistogram.Histogram
	max   time.Duration
	shown Quantiles
}

// with adds to a histogram that may be nil.
func (s *histogram) with(d time.Duration) *histogram {
	if s == nil {
		s = &histogram{h: hdrhistogram.New(int64(leastLatency/time.Microsecond), int64(mostLatency/time.Microsecond), 2)}
	}
	d = max(d, 0)
	s.max = max(s.max, d)
	// The error is for values out of range.
	_ = s.h.RecordValue(int64(min(max(d, leastLatency), mostLatency) / time.Microsecond))
	return s
}

func (s *histogram) quantiles() Quantiles {
	if s == nil {
		return Quantiles{}
	}
	if n := int(s.h.TotalCount()); n != s.shown.Count {
		at := s.h.ValueAtPercentiles([]float64{50, 90, 95, 99})
		of := func(p float64) time.Duration { return min(time.Duration(at[p])*time.Microsecond, s.max) }
		s.shown = Quantiles{Count: n, P50: of(50), P90: of(90), P95: of(95), P99: of(99), Max: s.max}
	}
	return s.shown
}
