package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"lightsout/internal/text"
)

// captionMost bounds a caption, in characters: it stands below the screen.
const captionMost = 200

// Options say what becomes of a cast.
type Options struct {
	// Speed is how many times faster than it happened it is shown; 0 is 1.
	Speed float64
	// Idle is the longest that nothing may change, after Speed; 0: no bound.
	Idle time.Duration
	// Least is how long each picture is shown at least: what changes sooner is
	// shown as it stands then; 0 is what players can show.
	Least time.Duration
	// From and To bound the part that is shown, in the cast's time; To 0: the end.
	From, To time.Duration
	// Hold is how long the last picture stays; 0 is 3 s.
	Hold time.Duration
	// Theme is one of Themes; empty is the first.
	Theme string
	// Title stands above the screen; empty: no line for it.
	Title string
	// Captions shows the cast's markers below the screen.
	Captions bool
	// Size is the font's height in pixels, for pictures made of pixels; 0 is 15.
	Size int
}

// Frame is the screen for a while.
type Frame struct {
	// At and Until are film time.
	At, Until time.Duration
	Screen    *Screen
	Caption   string
}

// Screen is a grid of cells, row by row. It is immutable.
type Screen struct {
	Width, Height int
	Cells         []Cell
}

// Cell is one cell. The second half of a wide character is a Cell without Text.
type Cell struct {
	Text            string
	Fg, Bg          Colour
	Bold, Underline bool
}

// row gives the cells of one row.
func (s *Screen) row(y int) []Cell { return s.Cells[y*s.Width : (y+1)*s.Width] }

// shortest is how long a picture is shown at least: players treat less as slow.
const shortest = 40 * time.Millisecond

// Film plays the cast and gives its pictures in order, without those that show
// nothing new. It fails when the part is empty, and when ctx ends.
func Film(ctx context.Context, c *Cast, o Options) ([]Frame, error) {
	th, err := themeOf(o.Theme)
	if err != nil {
		return nil, err
	}
	if o.Speed <= 0 {
		o.Speed = 1
	}
	if o.Hold <= 0 {
		o.Hold = 3 * time.Second
	}
	if o.To <= 0 || o.To > maxTime {
		o.To = maxTime
	}
	p := newPlayer(c, th)
	defer p.close()
	var r reel
	caption := ""
	started := false
	for i, e := range c.Events {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.At > o.To {
			break
		}
		if e.At >= o.From && !started {
			started = true
			if i > 0 && e.At > o.From {
				r.add(p.screen(), caption, o.From, o)
			}
		}
		if e.Code == "m" && o.Captions {
			caption = text.Clean(e.Data, captionMost)
		}
		p.take(e)
		// What is written in one moment is one picture.
		if started && (i+1 == len(c.Events) || c.Events[i+1].At-e.At > time.Millisecond) {
			r.add(p.screen(), caption, e.At, o)
		}
	}
	if len(r.frames) == 0 {
		return nil, errors.New("there is nothing to show in this part of the recording")
	}
	r.frames[len(r.frames)-1].Until = r.at + o.Hold
	return fitted(r.frames, th), nil
}

// reel is a film under way.
type reel struct {
	frames []Frame
	at     time.Duration // when the last picture begins in the film
	last   time.Duration // and in the cast
}

// add appends the picture of a moment of the cast, if it shows anything new.
func (r *reel) add(s *Screen, caption string, castTime time.Duration, o Options) {
	if n := len(r.frames); n > 0 {
		f := &r.frames[n-1]
		if f.Caption == caption && equal(f.Screen, s) {
			return
		}
		gap := time.Duration(float64(castTime-r.last) / o.Speed)
		if o.Idle > 0 {
			gap = min(gap, o.Idle)
		}
		if gap < max(shortest, o.Least) && f.At > 0 { // takes the place of the one before
			f.Screen, f.Caption = s, caption
			return
		}
		r.at += max(gap, shortest)
		f.Until = r.at
	}
	r.last = castTime
	r.frames = append(r.frames, Frame{At: r.at, Screen: s, Caption: caption})
}

// fitted gives all screens the size of the largest.
func fitted(frames []Frame, th *theme) []Frame {
	w, h := 0, 0
	for _, f := range frames {
		w, h = max(w, f.Screen.Width), max(h, f.Screen.Height)
	}
	for i, f := range frames {
		if f.Screen.Width == w && f.Screen.Height == h {
			continue
		}
		s := &Screen{Width: w, Height: h, Cells: slices.Repeat([]Cell{{Text: " ", Fg: th.fg, Bg: th.bg}}, w*h)}
		for y := range f.Screen.Height {
			copy(s.Cells[y*w:], f.Screen.row(y))
		}
		frames[i].Screen = s
	}
	return frames
}

func equal(a, b *Screen) bool {
	return a.Width == b.Width && a.Height == b.Height && slices.Equal(a.Cells, b.Cells)
}

// player is an emulated terminal.
type player struct {
	em      *vt.Emulator
	theme   *theme
	drained chan struct{}
}

func newPlayer(c *Cast, th *theme) *player {
	p := &player{em: vt.NewEmulator(c.Width, c.Height), theme: th, drained: make(chan struct{})}
	// It repeats as often as it is told to, a milliard times: what is more than fits
	// into a line (REP, CHT, ECH and CBT of ECMA-48) is left out.
	for _, final := range "bIXZ" {
		p.em.RegisterCsiHandler(int(final), func(params ansi.Params) bool {
			n, _, _ := params.Param(0, 1)
			return n > p.em.Width()
		})
	}
	// An emulator's replies must be read, or its next Write blocks for ever.
	go func() { defer close(p.drained); _, _ = io.Copy(io.Discard, p.em) }()
	return p
}

func (p *player) close() {
	if c, ok := p.em.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	<-p.drained
}

func (p *player) take(e Event) {
	switch e.Code {
	case "o":
		_, _ = p.em.WriteString(e.Data)
	case "r":
		var w, h int
		if n, _ := fmt.Sscanf(e.Data, "%dx%d", &w, &h); n == 2 && drawable(w, h) {
			p.em.Resize(w, h)
		}
	}
}

func (p *player) screen() *Screen {
	s := &Screen{Width: p.em.Width(), Height: p.em.Height()}
	s.Cells = make([]Cell, 0, s.Width*s.Height)
	for y := range s.Height {
		for x := 0; x < s.Width; {
			c := p.em.CellAt(x, y)
			cell, width := Cell{Text: " ", Fg: p.theme.fg, Bg: p.theme.bg}, 1
			if c != nil && c.Width > 0 && c.Content != "" {
				cell, width = p.theme.cell(c), min(c.Width, s.Width-x)
			} else if c != nil {
				cell = p.theme.cell(c)
				cell.Text = " "
			}
			s.Cells = append(s.Cells, cell)
			for i := 1; i < width; i++ {
				half := cell
				half.Text = ""
				s.Cells = append(s.Cells, half)
			}
			x += width
		}
	}
	return s
}
