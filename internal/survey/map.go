package survey

import (
	"fmt"
	"strings"

	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Cell is one cell of the heat map: the effect of losing one node or two.
type Cell struct {
	Name string
	Heat int    // 0: no effect; 1: some pods wait for the node or are not replaced; 2 to 4: the cluster can't spare them, for more pods with each step
	Mark string // as Legend explains it
	Loss *Loss  // nil: the loss has no effect
}

// Mark is a mark of the heat map with its meaning, on the screen as in HTML.
type Mark struct{ Mark, Means string }

// Legend explains the marks of the heat map. The last may stand behind a number.
func (*Report) Legend() []Mark {
	return []Mark{
		{"·", "every pod finds a node"},
		{"~", "some pods wait for their node or are not replaced"},
		{"1", "that many pods get no node or are not created"},
		{"!", "a minimum or budget breaks, or pods are not evicted"},
	}
}

// MapMost is the largest number of workers for which Map returns a heat map.
const MapMost = 120

// mapped reports whether there is a heat map.
func (r *Report) mapped() bool { return r.Pairs > 0 && len(r.Names) <= MapMost }

// known are the losses of nodes and pairs that have an effect, by their names, and those of nodes without one.
func (r *Report) known() map[string]*Loss {
	known := map[string]*Loss{}
	for i := range r.partial {
		known[r.partial[i].Name] = &r.partial[i]
	}
	for i := range r.Losses {
		if l := &r.Losses[i]; l.Sort == Node || l.Sort == Pair {
			known[l.Name] = l
		}
	}
	return known
}

// Map returns the heat map, a row for each node; a cell on the diagonal is the loss of
// one node. It is nil if the survey did not try pairs, or if there are too many nodes.
func (r *Report) Map() [][]Cell {
	if !r.mapped() {
		return nil
	}
	known := r.known()
	var out [][]Cell
	for i, a := range r.Names {
		var row []Cell
		for k, b := range r.Names {
			name := pairName(a, b)
			if k < i {
				name = pairName(b, a)
			} else if k == i {
				name = a
			}
			c := Cell{Name: name, Mark: "·"}
			if l := known[name]; l != nil {
				c.Heat, c.Mark, c.Loss = l.heat(), l.mark(), l
			}
			row = append(row, c)
		}
		out = append(out, row)
	}
	return out
}

// mark is the mark of the loss in the heat map.
func (l *Loss) mark() string {
	out := ""
	if n := (place.Range{Low: l.Homeless.Low + l.Missing.Low, High: l.Homeless.High + l.Missing.High}); n.High > 0 {
		out = n.String()
	}
	if l.Held || len(l.Broken)+len(l.Budgets) > 0 {
		out += "!"
	}
	switch {
	case out != "":
		return out
	case l.Partial():
		return "~"
	}
	return "·"
}

func (l *Loss) heat() int {
	n := l.Homeless.High + l.Missing.High
	if l.Held {
		n += l.Stuck.High
	}
	switch {
	case n == 0 && l.TooMuch():
		return 2
	case l.Partial():
		return 1
	case n == 0:
		return 0
	case n < 3:
		return 2
	case n < 10:
		return 3
	}
	return 4
}

// mapLines draws the heat map with its legend in width cells, or says where it is; 0: there is no limit.
func (r *Report) mapLines(width int) []string {
	rows := [][]string{{""}}
	for i, row := range r.Map() {
		rows[0] = append(rows[0], fmt.Sprint(i+1))
		line := []string{fmt.Sprintf("%d %s", i+1, text.Cells(r.Names[i]))}
		for _, c := range row {
			line = append(line, c.Mark)
		}
		rows = append(rows, append(line, ""))
	}
	if len(rows) == 1 {
		return nil
	}
	lines := text.Columns(rows)
	if width > 0 && text.Width(strings.TrimRight(lines[1], " ")) > width {
		return []string{"The map of the pairs is wider than the terminal: -o html draws it."}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	lines[0] = "PAIRS" + strings.TrimPrefix(lines[0], "     ")
	for _, m := range r.Legend() {
		lines = append(lines, wrapped(m.Mark+"  ", m.Means, width)...)
	}
	return lines
}

// wrapped breaks a clean text behind lead into lines of width cells; 0: there is no limit.
func wrapped(lead, s string, width int) []string {
	if width == 0 {
		return []string{lead + s}
	}
	lines := text.Wrap(s, max(width-text.Width(lead), 10))
	for i := range lines {
		lines[i] = lead + lines[i]
		lead = text.Pad("", text.Width(lead))
	}
	return lines
}
