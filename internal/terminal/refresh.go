package terminal

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

// refresh makes bubbletea draw the screen when something has changed. By itself
// bubbletea wakes fps times a second, changed or not. With refresh a paused replay of
// 120x40 cells uses 0.4 % of a core; without it 1.9 % at 120 fps, 1.6 % at 60, and 0.8
// % at 30, where a key waits 33 ms. With a nil refresh bubbletea decides. It is safe
// for concurrent use.
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

// due announces that p is about to receive something to draw.
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
