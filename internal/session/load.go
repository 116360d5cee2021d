package session

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// loads starts and stops requests, and says on the timeline what becomes of them.
type loads struct {
	*loop
	// steady is the run of the hold or rate that was started last.
	steady int

	telling sync.Mutex
	told    *loadgen.Result // the last result that is on the timeline
}

func (l *loads) begin() {
	if l.opt.Load != nil {
		l.spawn(func() { l.follow(l.ctx) })
	}
}

func (l *loads) close() {
	if l.opt.Load != nil {
		l.opt.Load.Close()
	}
}

// busy reports whether requests are sent or under way.
func (l *loads) busy() bool {
	if l.opt.Load == nil {
		return false
	}
	run := l.opt.Load.Run()
	return run.Active || run.Totals.InFlight() > 0
}

// changed is closed when the load is another; nil when there is none.
func (l *loads) changed() <-chan struct{} {
	if l.opt.Load == nil {
		return nil
	}
	return l.opt.Load.Changed()
}

// start starts requests; number is how the generator counts its runs.
func (l *loads) start(spec loadgen.Spec) (number int, started time.Time, err error) {
	if l.opt.Load == nil {
		return 0, started, errors.New(cmp.Or(l.opt.NoLoad, "no load can be sent: set load.url in lightsout.yaml"))
	}
	started = l.now()
	before := l.opt.Load.Run()
	if number, err = l.opt.Load.Begin(spec); err != nil {
		return 0, started, err
	}
	text := spec.Text() + " started"
	if before.Active && before.Spec.Shape == spec.Shape && spec.Shape != loadgen.Burst {
		size := func(s loadgen.Spec) string { return strings.TrimPrefix(s.Short(), string(s.Shape)+" ") }
		text = string(spec.Shape) + " changed: " + size(before.Spec) + " → " + size(spec)
	}
	if spec.Shape != loadgen.Burst {
		l.steady = number
	}
	l.say(view.Event{At: started, Lane: view.LaneLoad, Subject: "load", Text: text})
	return number, started, nil
}

// ask starts what the operator wants.
func (l *loads) ask(spec loadgen.Spec) {
	number, started, err := l.start(spec)
	if err != nil {
		l.warn(view.LaneLoad, "load", err.Error())
		return
	}
	if l.guest != nil {
		l.guest.LoadStarted(number, spec, started)
	}
}

func (l *loads) stop(i view.StopLoad) {
	if l.opt.Load == nil {
		return
	}
	l.opt.Load.Stop(i.Cancel)
	if l.guest != nil {
		l.guest.Did(i)
	}
	text := "no more requests are started"
	if i.Cancel {
		text = "stopped, requests in flight are cancelled"
	}
	l.say(view.Event{Lane: view.LaneLoad, Subject: "load", Text: text})
}

// atRest reports whether the load of that number starts no more requests and has
// none in flight.
func (l *loads) atRest(number int) bool {
	if r := l.opt.Load.Run(); r.Active && l.steady == number {
		return false
	}
	return l.opt.Load.RunTotals(number).InFlight() == 0
}

// follow says on the timeline what came of each run when it is at rest.
func (l *loads) follow(ctx context.Context) {
	pause := time.NewTicker(followEach)
	defer pause.Stop()
	for {
		changed := l.opt.Load.Changed()
		l.sayResult()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select { // requests end thousands of times a second
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// sayResult says what came of the last run, once.
func (l *loads) sayResult() {
	if l.opt.Load == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	last := l.opt.Load.Last()
	if last == l.told {
		return
	}
	l.told = last
	level := view.Good
	if last.Totals.FailedSum() > 0 {
		level = view.Bad
	}
	l.say(view.Event{At: last.Ended, Lane: view.LaneLoad, Subject: "load", Text: last.Spec.Text() + " ended: " + last.Text(), Level: level})
}

// followEach is the least time between two looks at the load for its results.
const followEach = 20 * time.Millisecond
