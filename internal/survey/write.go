package survey

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/cluster/forecast"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// Formats that Write accepts.
const (
	Table = "table"
	JSON  = "json"
	HTML  = "html"
)

// Formats lists them.
var Formats = []string{Table, JSON, HTML}

// Write writes the report in a format. A table fits a terminal of width cells; 0: nobody sees it on a
// terminal, and each loss is one line.
func (r *Report) Write(w io.Writer, format string, width int) error {
	switch format {
	case JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Headline []string `json:"headline"`
			*Report
		}{r.Headline(remediesTried), r})
	case HTML:
		return page.Execute(w, r)
	}
	_, err := fmt.Fprintln(w, strings.Join(r.Lines(width), "\n"))
	return err
}

// columns are the headers of the printed table.
var columns = []string{"WITHOUT", "SPARE", "NO NODE", "NOT CREATED", "STUCK", "NOT REPLACED", "PREEMPTED", "BROKEN", "WHY"}

// Cells returns the cells of a loss, below Columns. The names of a file may be anything: none harms a terminal.
func (l *Loss) Cells() []string {
	name := l.Name
	if l.Sort != Node && l.Sort != Pair {
		name = fmt.Sprintf("%s %s (%s)", l.Sort, l.Name, text.Count(len(l.Nodes), "node", "nodes"))
	}
	dash := func(s string) string { return cmp.Or(map[string]string{"0": "-"}[s], s) }
	return []string{
		text.Cells(name), l.Spare(), dash(l.Pending.String()), dash(l.Missing.String()), dash(l.Stuck.String()), dash(l.unreplaced().String()),
		dash(l.Preempted.String()), dash(fmt.Sprint(len(l.Broken) + len(l.Budgets))), text.Cells(l.Why()),
	}
}

// unreplaced counts the pods that no controller is known to replace, and those of Jobs that
// fail.
func (l *Loss) unreplaced() place.Range {
	return l.Orphans.Plus(l.Over)
}

// Why is the problem with the loss in one line; empty without one.
func (l *Loss) Why() string { return text.Clean(strings.Join(l.reasons(), "; "), 6000) }

// reasons are the problems with the loss, the worst first.
func (l *Loss) reasons() []string {
	why := slices.Concat(map[bool][]string{true: {l.Rule}}[l.Held], l.Broken, l.Budgets)
	for _, w := range l.Workloads {
		left := fmt.Sprintf("%s: %v of %d left%s%s, ", w.Key, w.After, w.Wanted, w.Already(), map[bool]string{true: " (enough)"}[w.enough()])
		if w.Least < w.After.Low {
			left += fmt.Sprintf("%d until replaced, ", w.Least)
		}
		if w.Slots > 0 {
			slots := place.Range{Low: w.After.Low * w.Slots, High: w.After.High * w.Slots}
			left += fmt.Sprintf("capacity %v of %d, ", slots, w.Wanted*w.Slots)
		}
		why = append(why, left+w.away())
	}
	why = append(why, text.Each(l.Victims, place.Victim.String)...)
	passing := slices.DeleteFunc(slices.Clone(l.Until), func(u Left) bool {
		return slices.ContainsFunc(l.Workloads, func(w Workload) bool { return w.Key == u.Key })
	})
	if len(passing) > 0 {
		why = append(why, "until replaced: "+strings.Join(text.Each(passing, Left.String), ", "))
	}
	if l.Rule != "" && !l.Held {
		why = append(why, l.Rule)
	}
	return why
}

// away describes the pods that the workload lacks.
func (w *Workload) away() string {
	switch {
	case w.Homeless().High > 0:
		return strings.TrimSuffix(w.Homeless().String()+" Pending: "+w.Reasons[0], ".")
	case w.Missing.High > 0:
		return fmt.Sprintf("a quota keeps %v from being created", w.Missing)
	case len(w.Attached) > 0:
		return w.Stuck.Count("waits for its volume: ", "wait for their volumes: ") + forecast.Attached(w.Attached)
	case w.Stuck.High > 0:
		return w.Stuck.Count("waits for its node", "wait for their node")
	case w.Over.High > 0:
		return "its Job exceeds its backoffLimit: " + w.Over.Count("pod ends", "pods end") + " with it"
	case w.Kind == "":
		return w.Orphans.Count("is not replaced: no controller owns it", "are not replaced: no controller owns them")
	}
	return "lightsout cannot tell whether its " + w.Kind + " replaces " + w.Orphans.Count("pod", "pods")
}

// Lines are those of the table, for width cells.
func (r *Report) Lines(width int) (out []string) {
	wrap := func(line string) []string { return text.Hang(text.Cells(line), width) }
	top := slices.Concat(text.Each(r.Headline(map[bool]int{true: remediesTried, false: remediesMost}[width == 0]), wrap)...)
	for _, lines := range slices.Concat([][]string{top, r.mapLines(width), r.lossLines(width)}, text.Each(r.Notes(), wrap)) {
		if len(out) > 0 && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

const rowsMost = 20

// Rows are the losses of the table: of the pairs those that break more than their nodes alone, and of more than rowsMost nodes those
// whose loss has an effect.
func (r *Report) Rows() (out []*Loss) {
	alone := map[string]*Loss{} // the nodes come before the pairs
	for i := range r.Losses {
		l := &r.Losses[i]
		alone[l.Name] = l
		if l.Sort == Node && len(r.Names) > rowsMost && l.Why() == "" || l.Sort == Pair && !l.exceeds(alone[l.Nodes[0]], alone[l.Nodes[1]]) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// exceeds reports whether the loss breaks more than two others together, or leaves less than half of more workloads.
func (l *Loss) exceeds(a, b *Loss) bool {
	most := func(w Workload) bool { return 2*w.After.Low >= w.Wanted }
	broken := func(l *Loss) int {
		return len(l.Broken) + len(l.Budgets) + l.Preempted.High + len(slices.DeleteFunc(slices.Clone(l.Workloads), most))
	}
	return l.Each(place.Range.Minus, a.Each(place.Range.Plus, b.Losses)) != place.Losses{} || broken(l) > broken(a)+broken(b) || l.Held != (a.Held || b.Held)
}

// lossLines is the table of the losses, without columns that are empty. On a terminal the reason stands
// below its line, with the scheduler's in short.
func (r *Report) lossLines(width int) (lines []string) {
	if len(r.Losses) == 0 {
		return nil
	}
	rows := [][]string{slices.Clone(columns)}
	for _, l := range r.Rows() {
		row := l.Cells()
		if short := *l; width > 0 {
			short.Workloads = text.Each(l.Workloads, func(w Workload) Workload {
				w.Reasons = text.Each(w.Reasons, func(m string) string { return strings.ReplaceAll(cluster.Short(m), "; ", ", ") })
				return w
			})
			row[len(row)-1] = text.Clean(short.Why(), 600)
		}
		rows = append(rows, row)
	}
	for k := len(columns) - 2; k > 0; k-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[k] != "-" }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], k, k+1)
			}
		}
	}
	if width == 0 {
		return text.Columns(rows)
	}
	var why []string
	last := len(rows[0]) - 1
	room := width - text.Width(strings.Join(rows[0][1:last], "  ")) - 2
	for i, row := range rows {
		row[0] = text.Middle(row[0], max(room, len(columns[0])), "…") // of a long pair
		rows[i], why = row[:last], append(why, row[last])
	}
	for i, line := range text.Columns(rows) {
		lines = append(lines, line)
		if i > 0 && why[i] != "" {
			lines = append(lines, text.Hang("  "+text.Cells(why[i]), width)...)
		}
	}
	return lines
}

// Notes returns the lines below the table.
func (r *Report) Notes() (out []string) {
	if r.Nodes > 0 && len(r.Names)+len(r.Down) == 0 {
		out = append(out, fmt.Sprintf("A survey loses workers one by one, and here every node (%d) belongs to the control plane; --by LABEL loses groups of any nodes.", r.Nodes))
	}
	if len(r.Down) > 0 {
		out = append(out, fmt.Sprintf("%s %s as down already (not Ready, or off or going off by lightsout): each line counts the room that %s pods need.", text.List(r.Down), text.Noun(len(r.Down), "counts", "count"), text.Noun(len(r.Down), "its", "their")))
	}
	if r.DownPending.High > 0 {
		out = append(out, fmt.Sprintf("Without another loss, %s no node; the table does not count them.", r.DownPending.Count("of these pods gets", "of these pods get")))
	}
	rows := r.Rows()
	without := text.Each(slices.DeleteFunc(r.Of(Node), func(l *Loss) bool { return slices.Contains(rows, l) }), (*Loss).Title)
	if n := len(without); n > 0 {
		prefix := func(name string) string { return strings.TrimRight(name, "0123456789") }
		slices.SortFunc(without, func(a, b string) int {
			return cmp.Or(cmp.Compare(prefix(a), prefix(b)), len(a)-len(b), cmp.Compare(a, b))
		})
		out = append(out, text.Count(n, "node goes", "nodes go")+" without an effect: "+strings.Join(without, ", ")+".")
	}
	rows = slices.DeleteFunc(rows, func(l *Loss) bool { return l.Sort != Pair })
	if n := r.Pairs - len(rows); n > 0 {
		out = append(out, text.Count(n, "pair breaks", "pairs break")+" no more than "+text.Noun(n, "its", "their")+" nodes do alone, and "+text.Noun(n, "has", "have")+" no line.")
	}
	return append(out, text.Each(r.Unknown, func(u string) string { return "This survey is incomplete: " + u + "." })...)
}

// Columns returns the headers for the HTML page.
func (r *Report) Columns() []string { return columns }

//go:embed page.html
var pageText string

var page = template.Must(template.New("survey").Parse(pageText))
