package record

import (
	"iter"
	"sync"

	"lightsout/loadgen"
)

// Ended keeps requests as they end, and hands exactly those that it has kept to one goroutine, which
// follows them. The zero Ended keeps nothing.
type Ended struct {
	mu    sync.Mutex
	keep  func(loadgen.Record)
	ended []loadgen.Record
}

// Record keeps a request that has ended. It reports whether anything is kept, and is safe for
// concurrent use.
func (e *Ended) Record(q loadgen.Record) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keep == nil {
		return false
	}
	e.keep(q)
	e.ended = append(e.ended, q)
	return true
}

// Take returns the requests that were kept since the last call.
func (e *Ended) Take() (ended []loadgen.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ended, e.ended = e.ended, nil
	return ended
}

// Change calls to between two requests, and keeps those that end later with what it returns; nil
// keeps none. It returns the requests that were kept before and not taken.
func (e *Ended) Change(to func() (keep func(loadgen.Record))) (ended []loadgen.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keep = to()
	ended, e.ended = e.ended, nil
	return ended
}

// InFlight returns how many requests of each run have not ended. One that is just being recorded
// may count, except in Ended.Change.
func InFlight(g *loadgen.Generator, runs iter.Seq[int]) map[int]int {
	open := map[int]int{}
	for run := range runs {
		if n := g.Result(run).Totals.InFlight(); n > 0 {
			open[run] = n
		}
	}
	return open
}
