package session

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// framesASecond is how many frames a stream of changes makes: what a person
	// can follow. After a rest framesAtOnce come without waiting.
	framesASecond = 8
	framesAtOnce  = 4
	// leastGap is between any two frames: what belongs together comes within it.
	leastGap = 15 * time.Millisecond
)

// pace says when a frame is due. A lone change is shown at once, a stream of them
// at a pace that a person can follow.
type pace struct {
	timer *time.Timer
	limit *rate.Limiter
	armed bool // a frame is due when the timer says so
	last  time.Time
}

func newPace() *pace {
	return &pace{timer: time.NewTimer(0), limit: rate.NewLimiter(framesASecond, framesAtOnce), armed: true}
}

func (p *pace) due() <-chan time.Time { return p.timer.C }

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

func (p *pace) stop() { p.timer.Stop() }
