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
}

// part is a number of requests in one layer of a bar.
type part struct {
	n  int
	of layer
}

// eighths returns the height, in eighths of a row, of n requests in a column of this
// many seconds. Bars and lines share it.
func (c *chart) eighths(n, seconds int) int {
	all := c.scale.top * max(seconds, 1)
	return (2*max(n, 0)*c.up*8 + all) / (2 * all)
}

// stack draws a bar of layers. Its height is the sum of the layers; each layer has whole
// rows of its own if there are enough.
func (c *chart) stack(x int, parts []part, seconds int) {
	sum, grain := 0, 1 // a bar's height is a multiple of this many eighths
	if c.t.textured {
		grain = 8
	}
	for _, p := range parts {
		sum += p.n
	}
	height := min(max((c.eighths(sum, seconds)+grain/2)/grain*grain, grain), c.up*8)
	rows, y := (height+7)/8, 0
	sum = 0
	for i, p := range parts {
		sum += p.n
		to := max(y+1, min((c.eighths(sum, seconds)+4)/8, rows-(len(parts)-1-i)))
		if i == len(parts)-1 {
			to = rows
		}
		for ; y < min(to, rows); y++ {
			sign := c.t.fills[p.of].full
			if full := height - y*8; full < 8 {
				sign = c.t.eighths[full]
			}
			c.set(c.up-1-y, x, sign, c.t.fills[p.of].look)
			c.solid[(c.up-1-y)*c.w+x] = p.of
		}
	}
}
