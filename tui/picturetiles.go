package tui

import (
	"fmt"

	"lightsout/cluster"
)

// tiles draws each node as a tile of two cells, or of one, or several as one:
// then it shows the worst of them.
func (p *picturePane) tiles(s *scene, w, h int, active bool) []string {
	t := s.t
	label := 14 * btoi(w >= 60)
	h-- // the last line explains the tiles
	room := w - label - 2
	cell, each := 2, 1
	if room/2*h < len(p.rows) {
		cell = 1
	}
	if n := room / cell * h; n < len(p.rows) {
		each = (len(p.rows) + n - 1) / n
	}
	side := room / cell
	var out []string
	for from := 0; from < len(p.rows); from += side * each {
		r := newRow(w).space(1)
		if label > 0 {
			r.cell(t, t.dim, middle(t.text(p.rows[from].Name), label-1, t.ellipsis), label)
		}
		for x := range side {
			first := from + x*each
			if first >= len(p.rows) {
				break
			}
			last := min(first+each, len(p.rows))
			sign, look := worst(s, p.rows[first:last])
			if active && p.at >= first && p.at < last && p.moved {
				look = t.active
			}
			r.put(look, sign+blank(cell-1))
		}
		out = append(out, r.String())
	}
	out = fill(out, w, h)
	text := "a tile is a node"
	if each > 1 {
		text = fmt.Sprintf("a tile is %d nodes, and shows the worst of them", each)
	}
	if n, ok := p.selected(); ok && p.moved {
		text += "; here: " + t.text(n.Name) + " " + t.text(s.snap.NodeWord(n, s.now))
	}
	return append(out, textLine(t, w, 1, t.dim, text))
}

// worst is the sign and look of the worst of nodes.
func worst(s *scene, nodes []*cluster.Node) (sign string, look style) {
	t, rank := s.t, troubles
	for _, n := range nodes {
		if now := nodeTrouble(s, n); now < rank {
			rank = now
			sign, look = nodeSign(s, n)
		}
		if s.marks[n.Name] && rank > 1 {
			sign, look, rank = t.mark, t.fresh, 1
		}
	}
	return sign, t.tile(look)
}
