package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/norm"

	"lightsout/internal/text"
)

// captionMost bounds a caption, in characters: it stands below the screen.
const captionMost = 200

// Options choose the part and the speed of a film.
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
	// Theme is one of Themes; empty is that of a cast of lightsout, or else the first.
	Theme string
	// Title stands above the screen; empty: no line for it.
	Title string
	// Captions shows the cast's markers below the screen.
	Captions bool
	// Font is the file of a font for letters that the built-in one lacks; empty: none.
	Font string
	// fonts have letters that the built-in one lacks.
	fonts []*sfnt.Font
	// Size is the font's height in pixels, for pictures made of pixels; 0 is 15.
	Size int
}

// Frame is the screen for a while.
type Frame struct {
	// At and Until are film time; before the cut, At is the cast's.
	At, Until time.Duration
	Screen    *Screen
	Caption   string
}

// Screen is a grid of cells. It is immutable, and shares unchanged rows with the screen
// before it.
type Screen struct {
	Width, Height int
	theme         *theme
	rows          [][]Cell
}

// shows reports whether a row of the screen is the beginning of a caption, after a sign.
func (s *Screen) shows(caption string) bool {
	start, _ := text.CutLeft(caption, 30)
	for y := range s.rows {
		sign, rest, _ := strings.Cut(strings.TrimSpace(textOf(s.rows[y])), " ")
		if start != "" && text.Width(sign) == 1 && strings.HasPrefix(rest, start) {
			return true
		}
	}
	return false
}

// Limits of a film's memory: changed cells, of 32 bytes each, and, for a GIF, pixels,
// of one byte each.
const (
	cellsMost  = 16 << 20
	pixelsMost = 512 << 20
)

var errTooLong = errors.New("this film needs more memory than lightsout takes: show less of it (--from, --to), fewer frames (--least 1s), or a smaller screen or font")

// shortest is how long a picture is shown at least: players treat less as slow. lastShown is how long the
// last one is.
const (
	shortest  = 40 * time.Millisecond
	lastShown = 3 * time.Second
)

// Film plays the cast and returns its frames in order, without frames that change
// nothing. It fails if the part is empty, if the film takes too much memory, or if ctx
// ends.
func Film(ctx context.Context, c *Cast, o Options) ([]Frame, error) {
	th := cmp.Or(themeOf(o.Theme), c.theme, &themes[0])
	all, err := play(ctx, c, th, &o)
	if err != nil {
		return nil, err
	}
	return fitted(cut(all, o), th)
}

// play gives the screens of the part of the cast that o chooses, without those that
// show nothing new. It fills in what o leaves open.
func play(ctx context.Context, c *Cast, th *theme, o *Options) (all []Frame, err error) {
	if o.Speed <= 0 {
		o.Speed = 1
	}
	if o.To <= 0 || o.To > maxTime {
		o.To = maxTime
	}
	p := newPlayer(c, th)
	defer p.close()
	caption, own := "", "" // own is the newest that the screen itself has shown
	add := func(at time.Duration) {
		s := p.screen()
		if s.shows(caption) {
			caption, own = "", caption
		}
		below := caption
		if s.shows(own) {
			below = ""
		}
		if n := len(all); n == 0 || !all[n-1].shows(s, below) {
			all = append(all, Frame{At: at, Screen: s, Caption: below})
		}
	}
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
				add(o.From)
			}
		}
		if e.Code == "m" && o.Captions {
			caption = text.Clean(e.Data, captionMost)
		}
		p.take(e)
		if p.kept > cellsMost {
			return nil, errTooLong
		}
		// All output of one moment is one picture.
		if started && (i+1 == len(c.Events) || c.Events[i+1].At-e.At > time.Millisecond) {
			add(e.At)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is nothing to show in this part of the recording")
	}
	return all, nil
}

// cut makes the film of what was played: it plays it faster, and shortens where nothing
// changes.
func cut(all []Frame, o Options) []Frame {
	frames := []Frame{{Screen: all[0].Screen, Caption: all[0].Caption}}
	at, last := time.Duration(0), all[0].At // of the newest picture, in the film and in the cast
	for _, m := range all[1:] {
		f := &frames[len(frames)-1]
		if f.shows(m.Screen, m.Caption) {
			continue
		}
		gap := time.Duration(float64(m.At-last) / o.Speed)
		if o.Idle > 0 {
			gap = min(gap, max(o.Idle, o.Least))
		}
		if gap < max(shortest, o.Least) && f.At > 0 { // takes the place of the one before
			f.Screen, f.Caption = m.Screen, m.Caption
			continue
		}
		at += max(gap, shortest)
		f.Until, last = at, m.At
		frames = append(frames, Frame{At: at, Screen: m.Screen, Caption: m.Caption})
	}
	frames[len(frames)-1].Until = at + lastShown
	return frames
}

// fitted gives all screens the size of the largest.
func fitted(frames []Frame, th *theme) ([]Frame, error) {
	w, h, cells := 0, 0, 0
	for _, f := range frames {
		w, h = max(w, f.Screen.Width), max(h, f.Screen.Height)
	}
	empty := slices.Repeat([]Cell{{Text: " ", Width: 1, Fg: th.fg, Bg: th.bg}}, w)
	for i, f := range frames {
		if f.Screen.Width == w && f.Screen.Height == h {
			continue
		}
		if cells += w * f.Screen.Height; cells > cellsMost {
			return nil, errTooLong
		}
		s := &Screen{Width: w, Height: h, theme: th}
		for y := range h {
			row := empty
			if y < f.Screen.Height {
				row = slices.Concat(f.Screen.rows[y], empty[f.Screen.Width:])
			}
			s.rows = append(s.rows, row)
		}
		frames[i].Screen = s
	}
	return frames, nil
}

// shows reports whether the frame shows nothing else.
func (f *Frame) shows(s *Screen, caption string) bool {
	return f.Caption == caption && f.Screen.Width == s.Width && slices.EqualFunc(f.Screen.rows, s.rows, func(a, b []Cell) bool {
		return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
	})
}

// player is an emulated terminal.
type player struct {
	em      *vt.Emulator
	theme   *theme
	drained chan struct{}
	last    *Screen // the screen before
	scratch []Cell
	kept    int // number of cells in the rows that the film keeps
}

func newPlayer(c *Cast, th *theme) *player {
	p := &player{em: vt.NewEmulator(c.Width, c.Height), theme: th, drained: make(chan struct{})}
	// The emulator repeats as often as a sequence demands, up to a milliard times: drop
	// repetitions beyond the length of a line (REP, CHT, ECH and CBT of ECMA-48).
	for _, final := range "bIXZ" {
		p.em.RegisterCsiHandler(int(final), func(params ansi.Params) bool {
			n, _, _ := params.Param(0, 1)
			return n > p.em.Width()
		})
	}
	// The emulator takes margins beyond the screen (DECSTBM, DECSLRM of a VT510), and then scrolls as
	// many lines as they have: drop them.
	for final, size := range map[rune]func() int{'r': p.em.Height, 's': p.em.Width} {
		p.em.RegisterCsiHandler(int(final), func(params ansi.Params) bool {
			begin, _, _ := params.Param(0, 1)
			end, _, _ := params.Param(1, 1)
			return max(begin, end) > size()
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

// halfMarks has the emulator give the marks of half-width kana a cell of their own, as
// terminals do. (It drops other marks after a letter, so letters are composed before.)
var halfMarks = strings.NewReplacer("ﾞ", "\x00ﾞ", "ﾟ", "\x00ﾟ")

func (p *player) take(e Event) {
	switch e.Code {
	case "o":
		_, _ = p.em.WriteString(halfMarks.Replace(norm.NFC.String(e.Data)))
	case "r":
		var w, h int
		if n, _ := fmt.Sscanf(e.Data, "%dx%d", &w, &h); n == 2 && drawable(w, h) {
			p.em.Resize(w, h)
		}
	}
}

// screen returns the current screen.
func (p *player) screen() *Screen {
	s := &Screen{Width: p.em.Width(), Height: p.em.Height(), theme: p.theme}
	for y := range s.Height {
		row := p.row(y, s.Width)
		if p.last != nil && y < p.last.Height && slices.Equal(p.last.rows[y], row) {
			row = p.last.rows[y]
		} else {
			row = slices.Clone(row)
			p.kept += len(row)
		}
		s.rows = append(s.rows, row)
	}
	p.kept += s.Height // a row that is shared takes about as much as a cell
	p.last = s
	return s
}

// row returns the cells of a row; they are valid until the next call.
func (p *player) row(y, width int) []Cell {
	out := p.scratch[:0]
	for x := 0; x < width; {
		c := p.em.CellAt(x, y)
		cell, w := Cell{Text: " ", Fg: p.theme.fg, Bg: p.theme.bg}, 1
		if c != nil && c.Width > 0 && c.Content != "" {
			cell, w = p.theme.cell(c), min(c.Width, width-x)
		} else if c != nil {
			cell = p.theme.cell(c)
			cell.Text = " "
		}
		out = appendCell(out, cell, w)
		x += w
	}
	p.scratch = out
	return out
}
