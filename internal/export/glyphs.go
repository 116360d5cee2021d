package export

import "math"

// mask returns how much of a cell is covered: a value from 0 to 1 for the point
// x, y, both from 0 to 1 in a cell of w by h pixels.
type mask func(x, y, w, h float64) float64

// The sides of a cell that a line of box drawing goes to.
const (
	up = 1 << iota
	right
	down
	left
)

// box is a sign of box drawing: lines from the middle to sides. Heavy ones are
// twice as thick, and dashes cuts them into so many.
type box struct{ sides, heavy, dashes int }

// boxes are box drawing but for the round corners.
var boxes = map[rune]box{
	'─': {sides: left | right}, '│': {sides: up | down}, '╴': {sides: left}, '╵': {sides: up}, '╶': {sides: right}, '╷': {sides: down},
	'┌': {sides: down | right}, '┐': {sides: down | left}, '└': {sides: up | right}, '┘': {sides: up | left},
	'├': {sides: up | down | right}, '┤': {sides: up | down | left}, '┬': {sides: left | right | down}, '┴': {sides: left | right | up},
	'┼': {sides: up | down | left | right}, '┿': {up | down | left | right, left | right, 0},
	'━': {left | right, left | right, 0}, '┃': {up | down, up | down, 0},
	'┏': {down | right, down | right, 0}, '┓': {down | left, down | left, 0}, '┗': {up | right, up | right, 0}, '┛': {up | left, up | left, 0},
	'╌': {left | right, 0, 2}, '┄': {left | right, 0, 3}, '┅': {left | right, left | right, 3}, '┈': {left | right, 0, 4},
	'┊': {up | down, 0, 4}, '┆': {up | down, 0, 3},
}

// corners are the round corners, with the sides that they go to: 1 is right, and
// down.
var corners = map[rune][2]int{'╭': {1, 1}, '╮': {-1, 1}, '╰': {1, -1}, '╯': {-1, -1}}

// rect is a part of a cell, from 0 to 1.
type rect struct{ x0, y0, x1, y1 float64 }

// fills are block elements, and shades those that cover all of a cell in part.
var (
	fills = map[rune][]rect{
		'▀': {{0, 0, 1, 0.5}}, '▐': {{0.5, 0, 1, 1}}, '▚': {{0, 0, 0.5, 0.5}, {0.5, 0.5, 1, 1}},
		'▔': {{0, 0, 1, 0.125}}, '▕': {{0.875, 0, 1, 1}}, '▖': {{0, 0.5, 0.5, 1}}, '▗': {{0.5, 0.5, 1, 1}},
		'⎻': {{0, 0.25, 1, 0.375}}, '⎼': {{0, 0.625, 1, 0.75}},
	}
	shades = map[rune]float64{'░': 0.25, '▒': 0.5, '▓': 0.75}
)

// The patterns of braille: bits 0 to 2 and 6 on the left, 3 to 5 and 7 on the
// right, from above.
const brailleFirst, brailleLast = 0x2800, 0x28ff

var brailleDots = [8][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}

// drawn are the signs that are drawn here: a font may lack them, or have them
// so that lines do not meet.
var drawn = map[rune]mask{}

func init() {
	for i := range 8 { // ▁ to █, and █ to ▏
		part := float64(i+1) / 8
		fills[rune(0x2581+i)] = []rect{{0, 1 - part, 1, 1}}
		fills[rune(0x258f-i)] = []rect{{0, 0, part, 1}}
	}
	for r, b := range boxes {
		drawn[r] = b.mask
	}
	for r, to := range corners {
		drawn[r] = arc(float64(to[0]), float64(to[1]))
	}
	for r, parts := range fills {
		drawn[r] = fill(parts...)
	}
	for r, part := range shades {
		drawn[r] = func(_, _, _, _ float64) float64 { return part }
	}
	for r := rune(brailleFirst); r <= brailleLast; r++ {
		drawn[r] = braille(int(r))
	}
	signs()
}

// thickness of a light line, in pixels.
func thickness(w float64) float64 { return max(1, math.Round(w/8)) }

func (b box) mask(x, y, w, h float64) float64 {
	px, py := (x-0.5)*w, (y-0.5)*h
	for _, side := range []int{up, right, down, left} {
		if b.sides&side == 0 {
			continue
		}
		t := thickness(w) / 2
		if b.heavy&side != 0 {
			t *= 2
		}
		along, across, from := px, py, x
		if side == up || side == down {
			along, across, from = py, px, y
		}
		if side == up || side == left {
			along = -along
		}
		// Off by a little, so that the one pixel in the middle is chosen.
		if along < -t || math.Abs(across+0.01) > t {
			continue
		}
		if part := from * float64(b.dashes); part-math.Floor(part) > 0.6 {
			continue
		}
		return 1
	}
	return 0
}

// arc is a round corner that goes to the side dx (1: right) and dy (1: down).
func arc(dx, dy float64) mask {
	return func(x, y, w, h float64) float64 {
		px, py := (x-0.5)*w*dx, (y-0.5)*h*dy
		t, r := thickness(w)/2, w/2
		switch {
		case px >= r: // straight on to the side
			return cover(t - math.Abs(py))
		case py >= r:
			return cover(t - math.Abs(px))
		case px < -t || py < -t:
			return 0
		}
		return cover(t - math.Abs(math.Hypot(r-px, r-py)-r))
	}
}

// cover is how much of a pixel is covered whose middle lies d inside an edge.
func cover(d float64) float64 { return min(1, max(0, d+0.5)) }

// fill covers parts of a cell.
func fill(parts ...rect) mask {
	return func(x, y, _, _ float64) float64 {
		for _, p := range parts {
			if x >= p.x0 && x < p.x1 && y >= p.y0 && y < p.y1 {
				return 1
			}
		}
		return 0
	}
}

// braille draws the dots of a pattern.
func braille(bits int) mask {
	return func(x, y, w, h float64) float64 {
		best := 0.0
		for bit, at := range brailleDots {
			if bits>>bit&1 == 1 {
				d := math.Hypot((x-0.27-0.46*float64(at[0]))*w, (y-0.14-0.24*float64(at[1]))*h)
				best = max(best, cover(w*0.14-d))
			}
		}
		return best
	}
}

// signs are marks that the screen uses and the font lacks.
func signs() {
	drawn['◌'] = func(x, y, w, h float64) float64 { // a ring of six dots
		dx, dy := (x-0.5)*w, (y-0.5)*h
		if a := (math.Atan2(dy, dx)/(2*math.Pi) + 1) * 6; a-math.Floor(a) > 0.5 {
			return 0
		}
		return cover(thickness(w)*0.6 - math.Abs(math.Hypot(dx, dy)-0.38*w))
	}
	drawn['◆'] = func(x, y, w, h float64) float64 {
		return cover(0.45*w - math.Abs(x-0.5)*w - math.Abs(y-0.5)*h)
	}
	drawn['▸'] = func(x, y, w, h float64) float64 {
		px, py := x*w, math.Abs(y-0.5)*h
		return cover(min(px-0.15*w, 0.42*w-py-(px-0.15*w)*0.6))
	}
	drawn['✓'] = strokes([4]float64{0.1, 0.52, 0.38, 0.7}, [4]float64{0.38, 0.7, 0.92, 0.28})
	drawn['✕'] = strokes([4]float64{0.12, 0.34, 0.88, 0.7}, [4]float64{0.12, 0.7, 0.88, 0.34})
}

// strokes are lines from x0, y0 to x1, y1.
func strokes(all ...[4]float64) mask {
	return func(x, y, w, h float64) float64 {
		best := 0.0
		for _, s := range all {
			ax, ay, bx, by := s[0]*w, s[1]*h, s[2]*w, s[3]*h
			px, py := x*w-ax, y*h-ay
			dx, dy := bx-ax, by-ay
			t := min(1, max(0, (px*dx+py*dy)/(dx*dx+dy*dy)))
			best = max(best, cover(thickness(w)*0.75-math.Hypot(px-t*dx, py-t*dy)))
		}
		return best
	}
}
