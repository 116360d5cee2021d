package report

import (
	"fmt"
	"html"

	"lightsout/internal/text"
)

// The measures of a picture of racks, in its own units.
const (
	rackWidth   = 104.0
	rackGap     = 10.0
	rackColumns = 3
	rackHead    = 30.0
	tileSize    = 10.0
	tileStep    = 13.0
	tilesInRow  = 7
	tilesMost   = 28 // of a rack; more are counted
	racksMost   = 18 // more nodes are a tile each
	nodesInRow  = 24
	nodesMost   = 2000
)

// drawRacks draws a moment: each node a rack of tiles, or, where there are
// many, a tile.
func drawRacks(m moment) string {
	c := &canvas{}
	width, height := 0.0, 0.0
	if len(m.racks) > racksMost {
		width, height = c.nodeTiles(m.racks)
	} else {
		width, height = c.racks(m.racks)
	}
	return fmt.Sprintf(`<svg class="racks" viewBox="0 0 %s %s" style="max-width:%spx" role="img" aria-label="%s">%s</svg>`,
		num(width), num(height), num(width*1.15), html.EscapeString(describeRacks(m)), c.body.String())
}

func (c *canvas) racks(racks []rack) (width, height float64) {
	columns := min(len(racks), rackColumns)
	y := 1.0
	for i := 0; i < len(racks); i += columns {
		row := racks[i:min(i+columns, len(racks))]
		tall := 1
		for _, k := range row {
			tall = max(tall, (min(len(k.tiles), tilesMost)+tilesInRow-1)/tilesInRow)
		}
		h := rackHead + float64(tall)*tileStep + 4
		for j, k := range row {
			c.rack(k, box{1 + float64(j)*(rackWidth+rackGap), y, rackWidth, h})
		}
		y += h + rackGap
	}
	return float64(columns)*(rackWidth+rackGap) - rackGap + 2, y - rackGap + 1
}

func (c *canvas) rack(k rack, b box) {
	name, class, word := brief(clean(k.name), 15), "rack", clean(k.word)
	switch k.look {
	case rackOff:
		class, word = "rack rack-off", "off, "+word
	case rackNotReady:
		class = "rack rack-notready"
	case rackNone:
		class, name = "rack rack-none", "(no node)"
	}
	c.printf(`<g><title>%s</title>`, html.EscapeString(clean(k.name+" "+word)))
	c.rect(class, b)
	c.text("label small name", b.x+6, b.y+13, "start", name)
	c.text("label tiny soft", b.x+6, b.y+24, "start", text.Clean(word, 19))
	for i, x := range k.tiles {
		at := box{b.x + 6 + float64(i%tilesInRow)*tileStep, b.y + rackHead + float64(i/tilesInRow)*tileStep, tileSize, tileSize}
		if i == tilesMost-1 && len(k.tiles) > tilesMost {
			c.text("label tiny", at.x-1, at.y+8.5, "start", fmt.Sprintf("+%d", len(k.tiles)-i))
			break
		}
		c.tile(x, at)
	}
	c.printf(`</g>`)
}

// tile draws a pod: shape and colour show its state.
func (c *canvas) tile(x tile, b box) {
	c.rect(map[tile]string{tileReady: "pod-ready", tileWaiting: "pod-waiting", tileEnding: "pod-ending", tileLost: "pod-lost"}[x], b)
	if x == tileEnding || x == tileLost {
		c.line("pod-cross", b.x+1.5, b.y+b.h-1.5, b.x+b.w-1.5, b.y+1.5)
	}
	if x == tileLost {
		c.line("pod-cross", b.x+1.5, b.y+1.5, b.x+b.w-1.5, b.y+b.h-1.5)
	}
}

// nodeTiles draws a tile for each node.
func (c *canvas) nodeTiles(racks []rack) (width, height float64) {
	n := 0
	for _, k := range racks {
		if k.look == rackNone || n == nodesMost {
			continue
		}
		b := box{1 + float64(n%nodesInRow)*tileStep, 1 + float64(n/nodesInRow)*tileStep, tileSize, tileSize}
		switch k.look {
		case rackReady:
			c.tile(tileReady, b)
		case rackOff:
			c.rect("off", b)
		default:
			c.tile(tileLost, b)
		}
		n++
	}
	y := 1 + float64((n+nodesInRow-1)/nodesInRow)*tileStep + 12
	c.text("label small soft", 1, y, "start", fmt.Sprintf("%s, a tile each", text.Count(len(racks), "node", "nodes")))
	return nodesInRow*tileStep + 2, y + 4
}

// racksKey explains the signs.
func racksKey() string {
	c := &canvas{}
	x := 1.0
	for _, s := range []struct {
		kind tile
		text string
	}{{tileReady, "pod ready"}, {tileWaiting, "not ready"}, {tileEnding, "terminating"}, {tileLost, "lost: its node is silent and not Ready, or deleted"}} {
		c.tile(s.kind, box{x, 2, tileSize, tileSize})
		c.text("label small", x+15, 10.5, "start", s.text)
		x += 15 + textWidth(s.text) + 8
	}
	return fmt.Sprintf(`<svg class="racks key" viewBox="0 0 %s 15" style="max-width:%[1]spx" aria-hidden="true">%s</svg>`, num(x), c.body.String())
}
