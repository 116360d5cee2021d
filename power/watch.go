package power

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// NamedReading is a reading of one node's machine.
type NamedReading struct {
	Node string
	Reading
}

// BulkDriver is a driver that can tell the state of many machines with few
// requests.
type BulkDriver interface {
	Driver
	// States returns one Reading for each machine, in their order.
	States(ctx context.Context, machines []Machine) ([]Reading, error)
}

// stateMachine returns the machine whose driver reports a binding's state best: one
// that proves Off before one that presumes it.
func (f *Fleet) stateMachine(b Binding) (Machine, bool) {
	for _, proves := range []bool{true, false} {
		for _, m := range []*Machine{b.On, b.Off} {
			if m == nil || f.drivers[m.Driver] == nil {
				continue
			}
			if a := f.drivers[m.Driver].Abilities(); a.State && (a.ProvesOff || !proves) {
				return *m, true
			}
		}
	}
	return Machine{}, false
}

// Read polls every machine once, in parallel, each within ReadTimeout. A
// machine whose driver gave no answer has the state Unknown, and the reason as
// Detail. The readings come in the order of the bindings.
func (f *Fleet) Read(ctx context.Context, bindings []Binding) []NamedReading {
	out := make([]NamedReading, len(bindings))
	f.read(ctx, f.others, bindings, func(i int, r Reading) {
		out[i] = NamedReading{Node: bindings[i].Node.Name, Reading: r}
	})
	return out
}

// read passes each binding's reading on as it arrives, one at a time.
func (f *Fleet) read(ctx context.Context, turns map[string]*semaphore.Weighted, bindings []Binding, tell func(i int, r Reading)) {
	var mu sync.Mutex
	began := time.Now()
	report := func(i int, r Reading) {
		r = r.arrived(cmp.Or(r.RequestedAt, began))
		mu.Lock()
		defer mu.Unlock()
		tell(i, r)
	}
	// A unit of polling: one machine, or all those of a driver that reports many at
	// once.
	type question struct {
		machines []Machine
		at       []int
	}
	var questions []*question
	bulk := map[string]*question{}
	for i, b := range bindings {
		m, ok := f.stateMachine(b)
		if !ok {
			report(i, Reading{Detail: "no driver reports its state"})
			continue
		}
		q := bulk[m.Driver]
		if q == nil {
			q = &question{}
			questions = append(questions, q)
			if _, ok := f.drivers[m.Driver].(BulkDriver); ok {
				bulk[m.Driver] = q
			}
		}
		q.machines, q.at = append(q.machines, m), append(q.at, i)
	}
	driver := func(i int) string { return questions[i].machines[0].Driver }
	sideBySide(ctx, turns, len(questions), driver, func(i int, err error) {
		q := questions[i]
		var readings []Reading
		if err == nil {
			readings, err = f.states(ctx, q.machines)
		}
		for k, at := range q.at {
			if err != nil {
				report(at, Reading{Detail: unread(driver(i), err)})
			} else {
				report(at, readings[k])
			}
		}
	})
}

// states polls machines of one driver once. The caller has a turn.
func (f *Fleet) states(ctx context.Context, machines []Machine) ([]Reading, error) {
	d, ok := f.drivers[machines[0].Driver].(BulkDriver)
	if !ok || len(machines) == 1 {
		r, err := f.poll(ctx, machines[0])
		return []Reading{r}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.ReadTimeout)
	defer cancel()
	return d.States(ctx, machines)
}

// Watch polls all machines now and then every interval (at least a second, counted from
// the end of one round to the start of the next) until ctx ends. It calls bindings
// before every round. It never calls report from two goroutines at once.
func (f *Fleet) Watch(ctx context.Context, bindings func() []Binding, interval time.Duration, report func(node string, r Reading)) {
	for ctx.Err() == nil {
		round := bindings()
		f.read(ctx, f.watches, round, func(i int, r Reading) {
			if ctx.Err() == nil { // an ended context makes every reading Unknown
				report(round[i].Node.Name, r)
			}
		})
		Sleep(ctx, max(interval, time.Second))
	}
}
