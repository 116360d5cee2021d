package report

import (
	"strings"

	"lightsout/internal/text"
)

// grid sets rows of text in columns for a terminal of one font width.
type grid struct {
	head []string
	rows [][]string
	// right are the columns that are set to the right.
	right map[int]bool
}

// all are the rows with the head.
func (g *grid) all() [][]string { return append([][]string{g.head}, g.rows...) }

// widths are those of the columns, and that of a whole line.
func (g *grid) widths() (columns []int, line int) {
	columns, line = make([]int, len(g.head)), -2
	for i := range g.head {
		for _, row := range g.all() {
			columns[i] = max(columns[i], text.Width(row[i]))
		}
		line += columns[i] + 2
	}
	return columns, line
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// gridOf sets the table of a section.
func gridOf(s section) *grid {
	g := &grid{right: map[int]bool{}}
	for i, h := range s.Head {
		g.head = append(g.head, h.Name)
		g.right[i] = h.Figures
	}
	for _, row := range s.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		g.add(cells...)
	}
	return g
}

func (g *grid) line(row []string, widths []int, most int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(widths[i]-text.Width(c), 0))
		if g.right[i] {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	return text.Fit(strings.TrimRight(b.String(), " "), most, "…")
}
