package replay

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// Bounds of the speed, in times as fast as it happened.
const (
	SpeedLeast = 0.25
	SpeedMost  = 64
)

const (
	// frameEvery is the least time between two frames.
	frameEvery = 100 * time.Millisecond
	// noticeFor is how long the player's own notice stands.
	noticeFor = 5 * time.Second
)

// cannot is the answer to intents that want something done.
const cannot = "this is a replay: nothing can be switched or sent"

// Options is how a record is played. The zero Options play it from its start
// as fast as it happened.
type Options struct {
	// Speed is how many times as fast; 0 means 1. It is kept within SpeedLeast
	// and SpeedMost.
	Speed float64
	// Paused: it begins paused.
	Paused bool
	// Loop: it begins again at the end.
	Loop bool
	// Now is the clock that the replay follows; nil is time.Now.
	Now func() time.Time
}

// Player plays a record. Send and Frames are safe for use by several
// goroutines; Run is called once.
type Player struct {
	now     func() time.Time
	frames  chan *view.Frame
	intents chan view.Intent
	quit    chan struct{}
	leave   func() // closes quit, once

	// Owned by Run.
	record   *frames
	at       time.Time // where the replay stands
	as       time.Time // when it stood there, by now
	speed    float64
	first    float64 // the speed that it began with
	paused   bool
	loop     bool
	notice   string
	noticeAt time.Time
}

// New makes a player of r, which must hold at least one event or sample.
func New(r *record.Record, o Options) (*Player, error) {
	if r.Start.IsZero() {
		return nil, errors.New("there is nothing to play: the record is empty")
	}
	p := &Player{
		now: o.Now, record: newFrames(r), at: r.Start, speed: clampSpeed(cmp.Or(o.Speed, 1)), paused: o.Paused, loop: o.Loop,
		frames: make(chan *view.Frame, 1), intents: make(chan view.Intent, 64), quit: make(chan struct{}),
	}
	p.leave = sync.OnceFunc(func() { close(p.quit) })
	if p.now == nil {
		p.now = time.Now
	}
	p.first = p.speed
	return p, nil
}

func clampSpeed(f float64) float64 { return min(max(f, SpeedLeast), SpeedMost) }

// Frames hands out frames, the newest only: at most ten a second while it
// plays, and one after each intent. It is closed when Run returns.
func (p *Player) Frames() <-chan *view.Frame { return p.frames }

// Send asks for i to be carried out. It does not wait for that.
func (p *Player) Send(i view.Intent) {
	if _, ok := i.(view.AskQuit); ok {
		p.leave()
		return
	}
	select {
	case p.intents <- i:
	default: // a key held down: what does not fit is as good as pressed less often
	}
}

// Run plays until ctx ends or the operator leaves. At the end of the record it
// pauses on the last frame.
func (p *Player) Run(ctx context.Context) error {
	defer close(p.frames)
	p.as = p.now()
	ticker := time.NewTicker(frameEvery)
	defer ticker.Stop()
	dirty := true
	for {
		if dirty {
			p.publish()
			dirty = false
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.quit:
			return nil
		case i := <-p.intents:
			p.move()
			p.carryOut(i)
			// Several at once, as of a key held down, make one frame.
			for n := len(p.intents); n > 0; n-- {
				p.carryOut(<-p.intents)
			}
			dirty = true
		case <-ticker.C:
			dirty = !p.paused
			p.move()
			if p.notice != "" && p.now().Sub(p.noticeAt) >= noticeFor {
				p.notice = ""
				dirty = true
			}
		}
	}
}

// move lets the replay's clock go on.
func (p *Player) move() {
	now := p.now()
	if !p.paused {
		p.at = p.at.Add(time.Duration(float64(max(0, now.Sub(p.as))) * p.speed))
	}
	p.as = now
	if end := p.record.rec.End; !p.at.Before(end) {
		p.at, p.paused = end, true
		if p.loop {
			p.at, p.paused = p.record.rec.Start, false
		}
	}
}

func (p *Player) carryOut(i view.Intent) {
	r := p.record.rec
	switch i := i.(type) {
	case view.ReplayPause:
		if p.paused && !p.at.Before(r.End) { // once more, as fast as at first, so that it can be followed
			p.at, p.speed, p.paused = r.Start, p.first, false
		} else {
			p.paused = !p.paused
		}
	case view.ReplaySpeed:
		p.speed = clampSpeed(p.speed * i.Factor)
	case view.ReplaySeek:
		p.at = r.Within(cmp.Or(i.At, p.at.Add(max(r.Start.Sub(r.End), min(i.By, r.End.Sub(r.Start))))))
	case view.Answer, view.SetFocus: // the operator closes a question, or selects another deployment
	default:
		p.notice, p.noticeAt = cannot, p.now()
	}
}

func (p *Player) publish() {
	f, r := p.record.frame(p.at), p.record.rec
	f.Replay = &view.ReplayView{
		Dir: r.Dir, Start: r.Start, End: r.End, Zero: r.Zero, Paused: p.paused, Speed: p.speed, Marks: p.record.marks,
		Torn: strings.Join(r.Torn, "; "),
	}
	if p.notice != "" {
		f.Notice = view.Notice{Text: p.notice, At: p.at, Level: view.Warning}
	}
	view.Renew(p.frames, f)
}
