package export

import (
	"strings"

	"lightsout/internal/text"
)

// Cell is one cell. The second half of a wide character is a Cell without Text.
type Cell struct {
	Text            string // a character with its marks
	Width           uint8  // the cells that it takes: 2 for a wide character, 0 for its second half
	Fg, Bg          Colour
	Bold, Underline bool
}

// appendCell appends a character that takes w cells.
func appendCell(row []Cell, c Cell, w int) []Cell {
	c.Width = uint8(w)
	row = append(row, c)
	for c.Text, c.Width = "", 0; w > 1; w-- {
		row = append(row, c)
	}
	return row
}

// lineOf sets a text from outside in one row of at most w cells.
func lineOf(s string, w int, look Cell) (row []Cell) {
	last := 0 // the cell of the last character, on which marks sit
	for _, r := range text.Fit(text.Clean(s, captionMost), w, "…") {
		n := text.Width(string(r))
		if n == 0 && len(row) > 0 {
			row[last].Text += string(r)
			continue
		}
		look.Text, last = string(r), len(row)
		row = appendCell(row, look, max(n, 1))
	}
	return row
}

// textOf joins the texts of cells.
func textOf(cells []Cell) string {
	return strings.Join(text.Each(cells, func(c Cell) string { return c.Text }), "")
}
