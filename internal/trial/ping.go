package trial

import (
	"slices"
	"time"

	"lightsout/internal/session"
	"lightsout/internal/text"
	"lightsout/internal/trial/phase"
	"lightsout/internal/view"
)

const (
	// pingEvery is the interval at which a trial asks the API server a question.
	pingEvery = time.Second
	// stalledFor is how long an answer must take for the connection to count as stalled.
	stalledFor = 2 * time.Second
)

// pings measures how long the API server takes to answer. While a connection stalls,
// lightsout sees changes late.
type pings struct {
	r       *run
	asked   time.Time // when the newest question was
	running bool
}

// askIfDue asks when it is due, from the first power-off on.
func (p *pings) askIfDue() {
	if p.r.zero.IsZero() || p.running || p.r.now().Sub(p.asked) < pingEvery {
		return
	}
	p.asked = p.r.now()
	p.running = session.Ping(p.r.s, p.answered)
}

// answered takes the time that the API server took to answer; 0 if it did not. A time in which
// lightsout itself stood still does not count as a stall of the API server.
func (p *pings) answered(took time.Duration) {
	p.running = false
	p.r.tracker.Awake(p.r.now()) // the answer may be the first that lightsout handles after it stood still
	stopped := func(b phase.Blind) bool { return b.StoodStill && b.To.After(p.asked) }
	if took < stalledFor || slices.ContainsFunc(p.r.tracker.Blind(), stopped) {
		return
	}
	p.r.tracker.Stalled(p.asked, p.asked.Add(took))
	p.r.s.Warn(view.LaneLink, "API server", "took "+text.Span(took)+" to answer: lightsout saw what happened meanwhile late")
}
