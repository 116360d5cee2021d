package report

import (
	"lightsout/internal/record"
	"lightsout/loadgen"
)

// columnsMost bounds the columns of the picture, and so its size.
const columnsMost = 480

// bin is one column of the picture: one second of the record or more.
type bin struct {
	from, to float64 // seconds from base
	sampled  bool
	// The largest values of the gauge.
	served, queued, stalled, onDead int
	// capacity and available are the lowest, target the last.
	capacity, target, available int
	// Sums of the requests that were sent in it.
	sent, ok, cancelled, unresolved int
	failed                          map[loadgen.Class]int
}

func (b bin) failedSum() int {
	n := 0
	for _, v := range b.failed {
		n += v
	}
	return n
}

// binsOf gathers the record's seconds into at most columnsMost bins of size
// seconds each.
func binsOf(r *record.Record) (bins []bin, size int) {
	if len(r.Seconds) == 0 {
		return nil, 1
	}
	size = int(step(float64(len(r.Seconds)), columnsMost))
	for i := 0; i < len(r.Seconds); i += size {
		group := r.Seconds[i:min(i+size, len(r.Seconds))]
		from := group[0].At.Sub(base(r)).Seconds()
		b := bin{from: from, to: from + float64(len(group)), available: -1}
		for _, s := range group {
			b.take(s)
		}
		bins = append(bins, b)
	}
	return bins, size
}

func (b *bin) take(s record.Second) {
	if s.Sampled {
		if !b.sampled {
			b.capacity = s.Capacity
		}
		b.sampled = true
		b.served, b.queued = max(b.served, s.Served), max(b.queued, s.Queued)
		b.stalled, b.onDead = max(b.stalled, s.Stalled), max(b.onDead, s.OnDead)
		b.capacity, b.target = min(b.capacity, s.Capacity), s.Target
	}
	if s.Available >= 0 && (b.available < 0 || s.Available < b.available) {
		b.available = s.Available
	}
	b.sent += s.Sent
	b.ok += s.OK
	b.cancelled += s.Cancelled
	b.unresolved += s.Unresolved
	for c, n := range s.Failed {
		if n <= 0 {
			continue
		}
		if b.failed == nil {
			b.failed = map[loadgen.Class]int{}
		}
		b.failed[c] += n
	}
}
