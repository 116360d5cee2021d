package export

import (
	"image"
	"image/gif"
	"image/png"
	"io"
	"sort"
	"time"
)

// canvas is a picture of a film: margin, title, screen and caption.
type canvas struct {
	r          *raster
	th         *theme
	cols, rows int
	captions   bool
	top        int // rows above the screen
	shown      *Screen
	caption    string
	img        *image.Paletted
}

func newCanvas(frames []Frame, o Options) (*canvas, error) {
	th := frames[0].Screen.theme
	r, err := newRaster(frames, o)
	if err != nil {
		return nil, err
	}
	s := frames[0].Screen
	c := &canvas{r: r, th: th, cols: s.Width, rows: s.Height, captions: o.Captions}
	h := s.Height + 1
	if o.Title != "" {
		c.top = 1
		h++
	}
	if o.Captions {
		h += 2
	}
	width, height := (s.Width+2)*r.w, h*r.h
	c.img = image.NewPaletted(image.Rect(0, 0, width+width%2, height+height%2), r.palette) // encoders of videos refuse odd sizes
	if c.top > 0 {
		c.text(0, o.Title, Cell{Fg: th.fg, Bg: th.bg, Bold: true})
	}
	return c, nil
}

// text writes a whole line, cut at the margin.
func (c *canvas) text(row int, s string, style Cell) {
	cells := lineOf(s, c.cols, style)
	for style.Text = " "; len(cells) < c.cols; {
		cells = appendCell(cells, style, 1)
	}
	for x, cell := range cells {
		c.r.draw(c.img, (x+1)*c.r.w, row*c.r.h+c.r.h/4, cell)
	}
}

// show draws the cells that differ from those shown, and returns the rectangle that
// has changed; empty if none has.
func (c *canvas) show(f Frame) (dirty image.Rectangle) {
	for y := range c.rows {
		for x, cell := range f.Screen.rows[y] {
			if cell.Width == 0 || c.shown != nil && c.shown.rows[y][x] == cell {
				continue
			}
			px, py := (x+1)*c.r.w, (y+c.top)*c.r.h+c.r.h/2
			c.r.draw(c.img, px, py, cell)
			dirty = dirty.Union(image.Rect(px, py, px+c.r.w*int(cell.Width), py+c.r.h))
		}
	}
	if c.captions && (c.shown == nil || f.Caption != c.caption) {
		row := c.top + c.rows + 1
		c.text(row, f.Caption, Cell{Fg: c.th.fg, Bg: c.th.bg, Bold: true})
		dirty = dirty.Union(image.Rect(0, row*c.r.h, c.img.Rect.Max.X, c.img.Rect.Max.Y))
	}
	if c.shown == nil {
		dirty = c.img.Rect
	}
	c.shown, c.caption = f.Screen, f.Caption
	return dirty.Intersect(c.img.Rect)
}

// GIF writes the frames as an animated GIF that repeats for ever. Each picture
// holds only the rectangle that has changed.
func GIF(w io.Writer, frames []Frame, o Options) error {
	c, err := newCanvas(frames, o)
	if err != nil {
		return err
	}
	out := &gif.GIF{Config: image.Config{ColorModel: c.r.palette, Width: c.img.Rect.Dx(), Height: c.img.Rect.Dy()}}
	const tick = 10 * time.Millisecond
	written := time.Duration(0) // what the delays so far sum up to
	pixels := 0
	before := make([]uint8, len(c.img.Pix))
	for i, f := range frames {
		dirty := c.show(f)
		if dirty.Empty() {
			dirty = image.Rect(0, 0, 1, 1)
		}
		if pixels += dirty.Dx() * dirty.Dy(); pixels > pixelsMost {
			return errTooLong
		}
		part := image.NewPaletted(dirty, c.r.palette)
		for y := dirty.Min.Y; y < dirty.Max.Y; y++ {
			for x := dirty.Min.X; x < dirty.Max.X; x++ {
				at := c.img.PixOffset(x, y)
				pix := c.img.Pix[at]
				if i > 0 && pix == before[at] {
					pix = c.r.clear
				}
				part.Pix[part.PixOffset(x, y)] = pix
			}
		}
		copy(before, c.img.Pix)
		delay := max(2, int((f.Until-written+tick/2)/tick))
		written += time.Duration(delay) * tick
		out.Image = append(out.Image, part)
		out.Delay = append(out.Delay, delay)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	return gif.EncodeAll(w, out)
}

// PNG writes the picture that is shown at a moment of film time; one after the
// end gives the last.
func PNG(w io.Writer, frames []Frame, at time.Duration, o Options) error {
	c, err := newCanvas(frames, o)
	if err != nil {
		return err
	}
	after := sort.Search(len(frames), func(i int) bool { return frames[i].At > at })
	c.show(frames[max(after-1, 0)])
	return png.Encode(w, c.img)
}
