package cli

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// fps is the highest rate of frames that bubbletea has.
	fps = 120
	// drawSoon after the first of several changes the screen is drawn.
	drawSoon = time.Millisecond
	// drawLong is for how long after a change it is then drawn at the rate of fps.
	drawLong = 3 * time.Second / fps
	// drawIdle is how often it is drawn when there is no change.
	drawIdle = time.Second / 4
)

// refresh has the screen drawn when something has changed. bubbletea alone draws
// it fps times a second, changed or not: 2 % of a core at rest, and 4 ms of what a
// key takes. A nil one leaves it to that. It is safe for use by several goroutines.
type refresh struct {
	ticker *time.Ticker

	mu    sync.Mutex
	armed bool // it is drawn at a high rate
	first bool // and has not been drawn since
	rest  *time.Timer
}

// newRefresh takes over when p, which does not run yet, draws; nil when this
// bubbletea has no such ticker, which a test looks for.
func newRefresh(p *tea.Program) *refresh {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	r := &refresh{ticker: time.NewTicker(drawIdle)}
	r.rest = time.AfterFunc(drawIdle, r.relax)
	// p resets a ticker that it has, and makes one only where there is none.
	*(**time.Ticker)(field.Addr().UnsafePointer()) = r.ticker
	return r
}

// due says that p is about to be given something to draw.
func (r *refresh) due() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.armed:
		r.armed, r.first = true, true
		r.ticker.Reset(drawSoon)
		r.rest.Reset(drawSoon + drawSoon/2)
	case !r.first:
		r.rest.Reset(drawLong)
	}
}

// relax lowers the rate: to fps after the first time, then to almost none.
func (r *refresh) relax() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first {
		r.first = false
		r.ticker.Reset(time.Second / fps)
		r.rest.Reset(drawLong)
		return
	}
	r.armed = false
	r.ticker.Reset(drawIdle)
}

// stop is for when p has ended.
func (r *refresh) stop() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest.Stop()
	r.ticker.Stop()
}
