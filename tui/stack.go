package tui

// layer is a part of a bar: requests in one state.
type layer int

// The layers, from the axis upwards.
const (
	layerNone    layer = iota
	layerServed        // or answered
	layerStalled       // no bytes arrive
	layerOnDead        // sent to dead nodes
	layerQueued        // waits for a slot
	layerWaiting       // sent and unanswered; lightsout cannot tell whether a pod serves it
	layerUnknown       // queued, or sent to a pod that is gone
	layers
)

// cover is the signs and colours of a layer.
type cover struct {
	look style
	full string // a whole cell
	half string // the lower half of a cell; empty if the theme has no half cells
}

// part is a number of requests in one layer of a bar.
type part struct {
	n  int
	of layer
}

// segment is a part of a column or of a cell, with its height in eighths of a row.
type segment struct {
	of     layer
	height int
}

// eighths returns the height, in eighths of a row, of n requests in a column of this
// many seconds. Bars and lines share it.
func (c *chart) eighths(n, seconds int) int {
	if c.scale.perSecond {
		d := c.top * max(seconds, 1)
		return (2*max(n, 0)*c.rows*8 + d) / (2 * d)
	}
	return (2*max(n, 0)*c.rows*8 + c.top) / (2 * c.top)
}

// stack draws a bar of layers, in eighths of a row. Its height is the sum of the
// layers.
func (c *chart) stack(x int, parts []part, seconds int) {
	if len(parts) == 0 {
		return
	}
	tops, sum, last, grain := [layers]int{}, 0, 0, c.t.grain
	for i, p := range parts {
		sum += p.n
		last = min(max((c.eighths(sum, seconds)+grain/2)/grain*grain, last+grain), c.up*8)
		tops[i] = last
	}
	if c.t.textured {
		c.rowEach(tops[:len(parts)], parts, seconds)
	}
	whole := make([]segment, 0, layers)
	last = 0
	for i, p := range parts {
		whole = append(whole, segment{p.of, tops[i] - last})
		last = tops[i]
	}
	for y := 0; y*8 < last; y++ {
		c.fillCell(c.up-1-y, x, inCell(whole, y*8), whole)
	}
}

// rowEach gives each part rows of its own if there are enough, because a cell has only
// one texture. The height of the bar stays the sum.
func (c *chart) rowEach(tops []int, parts []part, seconds int) {
	n, sum, grain := len(parts), 0, c.t.grain
	for _, p := range parts {
		sum += p.n
	}
	if n > 1 {
		tops[n-1] = max((c.eighths(sum, seconds)+grain/2)/grain*grain, grain)
	}
	rows := (tops[n-1] + 7) / 8
	for i, sum := 0, 0; i < n-1; i++ {
		sum += parts[i].n
		if rows < n {
			tops[i] = min(tops[i], tops[n-1])
			continue
		}
		tops[i] = 8 * max(i+1, min((c.eighths(sum, seconds)+4)/8, rows-(n-1-i)))
	}
}

// inCell returns the part of a column in the eight eighths from the given one, filled
// up with an empty segment.
func inCell(whole []segment, from int) []segment {
	var out []segment
	at, left := 0, 8
	for _, s := range whole {
		if n := min(at+s.height, from+8) - max(at, from); n > 0 {
			out = append(out, segment{s.of, n})
			left -= n
		}
		at += s.height
	}
	if left > 0 {
		out = append(out, segment{layerNone, left})
	}
	return out
}

// fillCell draws a cell in two colours or one texture. If a cell has more layers, it
// first drops those that other cells of the column show; the top of the bar stays in
// place.
func (c *chart) fillCell(y, x int, segments, whole []segment) {
	t := c.t
	if t.textured {
		filled := segments
		if n := len(segments) - 1; segments[n].of == layerNone {
			filled = segments[:n]
		}
		one := merged(filled, whole, 1)[0]
		c.set(y, x, t.texture(one), t.fills[one.of].look)
		c.solid[y*c.w+x] = one.of
		return
	}
	two := merged(segments, whole, 2)
	low, most := two[0], two[0]
	if len(two) == 1 {
		c.set(y, x, t.full, t.fills[low.of].look)
	} else {
		c.set(y, x, t.eighths[low.height], t.pairs[low.of][two[1].of])
		if low.height < 4 {
			most = two[1]
		}
	}
	c.solid[y*c.w+x] = most.of
}

// texture returns the sign for a cell whose lowest segment is s.
func (t *theme) texture(s segment) string {
	f := t.fills[s.of]
	switch {
	case s.height == 8:
		return f.full
	case s.height <= 5 && f.half != "":
		return f.half
	}
	return f.full
}

// merged reduces a cell to at most most segments. The empty part keeps its height.
func merged(segments, whole []segment, most int) []segment {
	height := func(of layer) int {
		for _, s := range whole {
			if s.of == of {
				return s.height
			}
		}
		return 0
	}
	for len(segments) > most {
		gone := -1
		for i, s := range segments {
			if s.of == layerNone {
				continue
			}
			if gone < 0 {
				gone = i
				continue
			}
			only, other := height(s.of) == s.height, height(segments[gone].of) == segments[gone].height
			if !only && other || only == other && s.height < segments[gone].height {
				gone = i
			}
		}
		to := gone - 1
		if to < 0 {
			to = 1
		}
		segments[to].height += segments[gone].height
		segments = append(segments[:gone], segments[gone+1:]...)
	}
	return segments
}
