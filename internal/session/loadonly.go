package session

import (
	"context"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// LoadOnly shows the requests of a generator without a cluster. Like a Session it sends
// frames and receives intents. It records nothing. Send and Frames are safe for
// concurrent use.
type LoadOnly struct {
	*loop
	loads *loads
}

// NewLoadOnly makes it for a generator, which it closes at its end. Nothing
// happens before Run.
func NewLoadOnly(g *loadgen.Generator) (*LoadOnly, error) {
	rec, err := NewRecordWriter("", time.Now)
	l := newLoop(Options{Load: g, RecordWriter: rec, Now: time.Now})
	return &LoadOnly{l, &loads{loop: l}}, err
}

// Send asks for i to be carried out. It never blocks.
func (l *LoadOnly) Send(i view.Intent) { l.post(func() { l.carryOut(i) }) }

// Run returns when ctx ends or the operator leaves. It then cancels the requests in
// flight.
func (l *LoadOnly) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	l.ctx = ctx
	defer close(l.frames.out)
	defer l.work.Wait()
	defer l.loads.close()
	defer cancel()
	l.say(view.NewEvent(view.CodeLoadStarted, "load", view.Facts{Name: l.opt.Load.Run().Spec.Text()}))
	l.loads.begin()
	l.spawn(func() { l.frames.watch(ctx, l.now) })
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	p := newPace()
	defer p.stop()
	for !l.ending {
		l.frames.turned()
		var load <-chan struct{} // read when a frame is due: it changes thousands of times a second
		if !p.armed {
			load = l.loads.changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-l.inbox.notify:
			l.inbox.deliver()
		case <-load:
		case <-l.rec.timeline.Changed():
		case <-ticker.C:
		case <-p.due():
			p.shown(time.Now())
			l.frames.show(&view.Frame{
				Title: view.Title{Cluster: "no cluster"}, Now: l.now(),
				Load: *l.opt.Load.Run(), Requests: l.opt.Load.Digest(), Events: l.rec.timeline.Last(eventsShown), Notice: l.notice,
			})
			continue
		}
		p.stirred(time.Now())
	}
}

func (l *LoadOnly) carryOut(i view.Intent) {
	switch i := i.(type) {
	case view.StartLoad:
		l.loads.ask(i)
	case view.StopLoad:
		l.loads.stop(i)
	case view.AskQuit:
		l.ending = true
	}
}
