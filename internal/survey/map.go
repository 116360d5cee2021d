package survey

import (
	"fmt"
	"slices"

	"lightsout/internal/text"
)

// Mark is a mark of the heat map with its meaning, on the screen as in HTML.
type Mark struct{ Mark, Means string }

// Legend explains the marks of the heat map. The last may stand behind a number.
func (*Report) Legend() []Mark {
	return []Mark{
		{"·", "every pod finds a node, or enough pods are left"},
		{"~", "some pods wait for their node or are not replaced"},
		{"1", "that many pods get no node or are not created"},
		{"!", "a minimum or budget breaks, or pods are not evicted"},
	}
}

// MapMost is the largest number of workers for which Map returns a heat map.
const MapMost = 120

// Map returns the heat map, a row for each node; a cell on the diagonal is the loss of
// one node. It is nil if the survey did not try pairs, or if there are too many nodes.
func (r *Report) Map() (out [][]*Loss) {
	if r.Pairs == 0 || len(r.Names) > MapMost {
		return nil
	}
	known := map[string]*Loss{}
	for _, l := range slices.Concat(r.Of(Node), r.Of(Pair)) {
		known[l.Name] = l
	}
	for i, a := range r.Names {
		var row []*Loss
		for k := range r.Names {
			name := pairName(r.Names[min(i, k)], r.Names[max(i, k)])
			if i == k {
				name = a
			}
			row = append(row, known[name])
		}
		out = append(out, row)
	}
	return out
}

// Mark is the mark of the loss in the heat map, as Legend explains it.
func (l *Loss) Mark() (out string) {
	if !l.TooMuch() {
		return map[bool]string{true: "~", false: "·"}[l.Partial()]
	}
	if n := l.Pending.Plus(l.Missing); n.High > 0 {
		out = n.String()
	}
	if l.Held || len(l.Broken)+len(l.Budgets) > 0 {
		out += "!"
	}
	return out
}

// Heat is the colour of the loss in the heat map. 0: no effect; 1: some pods wait for the node or are not
// replaced; 2 to 4: the cluster can't spare the nodes, for more pods with each step.
func (l *Loss) Heat() int {
	if !l.TooMuch() {
		return map[bool]int{true: 1}[l.Partial()]
	}
	step, _ := slices.BinarySearch([]int{2, 9}, l.Pending.High+l.Missing.High)
	return 2 + step
}

// mapLines draws the heat map with its legend in width cells, or says where it is; 0: there is no limit.
func (r *Report) mapLines(width int) []string {
	rows := [][]string{{"PAIRS"}}
	for i, row := range r.Map() {
		rows[0] = append(rows[0], fmt.Sprint(i+1))
		head := []string{fmt.Sprintf("%d %s", i+1, text.Cells(r.Names[i]))}
		rows = append(rows, append(head, text.Each(row, (*Loss).Mark)...))
	}
	if len(rows) == 1 {
		return nil
	}
	lines := text.Columns(rows)
	if width > 0 && text.Width(lines[1]) > width {
		return []string{"The map of the pairs is wider than the terminal: -o html draws it."}
	}
	for _, m := range r.Legend() {
		lines = append(lines, text.Hang(m.Mark+"  "+m.Means, width)...)
	}
	return lines
}
