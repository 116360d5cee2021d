package cli

import (
	"context"
	"time"

	"lightsout/internal/clock"
)

// pauseLeast is the least time between two reads of the clock, normally a second, in which
// lightsout itself did not run: it was stopped, or the machine was suspended or starved.
const pauseLeast = 4 * time.Second

// watchPauses adds up the time in which lightsout does not run, until end is called, which
// returns the sum.
func watchPauses(ctx context.Context) (end func() time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	sum := make(chan time.Duration)
	go func() {
		var paused time.Duration
		last := time.Now()
		look := func() {
			now := time.Now()
			if age := clock.Age(now, last); age >= pauseLeast {
				paused += age
			}
			last = now
		}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-ctx.Done():
				look()
				sum <- paused
				return
			}
		}
	}()
	return func() time.Duration {
		cancel()
		return <-sum
	}
}
