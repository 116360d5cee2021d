package report

import (
	"io"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// Text writes what report.md says for a screen of so many columns, without
// colours or control characters. The error is the writer's.
func Text(w io.Writer, r *record.Record, columns int) error {
	var b strings.Builder
	line := func(indent, s string) {
		for i, part := range text.Wrap(s, max(20, columns-len(indent))) {
			if i > 0 {
				indent = strings.Repeat(" ", len(indent))
			}
			b.WriteString(indent + part + "\n")
		}
	}
	p := pageOf(r)
	line("", p.Title+": "+p.Verdict.Text)
	for _, l := range p.Loud {
		line("! ", l.Text)
	}
	for _, why := range p.Why {
		line("- ", why)
	}
	b.WriteString("\n")
	if p.About != "" {
		line("", p.About)
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(gridOf(p.Facts).within(columns), "\n") + "\n")
	for _, s := range p.Sections {
		b.WriteString("\n" + s.Title + "\n" + strings.Repeat("═", text.Width(s.Title)) + "\n")
		for _, l := range s.Lead {
			line("", l.Text)
		}
		if len(s.Rows) > 0 {
			for _, l := range gridOf(s).within(columns) {
				b.WriteString(l + "\n")
			}
		}
		for _, l := range s.Items {
			line("- ", l.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leastColumn is how narrow a column of text may become where it is broken into
// lines.
const leastColumn = 16

// within sets the grid in so many columns and loses nothing: cells are broken
// into lines, and where that does not do, rows become lists of names and values.
func (g *grid) within(columns int) []string {
	widths, need := g.widths()
	for ; need > columns; need-- {
		most := -1
		for i, w := range widths {
			if !g.right[i] && w > leastColumn && (most < 0 || w > widths[most]) {
				most = i
			}
		}
		if most < 0 {
			return g.listed(columns)
		}
		widths[most]--
	}
	var out []string
	for n, row := range g.all() {
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
			out = append(out, g.line(cells, widths, columns))
		}
		if n == 0 {
			out = append(out, strings.Repeat("─", need))
		}
	}
	return out
}

// listed sets each row as its first cell, and below it what the others are.
func (g *grid) listed(columns int) []string {
	var out []string
	for _, row := range g.rows {
		var rest []string
		for i, c := range row[1:] {
			if c != "" && c != none {
				rest = append(rest, g.head[i+1]+" "+c)
			}
		}
		out = append(out, row[0])
		for _, l := range text.Wrap(strings.Join(rest, " · "), max(20, columns-3)) {
			out = append(out, "   "+l)
		}
	}
	return out
}
