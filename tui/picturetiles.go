package tui

import (
	"fmt"

	"lightsout/cluster"
)

// nodeLineWidth is the width of a node drawn as a line.
const nodeLineWidth = 26

// lineColumns gives how many columns of lines n nodes need; 0 when they have no
// room.
func lineColumns(w, h, n int) int {
	if c := (n + h - 1) / h; c*nodeLineWidth <= w {
		return c
	}
	return 0
}

// nodeLines draws each node as a line: its sign, its name, its pods as dots.
func (p *picturePane) nodeLines(s *scene, w, h int, active bool) []string {
	t := s.t
	c := lineColumns(w, h, len(p.rows))
	wide := w / c
	var out []string
	for y := range h {
		r := newRow(w)
		for x := range c {
			i := x*h + y
			if i >= len(p.rows) {
				break
			}
			n := p.rows[i]
			r.lead(t, i == p.at, active, p.moved)
			sign, st := nodeSign(s, n)
			look := st
			if st == t.good {
				look = ""
			}
			if s.marks[n.Name] {
				sign, st = t.mark, t.fresh
			}
			r.put(st, sign).space(1)
			name := max(8, wide-17)
			text := middle(t.text(n.Name), name, t.ellipsis)
			r.put(look, text).space(name - width(text) + 1)
			dots := podDots(s, n)
			spans := dots.form(spansWidth(dots.form(false)) > wide-name-5)
			r.space(wide - name - 4 - r.spans(t, spans, wide-name-5, fit))
		}
		out = append(out, r.String())
	}
	return out
}

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
