package session

import "time"

// pace says when a frame is due: at once after a while without one, and not
// sooner than frameEvery after the last.
type pace struct {
	timer *time.Timer
	armed bool
	last  time.Time
}

func newPace() *pace {
	return &pace{timer: time.NewTimer(0), armed: true}
}

func (p *pace) due() <-chan time.Time { return p.timer.C }

// shown: a frame is handed out now.
func (p *pace) shown() { p.armed, p.last = false, time.Now() }

// stirred: there is something to show.
func (p *pace) stirred() {
	if !p.armed {
		p.timer.Reset(max(0, frameEvery-time.Since(p.last)))
		p.armed = true
	}
}

func (p *pace) stop() { p.timer.Stop() }
