package power

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// turnKept is how long a request to power on keeps its turn. Power APIs and commands accept
// one within seconds: what takes longer hangs, or only waits, and must not keep healthy
// machines off. So at most ten times as many requests hang at once as have a turn, within
// the timeout of a power-on.
const turnKept = 10 * time.Second

// shortTurn is how long a poll keeps its turn: many dead machines must not delay the others of
// their driver.
const shortTurn = 2 * time.Second

// passOn returns a function that releases a turn. The turn ends by itself after that time.
func passOn(turns *semaphore.Weighted, after time.Duration) (end func()) {
	free := sync.OnceFunc(func() { turns.Release(1) })
	early := time.AfterFunc(after, free)
	return func() { early.Stop(); free() }
}

// turn waits for one of the driver's turns, and reports it if that takes long. A request to switch off keeps its turn
// until the driver returns, or its time is over. waited: another had to end first. The error is errNothingSent if ctx
// ends first.
func (o *operation) turn(ctx context.Context) (end func(), waited bool, err error) {
	turns := o.fleet.switchOffs[o.machine.Driver]
	if o.action == ActionOn {
		turns = o.fleet.powerOns[o.machine.Driver]
	}
	if waited = !turns.TryAcquire(1); waited {
		reported := o.slowly(fmt.Sprintf("nothing was sent yet: %s waits for its turn, because %s works on %d other requests", o.machine.Called(), o.machine.Driver, o.fleet.cfg.Parallel))
		err := turns.Acquire(ctx, 1)
		reported()
		if err != nil {
			return nil, waited, errNothingSent
		}
	}
	kept := turnKept
	if o.action != ActionOn {
		kept = o.fleet.cfg.timeout(o.action)
	}
	end = passOn(turns, kept)
	if ctx.Err() != nil {
		end()
		return nil, waited, errNothingSent
	}
	return end, waited, nil
}
