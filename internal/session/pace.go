package session

import (
	"time"

	"golang.org/x/time/rate"
)

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
