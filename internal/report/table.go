package report

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// tone is the emphasis of a cell or a sentence. It only repeats the text: no tone has a
// meaning that the text lacks.
type tone string

const (
	plain   tone = ""
	good    tone = "good"
	bad     tone = "bad"
	warning tone = "warning"
)

// cell is one cell of a table.
type cell struct {
	Text string
	Tone tone
}

// column is the head of a table's column. Figures are set to the right, in
// digits of one width.
type column struct {
	Name    string
	Figures bool
}

// section is a part of a report: sentences, then a table, then items. Any of
// them may be missing. Its texts are clean and not yet escaped.
type section struct {
	ID, Title string
	// Brief is what it comes to, in the opening.
	Brief string
	// Lead are the sentences above the table; Nothing stands in their place where
	// there are neither rows nor items.
	Lead    []cell
	Nothing cell
	Head    []column
	Rows    [][]cell
	// Items are a list of sentences.
	Items []cell
}

// trim removes the columns that are empty.
func (s *section) trim() {
	for i := len(s.Head) - 1; i >= 0; i-- {
		if slices.ContainsFunc(s.Rows, func(row []cell) bool { return row[i].Text != none && row[i].Text != "" }) {
			continue
		}
		s.Head = slices.Delete(s.Head, i, i+1)
		for j := range s.Rows {
			s.Rows[j] = slices.Delete(s.Rows[j], i, i+1)
		}
	}
}

// settled are the sections as they are written, without the empty ones, and without empty columns.
func settled(all []section) (out []section) {
	for _, s := range all {
		if len(s.Rows)+len(s.Items) == 0 && s.Nothing.Text != "" {
			s.Lead = []cell{s.Nothing}
		}
		s.trim()
		if len(s.Lead)+len(s.Rows)+len(s.Items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (s *section) say(t tone, text string) { s.Lead = append(s.Lead, cell{clean(text), t}) }

// columns is the section with columns, those of figures with # before their names.
func (s section) columns(names ...string) section {
	for _, n := range names {
		name, figures := strings.CutPrefix(n, "#")
		s.Head = append(s.Head, column{name, figures})
	}
	return s
}

// row adds a row; its cells are strings, ints or cells.
func (s *section) row(values ...any) { s.Rows = append(s.Rows, text.Each(values, cellOf)) }

// alarm is a cell that is bad on a condition.
func alarm(s string, on bool) cell { return cell{s, map[bool]tone{true: bad}[on]} }

// plainCell is a cell with a text of a record.
func plainCell(s string) cell { return cell{Text: clean(s)} }

func cellOf(v any) cell {
	if c, ok := v.(cell); ok {
		return cell{clean(c.Text), c.Tone}
	}
	return plainCell(fmt.Sprint(v))
}
