package tui

import (
	"fmt"
)

// tiles draws each node as a tile of two cells, or of one.
func (p *picturePane) tiles(s *scene, w, h int, active bool) []string {
	t := s.t
	label := 14 * btoi(w >= 60)
	h-- // the last line explains the tiles
	room := w - label - 2
	cell := 2
	if room/2*h < len(p.rows) {
		cell = 1
	}
	side := room / cell
	var out []string
	for from := 0; from < len(p.rows) && len(out) < h; from += side {
		r := newRow(w).space(1)
		if label > 0 {
			r.cell(t, t.dim, middle(t.text(p.rows[from].Name), label-1, t.ellipsis), label)
		}
		for i, n := range p.rows[from:min(from+side, len(p.rows))] {
			sign, look := nodeSign(s, n)
			if s.marks[n.Name] {
				sign, look = t.mark, t.fresh
			}
			look = t.tile(look)
			if active && p.at == from+i && p.moved {
				look = t.active
			}
			r.put(look, sign+blank(cell-1))
		}
		out = append(out, r.String())
	}
	out = fill(out, w, h)
	text := "a tile is a node"
	if hidden := len(p.rows) - side*h; hidden > 0 {
		text += fmt.Sprintf("; %d more have no room", hidden)
	}
	if n, ok := p.selected(); ok && p.moved {
		text += "; here: " + t.text(n.Name) + " " + t.text(s.snap.NodeWord(n, s.now))
	}
	return append(out, textLine(t, w, 1, t.dim, text))
}
