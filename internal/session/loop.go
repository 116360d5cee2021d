package session

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// loop is the base of all parts of a session: its options, clock and record, the newest
// snapshot, and the inbox for results of goroutines. Only the goroutine of Session.Run
// may use it, except for the inbox and the frames.
type loop struct {
	opt    Options
	ctx    context.Context
	now    func() time.Time
	rec    *RecordWriter
	inbox  inbox
	work   sync.WaitGroup   // goroutines that outlast one turn; Run waits for them
	frames chan *view.Frame // the newest one

	snapshot *cluster.Snapshot // nil before the first
	guest    Guest
	trial    Trial // takes its steps now; nil if there is none
	notice   view.Notice

	departure departure
}

// Frames hands out frames, the newest only. It is closed when Run returns.
func (l *loop) Frames() <-chan *view.Frame { return l.frames }

// say puts ev on the timeline.
func (l *loop) say(ev view.Event) { l.rec.timeline.Add(ev) }

// notify puts ev on the timeline and shows its text at once; that of an event of an object begins with the
// object's name.
func (l *loop) notify(ev view.Event) {
	l.notice = view.Notice{Text: ev.Text, At: l.now(), Level: ev.Level}
	if ev.Kind != "" {
		l.notice.Text = ev.Subject + ": " + ev.Text
	}
	l.say(ev)
}

// warn is notify for what went wrong.
func (l *loop) warn(lane view.Lane, subject, text string) {
	e := view.NewEvent(view.CodeWarning, subject, view.Facts{Reported: text})
	e.Lane = lane
	l.notify(e)
}

// async runs work in a goroutine, at most for the given time, and passes its result to
// then in a turn of the loop.
func async[T any](l *loop, within time.Duration, work func(context.Context) T, then func(T)) {
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, within)
		defer cancel()
		got := work(ctx)
		l.post(func() { then(got) })
	})
}

// post makes the loop call f in one of its turns. It never blocks, and is safe for
// concurrent use.
func (l *loop) post(f func()) { l.inbox.put(f) }

// inbox hands messages to a loop without ever blocking the sender.
type inbox struct {
	notify chan struct{}

	mu       sync.Mutex
	messages []func()
}

func (b *inbox) put(m func()) {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	b.wake()
}

// wake has the loop take a turn.
func (b *inbox) wake() { signal(b.notify) }

// signal puts a signal into a channel that holds one, unless one is there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// deliver passes on the received items in order.
func (b *inbox) deliver() {
	b.mu.Lock()
	messages := b.messages
	b.messages = nil
	b.mu.Unlock()
	for _, hand := range messages {
		hand()
	}
}

const (
	// framesASecond is the frame rate of a stream of changes: as much as a person can
	// follow. After a pause framesAtOnce frames come without waiting.
	framesASecond = 8
	framesAtOnce  = 4
	// leastGap is between any two frames: what belongs together comes within it.
	leastGap = 15 * time.Millisecond
)

// pace decides when a frame is due: at once for a single change, and at a readable rate
// for a stream of them.
type pace struct {
	timer *time.Timer
	limit *rate.Limiter
	armed bool // the timer decides when a frame is due
	last  time.Time
}

// shown: a frame is handed out at now.
func (p *pace) shown(now time.Time) { p.armed, p.last = false, now }

// stirred: there is something to show at now.
func (p *pace) stirred(now time.Time) {
	if p.armed {
		return
	}
	p.armed = true
	p.timer.Reset(max(p.limit.ReserveN(now, 1).DelayFrom(now), leastGap-now.Sub(p.last)))
}
