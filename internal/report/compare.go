package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"

	"lightsout/internal/text"
)

// compareWidth is the most terminal columns that a line of Compare takes. Runs
// that do not fit go into further tables.
const compareWidth = 120

// matrix is a table with a column for each run, after columns that describe the row.
type matrix struct {
	section
	keys  int
	found map[string][]cell // the rows by the full texts of their keys
	shown map[string]string // the full text that a column shows as this one
}

// key is the text of a key column of a matrix. Rows with the same full texts are one row.
type key struct{ full, shown string }

// word is a key that is shown in full.
func word(s string) key { return key{s, s} }

// numbered is a key of which this is the nth in its run.
func numbered(full, shown string, n int) key {
	if n > 1 {
		full += "\x00" + itoa(n)
	}
	return key{full, shown}
}

func newMatrix(title string, rs []*record.Record, keys ...string) *matrix {
	m := &matrix{section{Title: title}, len(keys), map[string][]cell{}, map[string]string{}}
	m.columns(keys...)
	m.columns(runNames(rs)...)
	return m
}

// row finds or makes the row of these keys, and gives its cells, one a run.
func (m *matrix) row(keys ...key) []cell {
	id := ""
	for _, k := range keys {
		id += k.full + "\x00\x00"
	}
	if row, ok := m.found[id]; ok {
		return row
	}
	var row []cell
	for i, k := range keys {
		row = append(row, cell{Text: m.distinct(i, k)})
	}
	row = append(row, slices.Repeat([]cell{{Text: none}}, len(m.Head)-m.keys)...)
	m.Rows = append(m.Rows, row)
	m.found[id] = row[m.keys:]
	return m.found[id]
}

// distinct is the text that a column shows for a key: with a number, if it shows another full
// text the same.
func (m *matrix) distinct(column int, k key) string {
	for n := 1; ; n++ {
		shown := k.shown
		if n > 1 {
			shown = fmt.Sprintf("%s (%d)", k.shown, n)
		}
		at := itoa(column) + "\x00" + shown
		full, taken := m.shown[at]
		if !taken {
			m.shown[at] = k.full
		}
		if !taken || full == k.full {
			return shown
		}
	}
}

var errNothing = errors.New("there is nothing to compare: name at least one record")

// Compare lines runs up, phase by phase, as plain text for a terminal: the
// observed seconds from zero, their difference from the first run, and the forecast
// with "in" or "OUT"; then loads, ledgers, the settings that differ, and how well the
// forecasts held over all runs. Records without a summary have empty columns. The error
// is the writer's, or reports that there are no records.
func Compare(w io.Writer, rs []*record.Record) error {
	if len(rs) == 0 {
		return errNothing
	}
	var b strings.Builder
	for _, m := range matrices(rs) {
		for from := 0; from < len(rs); {
			t, n := m.block(from)
			fmt.Fprintf(&b, "%s\n%s\n\n", m.Title, strings.Join(t.within(compareWidth), "\n"))
			from += n
		}
	}
	if t := agreementTable(rs); len(t.Rows) > 0 {
		fmt.Fprintf(&b, "%s\n%s\n", t.Title, strings.Join(t.within(compareWidth), "\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// block is the part of the matrix with as many runs, from the given one on, as
// fit, at least one.
func (m *matrix) block(from int) (section, int) {
	for n := len(m.Head) - m.keys - from; ; n-- {
		s := section{Head: part(m.Head, m.keys, from, n)}
		for _, r := range m.Rows {
			s.Rows = append(s.Rows, part(r, m.keys, from, n))
		}
		if _, width := s.widths(); n == 1 || width <= compareWidth {
			return s, n
		}
	}
}

// part is a row's keys, and n of its runs.
func part[T any](row []T, keys, from, n int) []T {
	return slices.Concat(row[:keys], row[keys+from:keys+from+n])
}

// CompareMarkdown is Compare as Markdown, with one table a subject and all runs
// in it.
func CompareMarkdown(w io.Writer, rs []*record.Record) error {
	if len(rs) == 0 {
		return errNothing
	}
	var all []section
	for _, m := range matrices(rs) {
		all = append(all, m.section)
	}
	return writeTemplate(w, markdownTemplate.ExecuteTemplate, "compare", append(all, agreementTable(rs)))
}

// runNames names runs by their folders; folders of one name are numbered.
func runNames(rs []*record.Record) []string {
	seen := map[string]int{}
	var out []string
	for i, r := range rs {
		name := short(clean(filepath.Base(r.Dir)), 28)
		if name == "" || name == "." || r.Dir == "" {
			name = fmt.Sprintf("run %d", i+1)
		}
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		out = append(out, name)
	}
	return out
}

func matrices(rs []*record.Record) []*matrix {
	all := []*matrix{runsMatrix(rs), planMatrix(rs), phaseMatrix(rs), expectationMatrix(rs), loadMatrix(rs), settingsMatrix(rs)}
	return slices.DeleteFunc(all, func(m *matrix) bool { return len(m.Rows) == 0 })
}

func runsMatrix(rs []*record.Record) *matrix {
	m := newMatrix("runs", rs, "")
	for i, r := range rs {
		set := func(key, value string) { m.row(word(key))[i].Text = orNone(value) }
		s := r.Summary
		if s == nil {
			set("verdict", verdictOf("").Text)
			continue
		}
		set("verdict", judged(s).Text)
		set("trial", text.Clean(s.Name, 28))
		set("pace", text.Clean(s.Pace, 28))
		set("API server", text.Clean(s.Server, 28))
		set("took", seconds(max(lengthOf(s).Seconds(), 0)))
		set("API server unseen", seconds(blindFor(s)))
		set("requests", ledgerWord(s.Ledger))
		set("pods by node", skewWord(s.Skew))
		if len(s.LeftOff) > 0 {
			set("STILL OFF", text.Clean(strings.Join(s.LeftOff, ", "), 40))
		}
	}
	return m
}

func ledgerWord(l record.Ledger) string {
	word := "all accounted for"
	if !l.Balanced || !l.Adds() {
		word = "NOT all accounted for"
	}
	return fmt.Sprintf("%d, %s", l.Scheduled, word)
}

// skewWord writes how many pods lie on each node, by the nodes' names.
func skewWord(skew map[string]int) string {
	var parts []string
	for _, node := range sortedKeys(skew) {
		parts = append(parts, itoa(skew[node]))
	}
	return text.Clean(strings.Join(parts, "/"), 40)
}

func phaseMatrix(rs []*record.Record) *matrix {
	m := newMatrix("phases, in seconds from zero: observed, difference to the first run, forecast", rs, "phase", "subject")
	var reference map[string]*float64
	for i, r := range rs {
		observed := map[string]*float64{}
		for _, p := range inOrder(summaryOf(r).Phases) {
			id, n := p.Name+"\x00"+p.Subject, 1
			for ; ; n++ { // a phase may come twice
				if _, taken := observed[id+"\x00"+itoa(n)]; !taken {
					break
				}
			}
			id += "\x00" + itoa(n)
			observed[id] = p.Observed
			row := m.row(key{p.Name, text.Clean(p.Name, 20)}, numbered(p.Subject, brief(clean(p.Subject), 24), n))
			row[i].Text = phaseCell(p, reference[id])
			if p.Observed == nil && p.Name == view.PhaseErrors {
				row[i].Text = noWindow(r)
			}
		}
		if reference == nil && r.Summary != nil {
			reference = observed
		}
	}
	slices.SortStableFunc(m.Rows, func(a, b []cell) int { return phaseRank(a[0].Text) - phaseRank(b[0].Text) })
	return m
}

// phaseCell is "48.2 +0.3 in 42.0–52.0"; first is when the first run saw it.
func phaseCell(p view.Phase, first *float64) string {
	var parts []string
	if p.Observed == nil {
		parts = append(parts, "not seen")
	} else {
		parts = append(parts, fmt.Sprintf("%.1f", *p.Observed))
		if first != nil {
			parts = append(parts, fmt.Sprintf("%+.1f", math.Round((*p.Observed-*first)*10)/10+0))
		}
	}
	if p.Predicted != nil {
		word := map[fit]string{fitNone: "of", fitInside: "in", fitOutside: "OUT", fitUnknown: "unknown if in"}[fitOf(p)]
		parts = append(parts, fmt.Sprintf("%s %.1f–%.1f", word, p.Predicted[0], p.Predicted[1]))
	}
	return strings.Join(parts, " ")
}

// noWindow returns "none" if no request failed, otherwise the reason why the load has no error window.
func noWindow(r *record.Record) string {
	why := clientsOf(r, nil, -1)
	if why == noneFailed {
		return "none"
	}
	return text.Clean(why, 48)
}

func expectationMatrix(rs []*record.Record) *matrix {
	m := newMatrix("expectations", rs, "expectation", "wanted")
	for i, r := range rs {
		seen := map[[2]string]int{}
		for _, e := range summaryOf(r).Expectations {
			id := [2]string{e.Name, e.Want}
			seen[id]++
			m.row(numbered(e.Name, text.Clean(e.Name, 44), seen[id]), key{e.Want, text.Clean(e.Want, 22)})[i].Text = held(e)
		}
	}
	return m
}

// held shows whether an expectation is met, with the observation.
func held(e view.Expectation) string {
	const unobserved = "not observed"
	got := text.Clean(e.Got, 22)
	switch {
	case e.OK:
		return "yes: " + got
	case !e.Unobserved:
		return "NO: " + got
	case e.Got == unobserved:
		return unobserved
	}
	return unobserved + ": " + text.Clean(strings.TrimPrefix(e.Got, unobserved+": "), 22)
}

func loadMatrix(rs []*record.Record) *matrix {
	m := newMatrix("load", rs, "step", "")
	for i, r := range rs {
		seen := map[string]int{}
		for _, l := range summaryOf(r).Load {
			seen[l.Step]++
			step := numbered(l.Step, text.Clean(l.Step, 28), seen[l.Step])
			set := func(key, value string) { m.row(step, word(key))[i].Text = value }
			set("sent", itoa(l.Sent))
			set("ok", itoa(l.OK))
			set("failed", failedWord(l.Failed, l.FailedByClass))
			set("error window", windows(l.ErrorWindows))
			set("failed later", later(l.LaterFailures))
			set("hung", ends(l.Hung))
			set("unsent", unsent(l))
			set("peak served", upTo(l.PeakServed, l.PeakServedUpTo))
			set("peak queued", upTo(l.PeakQueued, l.PeakQueuedUpTo))
		}
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(r []cell) bool {
		return slices.Contains([]string{"error window", "failed later", "hung", "unsent"}, r[1].Text) && !slices.ContainsFunc(r[m.keys:], func(c cell) bool { return c.Text != none })
	})
	// Steps that only later runs have come after those of the first.
	order := map[string]int{}
	for _, r := range m.Rows {
		if _, ok := order[r[0].Text]; !ok {
			order[r[0].Text] = len(order)
		}
	}
	slices.SortStableFunc(m.Rows, func(a, b []cell) int { return order[a[0].Text] - order[b[0].Text] })
	return m
}

// unsent formats the number of requests that were not sent.
func unsent(l record.Load) string {
	if l.Unsent == 0 {
		return none
	}
	return itoa(l.Unsent)
}

func failedWord(n int, by map[loadgen.Class]int) string {
	text := text.Clean(classes(by), 40)
	switch {
	case n == 0 || text == none:
		return itoa(n)
	case len(by) == 1:
		return text
	}
	return fmt.Sprintf("%d: %s", n, text)
}

// settingsMatrix has the settings that are not the same everywhere.
func settingsMatrix(rs []*record.Record) *matrix {
	m := newMatrix("settings that differ", rs, "setting")
	for i, r := range rs {
		for _, s := range summaryOf(r).Settings {
			value := text.Clean(s.Value, 20)
			if s.Source == cluster.Assumed {
				value += " (ASSUMED)"
			}
			m.row(key{s.Name, text.Clean(s.Name, 44)})[i].Text = value
		}
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(r []cell) bool {
		values := map[string]bool{}
		for i, c := range r[m.keys:] {
			if rs[i].Summary != nil {
				values[c.Text] = true
			}
		}
		return len(values) < 2
	})
	return m
}
