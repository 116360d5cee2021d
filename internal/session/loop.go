package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// loop is what all parts of a session stand on: its clock, its record, the
// newest look at the cluster, and the way back from a goroutine. All but the
// inbox belongs to the goroutine of Session.Run.
type loop struct {
	ctx   context.Context
	now   func() time.Time
	rec   *Recorder
	inbox inbox[message]
	work  sync.WaitGroup // goroutines that outlast one turn

	snapshot *cluster.Snapshot // nil before the first
	guest    Guest             // nil: there is none
	notice   view.Notice

	ending bool
	// leaveWhenOn: the operator leaves as soon as everything is on again.
	leaveWhenOn bool
	// undone: something that the operator may be waiting for to leave is over.
	undone bool
}

// say puts ev on the timeline.
func (l *loop) say(ev view.Event) { l.rec.timeline.Add(ev) }

// notify puts ev on the timeline and shows its text at once.
func (l *loop) notify(ev view.Event) {
	l.notice = view.Notice{Text: ev.Text, At: l.now(), Level: ev.Level}
	if ev.Kind != "" && !strings.Contains(ev.Text, ev.Subject) {
		l.notice.Text = ev.Subject + ": " + ev.Text // else it is not known what of
	}
	l.say(ev)
}

// warn is notify for what went wrong.
func (l *loop) warn(lane view.Lane, subject, text string) {
	l.notify(view.Event{Lane: lane, Subject: subject, Text: text, Level: view.Warning})
}

// spawn runs f in a goroutine that Run waits for.
func (l *loop) spawn(f func()) { l.work.Go(f) }

// async runs work in a goroutine, for at most that long, and hands what it
// gives to then, in a turn of the loop.
func async[T any](l *loop, within time.Duration, work func(context.Context) T, then func(T)) {
	l.spawn(func() {
		ctx, cancel := context.WithTimeout(l.ctx, within)
		defer cancel()
		l.inbox.put(result[T]{work(ctx), then})
	})
}

// message is something that a turn of the loop takes in.
type message interface{ deliver(*Session) }

// result is what a goroutine was made for.
type result[T any] struct {
	value T
	then  func(T)
}

func (r result[T]) deliver(*Session) { r.then(r.value) }

// inbox hands messages to a loop without ever blocking the sender.
type inbox[M any] struct {
	notify chan struct{}

	mu       sync.Mutex
	messages []M
}

func (b *inbox[M]) put(m M) {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	b.wake()
}

// wake has the loop take a turn.
func (b *inbox[M]) wake() {
	select {
	case b.notify <- struct{}{}:
	default:
	}
}

func (b *inbox[M]) take() []M {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages := b.messages
	b.messages = nil
	return messages
}

// newest hands a frame out in place of one that nobody has taken. One goroutine
// alone may send to frames.
func newest(frames chan *view.Frame, f *view.Frame) {
	select {
	case <-frames:
	default:
	}
	frames <- f
}
