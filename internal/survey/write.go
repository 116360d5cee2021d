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
			Headline string `json:"headline"`
			*Report
		}{strings.Join(r.Headline(), ". "), r})
	case HTML:
		return page.Execute(w, r)
	}
	return r.table(w, width)
}

// columns are the headers of the printed table.
var columns = []string{"WITHOUT", "NO NODE", "NOT CREATED", "STUCK", "NOT REPLACED", "PREEMPTED", "BROKEN", "WORST WORKLOAD", "WHY"}

// Cells returns the cells of a loss, below Columns.
func (l *Loss) Cells() []string {
	name := l.Name
	if l.Sort != Node && l.Sort != Pair {
		name = fmt.Sprintf("%s %s (%s)", l.Sort, l.Name, text.Count(len(l.Nodes), "node", "nodes"))
	}
	dash := func(s string) string {
		if s == "0" {
			return "-"
		}
		return s
	}
	return []string{name, dash(l.Homeless.String()), dash(l.Missing.String()), dash(l.Stuck.String()), dash(l.unreplaced().String()), dash(l.Preempted.String()),
		dash(fmt.Sprint(len(l.Broken) + len(l.Budgets))), l.worst(), l.Why()}
}

// unreplaced counts the pods that no controller is known to replace, and those of Jobs that
// fail.
func (l *Loss) unreplaced() place.Range {
	return place.Range{Low: l.Orphans.Low + l.Over.Low, High: l.Orphans.High + l.Over.High}
}

// worst is what the workload keeps that keeps the smallest share of its pods.
func (l *Loss) worst() string {
	share := func(w Workload) float64 { return float64(w.After.Low) / float64(w.Running) }
	if len(l.Workloads) == 0 {
		return "-"
	}
	w := slices.MinFunc(l.Workloads, func(a, b Workload) int { return cmp.Compare(share(a), share(b)) })
	return fmt.Sprintf("%v of %d (%s)", w.After, w.Running, w.Key)
}

// left is how many pods and slots the workload keeps.
func (w *Workload) left() string {
	if w.Slots == 0 {
		return fmt.Sprintf("%v of %d left", w.After, w.Running)
	}
	slots := place.Range{Low: w.After.Low * w.Slots, High: w.After.High * w.Slots}
	return fmt.Sprintf("%v of %d left, capacity %v of %d", w.After, w.Running, slots, w.Running*w.Slots)
}

// Why is the problem with the loss in one line; empty without one.
func (l *Loss) Why() string {
	why := l.whys(1)
	const shown = 2
	if n := len(why) - shown; n > 0 {
		why = append(why[:shown:shown], fmt.Sprintf("and %d more", n))
	}
	return text.Clean(strings.Join(why, "; "), 600)
}

// whys describes each problem with the loss, with at most this many reasons for the
// Pending pods of a workload.
func (l *Loss) whys(reasons int) []string {
	why := slices.Concat(l.Broken, l.Budgets)
	for _, w := range l.Workloads {
		switch {
		case w.Pending.High > 0 && len(w.Reasons) > 0:
			for _, one := range w.Reasons[:min(reasons, len(w.Reasons))] {
				why = append(why, fmt.Sprintf("%s: %s, %v Pending: %s", w.Key, w.left(), w.Pending, strings.TrimSuffix(one, ".")))
			}
		case w.Missing.High > 0:
			why = append(why, fmt.Sprintf("%s: %s, a quota keeps %v from being created", w.Key, w.left(), w.Missing))
		case w.Stuck.High+w.Over.High+w.Orphans.High > 0:
			why = append(why, fmt.Sprintf("%s: %s, %s", w.Key, w.left(), w.away()))
		}
	}
	if l.Rule != "" {
		why = append(why, l.Rule)
	}
	return why
}

// away describes the pods of the workload that are not replaced although there may be room.
func (w *Workload) away() string {
	switch {
	case len(w.Attached) > 0:
		return counted(w.Stuck, "waits for its volume: ", "wait for their volumes: ") + forecast.Attached(w.Attached)
	case w.Stuck.High > 0:
		return waiting(w.Stuck)
	case w.Over.High > 0:
		return "its Job exceeds its backoffLimit: " + counted(w.Over, "pod ends", "pods end") + " with it"
	case w.Kind == "":
		return counted(w.Orphans, "is not replaced: no controller owns it", "are not replaced: no controller owns them")
	}
	return "lightsout cannot tell whether its " + w.Kind + " replaces " + counted(w.Orphans, "pod", "pods")
}

func counted(n place.Range, one, many string) string {
	if n.Low == 1 && n.High == 1 {
		return "1 " + one
	}
	return n.String() + " " + many
}

// waiting counts the pods that wait for their node to return.
func waiting(n place.Range) string {
	return counted(n, "waits for its node", "wait for their node")
}

func (r *Report) table(out io.Writer, width int) error {
	var parts []string
	for _, line := range r.Headline() {
		parts = append(parts, strings.Join(wrapped("", text.Cells(line), width), "\n"))
	}
	parts = []string{strings.Join(parts, "\n")}
	for _, lines := range [][]string{r.mapLines(width), r.lossLines(width)} {
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n"))
		}
	}
	for _, note := range r.Notes() {
		parts = append(parts, strings.Join(wrapped("", text.Cells(note), width), "\n"))
	}
	_, err := io.WriteString(out, strings.Join(parts, "\n\n")+"\n")
	return err
}

// lossLines is the table of the losses, without columns that are empty. On a terminal the reason stands
// below its line.
func (r *Report) lossLines(width int) (lines []string) {
	if len(r.Losses) == 0 {
		return nil
	}
	rows := [][]string{slices.Clone(columns)}
	for i := range r.Losses {
		row := r.Losses[i].Cells()
		for k, cell := range row { // a file's names may be anything
			row[k] = text.Cells(cell)
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
	for i, row := range rows {
		last := len(row) - 1
		rows[i], why = row[:last], append(why, row[last])
	}
	for i, line := range text.Columns(rows) {
		lines = append(lines, strings.TrimRight(line, " "))
		if i > 0 && why[i] != "" {
			lines = append(lines, wrapped("  ", why[i], width)...)
		}
	}
	return lines
}

// oneNodeShown is the largest number of deployments on one node that the notes name.
const oneNodeShown = 3

// Notes returns the lines below the table.
func (r *Report) Notes() (out []string) {
	if r.Nodes > 0 && len(r.Names) == 0 {
		out = append(out, fmt.Sprintf("A survey loses workers one by one, and here every node (%d) belongs to the control plane; --by LABEL loses groups of any nodes.", r.Nodes))
	}
	if r.Waiting > 0 {
		out = append(out, fmt.Sprintf("%s for a node already; the table does not count them.", text.Count(r.Waiting, "pod waits", "pods wait")))
	}
	if len(r.Down) > 0 {
		out = append(out, fmt.Sprintf("%s %s as down already (not Ready, or off or going off by lightsout): each line counts the room that %s pods need.", text.List(r.Down), text.Noun(len(r.Down), "counts", "count"), text.Noun(len(r.Down), "its", "their")))
	}
	if r.DownPending.High > 0 {
		out = append(out, fmt.Sprintf("Without another loss, %s no node; the table does not count them.", counted(r.DownPending, "of these pods gets", "of these pods get")))
	}
	for i, one := range r.OneNode {
		if i == oneNodeShown {
			out = append(out, fmt.Sprintf("So it is with %s more.", text.Count(len(r.OneNode)-i, "deployment", "deployments")))
			break
		}
		out = append(out, fmt.Sprintf("All %d pods of %s run on %s: if it goes down, requests fail until the control plane replaces them.", one.Pods, one.Deployment, one.Node))
	}
	for _, u := range r.Unknown {
		out = append(out, "This survey is incomplete: "+u+".")
	}
	return out
}

// Columns returns the headers for the HTML page.
func (r *Report) Columns() []string { return columns }

//go:embed page.html
var pageText string

var page = template.Must(template.New("survey").Parse(pageText))
