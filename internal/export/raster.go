package export

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// pair is the colour of a text and of its background.
type pair struct{ fg, bg Colour }

// raster draws cells as pixels of a palette: for each pair of colours the
// shades between them. One goroutine may use it.
type raster struct {
	w, h    int // of a cell, in pixels
	ascent  int
	faces   [2]font.Face // regular and bold
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
func newRaster(frames []Frame, extra []pair, size int) (*raster, error) {
	if size = cmp.Or(size, 15); size < 6 || size > 64 {
		return nil, fmt.Errorf("the font's size is from 6 to 64 pixels, not %d", size)
	}
	r := &raster{pairs: map[pair]int{}, glyphs: map[glyph][]uint8{}}
	for i, ttf := range [][]byte{gomono.TTF, gomonobold.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			return nil, err
		}
		r.faces[i], err = opentype.NewFace(f, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingFull})
		if err != nil {
			return nil, err
		}
	}
	advance, _ := r.faces[0].GlyphAdvance('0')
	m := r.faces[0].Metrics()
	r.w, r.h, r.ascent = advance.Round(), (m.Ascent+m.Descent).Ceil()+1, m.Ascent.Ceil()
	var order []pair
	add := func(p pair) {
		if _, seen := r.pairs[p]; !seen {
			r.pairs[p] = 0
			order = append(order, p)
		}
	}
	for _, p := range extra {
		add(p)
	}
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

// draw draws a cell at x, y in pixels.
func (r *raster) draw(img *image.Paletted, x, y int, c Cell) {
	base := r.pairs[pair{c.Fg, c.Bg}]
	cells := max(1, runeWidth(c.Text))
	m := r.glyph(glyph{c.Text, c.Bold, c.Underline}, cells)
	w := r.w * cells
	for j := range r.h {
		row := img.Pix[img.PixOffset(x, y+j):]
		for i := range w {
			if x+i < img.Rect.Max.X {
				row[i] = uint8(base + int(m[j*w+i])*(r.shades-1)/255)
			}
		}
	}
}

// glyph gives how much of each pixel of a cell is covered, from 0 to 255.
func (r *raster) glyph(g glyph, cells int) []uint8 {
	if m, ok := r.glyphs[g]; ok {
		return m
	}
	w := r.w * cells
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

// letter draws text by the font.
func (r *raster) letter(m []uint8, w int, g glyph) {
	face := r.faces[0]
	if g.bold {
		face = r.faces[1]
	}
	dst := &image.Alpha{Pix: m, Stride: w, Rect: image.Rect(0, 0, w, r.h)}
	d := font.Drawer{Dst: dst, Src: image.NewUniform(color.Alpha{255}), Face: face, Dot: fixed.P(0, r.ascent)}
	d.DrawString(g.text)
}
