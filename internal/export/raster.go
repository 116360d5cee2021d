package export

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// pair is the colour of a text and of its background.
type pair struct{ fg, bg Colour }

// raster draws cells as pixels of a palette: for each pair of colours the
// shades between them. One goroutine may use it.
type raster struct {
	w, h    int // of a cell, in pixels
	ascent  int
	size    float64      // of letters, in pixels
	more    []*sfnt.Font // for letters that the built-in fonts lack
	faces   map[*sfnt.Font]font.Face
	shades  int
	pairs   map[pair]int // the first index of their shades
	palette color.Palette
	clear   uint8 // the index of unchanged pixels
	glyphs  map[glyph][]uint8
}

type glyph struct {
	text            string
	bold, underline bool
}

// newRaster makes a raster for the colours that the frames have.
func newRaster(frames []Frame, o Options) (*raster, error) {
	size := cmp.Or(o.Size, 15)
	if size < 6 || size > 64 {
		return nil, fmt.Errorf("the font's size is from 6 to 64 pixels, not %d", size)
	}
	r := &raster{size: float64(size), more: o.fonts, faces: map[*sfnt.Font]font.Face{}, pairs: map[pair]int{}, glyphs: map[glyph][]uint8{}}
	face := newFace(builtin[0], r.size)
	advance, _ := face.GlyphAdvance('0')
	m := face.Metrics()
	r.w, r.h, r.ascent = advance.Round(), (m.Ascent+m.Descent).Ceil()+1, m.Ascent.Ceil()
	var order []pair
	add := func(p pair) {
		if _, seen := r.pairs[p]; !seen {
			r.pairs[p] = 0
			order = append(order, p)
		}
	}
	th := frames[0].Screen.theme
	add(pair{th.fg, th.bg}) // of the title and the captions
	for _, f := range frames {
		for _, row := range f.Screen.rows {
			for _, c := range row {
				add(pair{c.Fg, c.Bg})
			}
		}
	}
	r.shades = max(2, min(8, 255/max(1, len(order))))
	for _, p := range order {
		if len(r.palette)+r.shades > 255 { // more colours than a GIF can have: the nearest pair
			r.pairs[p] = r.pairs[order[0]]
			continue
		}
		r.pairs[p] = len(r.palette)
		for i := range r.shades {
			r.palette = append(r.palette, mix(p.fg, p.bg, i, r.shades-1).rgba())
		}
	}
	// Unchanged pixels need no drawing.
	r.clear = uint8(len(r.palette))
	r.palette = append(r.palette, color.RGBA{})
	return r, nil
}

// draw draws a cell at x, y in pixels; nothing for the second half of a character.
func (r *raster) draw(img *image.Paletted, x, y int, c Cell) {
	base, w := r.pairs[pair{c.Fg, c.Bg}], r.w*int(c.Width)
	m := r.glyph(glyph{c.Text, c.Bold, c.Underline}, w)
	for j := range r.h {
		row := img.Pix[img.PixOffset(x, y+j):]
		for i := range w {
			if x+i < img.Rect.Max.X {
				row[i] = uint8(base + int(m[j*w+i])*(r.shades-1)/255)
			}
		}
	}
}

// glyph gives how much of each pixel of a character is covered, from 0 to 255; it is w
// pixels wide.
func (r *raster) glyph(g glyph, w int) []uint8 {
	if m, ok := r.glyphs[g]; ok {
		return m
	}
	m := make([]uint8, w*r.h)
	first, _ := utf8.DecodeRuneInString(g.text)
	if f, ok := drawn[first]; ok {
		for j := range r.h {
			for i := range w {
				v := f((float64(i)+0.5)/float64(w), (float64(j)+0.5)/float64(r.h), float64(w), float64(r.h))
				m[j*w+i] = uint8(math.Round(v * 255))
			}
		}
	} else if g.text != " " && g.text != "" {
		r.letter(m, w, g)
	}
	if g.underline {
		for i := range w {
			m[min(r.ascent+1, r.h-1)*w+i] = 255
		}
	}
	r.glyphs[g] = m
	return m
}

// letter draws a character by the first font that has it, and its marks over it.
func (r *raster) letter(m []uint8, w int, g glyph) {
	dst := &image.Alpha{Pix: m, Stride: w, Rect: image.Rect(0, 0, w, r.h)}
	for i, letter := range norm.NFC.String(g.text) {
		if i > 0 && !unicode.In(letter, unicode.Mn, unicode.Me) {
			continue // a part of an emoji
		}
		face := r.faceOf(letter, g.bold, w)
		advance, _ := face.GlyphAdvance(letter)
		if i > 0 { // a mark: in the middle, wherever its font has it
			b, _, _ := face.GlyphBounds(letter)
			advance = b.Min.X + b.Max.X
		}
		d := font.Drawer{Dst: dst, Src: image.NewUniform(color.Alpha{255}), Face: face, Dot: fixed.P(0, r.ascent)}
		d.Dot.X = (fixed.I(w) - advance) / 2
		d.DrawString(string(letter))
	}
}
