package tui

import (
	"strings"
	"time"

	"lightsout/internal/view"
)

// Painter draws frames as text, for recordings and pictures. It keeps the drawn panes,
// so that the next frame only costs its changes, and so that a change is highlighted as
// on the screen. It is not safe for concurrent use.
type Painter struct {
	m   *Model
	now time.Time
}

// NewPainter makes a Painter. Options.Send and Options.Now are not used: a
// Painter's time is that of the frame it draws.
func NewPainter(o Options) *Painter {
	p := &Painter{}
	o.Send, o.Now = nil, func() time.Time { return p.now }
	p.m = New(o)
	p.m.picture = true
	return p
}

// Caption shows a caption below the panes until the next one; an empty one removes it.
func (p *Painter) Caption(text string) { p.m.s.caption = text }

// Paint gives the screen that shows f: exactly height lines of exactly width
// cells, joined by line feeds, with no escape sequences but SGR. It is empty
// when width or height is less than 1. f is not changed.
func (p *Painter) Paint(f *view.Frame, width, height int) string {
	if f != nil {
		p.now = f.Now
		p.m.adopt(f)
	}
	p.m.w, p.m.h = width, height
	p.m.clock()
	return strings.Join(p.m.draw(), "\n")
}
