package report

import (
	"strings"

	"lightsout/internal/text"
)

// grid is the table as texts, the head first.
func (s section) grid() [][]string {
	out := make([][]string, len(s.Rows)+1)
	out[0] = text.Each(s.Head, func(h column) string { return h.Name })
	for i, row := range s.Rows {
		out[i+1] = text.Each(row, func(c cell) string { return c.Text })
	}
	return out
}

// widths are those of the table's columns on a terminal, and that of a whole line.
func (s section) widths() (columns []int, line int) {
	columns, line = make([]int, len(s.Head)), -2
	for _, row := range s.grid() {
		for i, c := range row {
			columns[i] = max(columns[i], text.Width(c))
		}
	}
	for _, w := range columns {
		line += w + 2
	}
	return columns, line
}

// line sets texts in columns.
func (s section) line(row []string, widths []int, most int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		if s.Head[i].Figures {
			c = text.Pad("", widths[i]-text.Width(c)) + c
		}
		b.WriteString(text.Pad(c, widths[i]))
	}
	return text.Fit(strings.TrimRight(b.String(), " "), most, "…")
}

// leastColumn is how narrow a column of text may become where it is broken into
// lines.
const leastColumn = 16

// within sets the table in so many columns and loses nothing: cells are broken
// into lines, and where that does not do, rows become lists of names and values.
func (s section) within(columns int) []string {
	widths, need := s.widths()
	for ; need > columns; need-- {
		most := -1
		for i, w := range widths {
			if !s.Head[i].Figures && w > leastColumn && (most < 0 || w > widths[most]) {
				most = i
			}
		}
		if most < 0 {
			return s.listed(columns)
		}
		widths[most]--
	}
	var out []string
	for n, row := range s.grid() {
		parts, height := make([][]string, len(row)), 1
		for i, c := range row {
			parts[i] = text.Wrap(c, widths[i])
			height = max(height, len(parts[i]))
		}
		for y := range height {
			cells := make([]string, len(row))
			for i := range row {
				if y < len(parts[i]) {
					cells[i] = parts[i][y]
				}
			}
			out = append(out, s.line(cells, widths, columns))
		}
		if n == 0 {
			out = append(out, strings.Repeat("─", need))
		}
	}
	return out
}

// listed formats each row as its first cell, with the other cells below it.
func (s section) listed(columns int) []string {
	var out []string
	for _, row := range s.grid()[1:] {
		var rest []string
		for i, c := range row[1:] {
			if c != "" && c != none {
				rest = append(rest, s.Head[i+1].Name+" "+c)
			}
		}
		out = append(append(out, row[0]), text.Each(text.Wrap(strings.Join(rest, " · "), max(20, columns-3)), func(l string) string { return "   " + l })...)
	}
	return out
}
