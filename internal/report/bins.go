package report

import (
	"lightsout/internal/record"
	"lightsout/loadgen"
)

// columnsMost bounds the columns of the picture, and so its size.
const columnsMost = 480

// bin is one column of the picture: one second of the record or more. Of the
// gauge it has the largest values, the lowest capacity and the last target.
type bin struct {
	loadgen.Second
	from, to  float64 // seconds from base
	available int     // the lowest number; -1 if unknown
	failed    loadgen.ByClass
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
		b.failed = b.FailedIn()
		bins = append(bins, b)
	}
	return bins, size
}

func (b *bin) take(s record.Second) {
	if s.Sampled {
		g, sampled, lowest := s.Gauge(), b.Sampled, b.Capacity
		if b.Sample(g); sampled {
			b.Capacity = min(lowest, g.Capacity)
		}
	}
	if s.Available >= 0 && (b.available < 0 || s.Available < b.available) {
		b.available = s.Available
	}
	b.Add(s.Second)
}
