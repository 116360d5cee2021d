package power

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// NamedReading is a look at one node's machine.
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

// stateMachine is the machine whose driver tells a binding's state best: one
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

// Read looks at every machine once, side by side, each within ReadTimeout. A
// machine whose driver gave no answer has the state Unknown, and the reason as
// Detail. The readings come in the order of the bindings.
func (f *Fleet) Read(ctx context.Context, bindings []Binding) []NamedReading {
	out := make([]NamedReading, len(bindings))
	f.read(ctx, bindings, func(i int, r Reading) {
		out[i] = NamedReading{Node: bindings[i].Node.Name, Reading: r}
	})
	return out
}

// read tells each binding's reading as it comes, one at a time.
func (f *Fleet) read(ctx context.Context, bindings []Binding, tell func(i int, r Reading)) {
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	told := func(i int, r Reading) {
		r.Detail = Clean(r.Detail)
		if r.At.IsZero() {
			r.At = time.Now()
		}
		mu.Lock()
		defer mu.Unlock()
		tell(i, r)
	}
	bulk := map[string][]int{}
	machines := make([]Machine, len(bindings))
	for i, b := range bindings {
		m, ok := f.stateMachine(b)
		if !ok {
			told(i, Reading{Detail: "no driver tells its state"})
			continue
		}
		machines[i] = m
		if _, ok := f.drivers[m.Driver].(BulkDriver); ok && len(bindings) > 1 {
			bulk[m.Driver] = append(bulk[m.Driver], i)
			continue
		}
		wg.Go(func() { told(i, f.readOne(ctx, m)) })
	}
	for name, indexes := range bulk {
		wg.Go(func() {
			asked := make([]Machine, 0, len(indexes))
			for _, i := range indexes {
				asked = append(asked, machines[i])
			}
			for k, r := range f.readBulk(ctx, f.drivers[name].(BulkDriver), asked) {
				told(indexes[k], r)
			}
		})
	}
	wg.Wait()
}

func unread(err error) Reading {
	return Reading{Detail: Clean(err.Error()), At: time.Now()}
}

func (f *Fleet) readOne(ctx context.Context, m Machine) Reading {
	if err := f.others.take(ctx); err != nil {
		return unread(err)
	}
	defer f.others.free()
	r, err := f.look(ctx, m)
	if err != nil {
		return unread(err)
	}
	return r
}

func (f *Fleet) readBulk(ctx context.Context, d BulkDriver, asked []Machine) []Reading {
	readings, err := func() ([]Reading, error) {
		if err := f.others.take(ctx); err != nil {
			return nil, err
		}
		defer f.others.free()
		ctx, cancel := context.WithTimeout(ctx, f.cfg.ReadTimeout)
		defer cancel()
		return d.States(ctx, asked)
	}()
	if err == nil && len(readings) != len(asked) {
		err = fmt.Errorf("%s told the state of %d machines where %d were asked for", d.Name(), len(readings), len(asked))
	}
	if err != nil {
		readings = make([]Reading, len(asked))
		for i := range readings {
			readings[i] = unread(err)
		}
	}
	return readings
}

// Watch looks at all machines now and then every interval (at least a second,
// counted from the end of one round to the start of the next) until ctx ends.
// bindings is asked before every round. report is never called by two
// goroutines at once.
func (f *Fleet) Watch(ctx context.Context, bindings func() []Binding, interval time.Duration, report func(node string, r Reading)) {
	interval = max(interval, time.Second)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		round := bindings()
		f.read(ctx, round, func(i int, r Reading) {
			if ctx.Err() == nil { // an ended context makes every reading Unknown
				report(round[i].Node.Name, r)
			}
		})
		timer.Reset(interval)
	}
}
