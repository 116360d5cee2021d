package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

// matrix is a table with a column for each run, after columns that describe the row.
type matrix struct {
	section
	keys  int
	found map[string][]cell // the rows by their keys
}

// counter numbers the names that come more than once.
type counter map[string]int

// name is the name of one more thing with that identity.
func (c counter) name(id, name string) string {
	c[id]++
	if c[id] > 1 {
		name += fmt.Sprintf(" (%d)", c[id])
	}
	return name
}

func newMatrix(title string, rs []*record.Record, keys ...string) *matrix {
	m := &matrix{section{Title: title}.columns(keys...), len(keys), map[string][]cell{}}
	m.Head = append(m.Head, text.Each(runNames(rs), func(n string) column { return column{Name: n} })...)
	return m
}

// row finds or makes the row of these keys, and gives its cells, one a run.
func (m *matrix) row(keys ...string) []cell {
	id := strings.Join(keys, "\x00")
	if row, ok := m.found[id]; ok {
		return row
	}
	row := append(text.Each(keys, plainCell), slices.Repeat([]cell{{Text: none}}, len(m.Head)-m.keys)...)
	m.Rows = append(m.Rows, row)
	m.found[id] = row[m.keys:]
	return m.found[id]
}

// Compare lines runs up, phase by phase, as plain text for a terminal of width columns: the
// observed seconds from zero, their difference from the first run, and the forecast
// with "in" or "OUT"; then loads, ledgers, the settings that differ, and how well the
// forecasts held over all runs. Records without a summary have empty columns. Width 0: nobody sees it on a
// terminal, and each row is one line. The error is the writer's.
func Compare(w io.Writer, rs []*record.Record, width int) error {
	return writeTemplate(w, plainTemplate(cmp.Or(width, math.MaxInt)).ExecuteTemplate, "sections", comparison(rs))
}

// CompareMarkdown is Compare as Markdown, with one table a subject and all runs
// in it.
func CompareMarkdown(w io.Writer, rs []*record.Record) error {
	return writeTemplate(w, markdownTemplate.ExecuteTemplate, "compare", comparison(rs))
}

// runNames names runs by their folders; folders of one name are numbered.
func runNames(rs []*record.Record) []string {
	seen := counter{}
	var out []string
	for i, r := range rs {
		name := clean(filepath.Base(r.Dir))
		if name == "" || name == "." {
			name = fmt.Sprintf("run %d", i+1)
		}
		out = append(out, seen.name(name, name))
	}
	return out
}

// comparison are the tables of a comparison that have rows.
func comparison(rs []*record.Record) []section {
	held := section{Title: "how well the forecasts held"}.columns("phase", "#inside", "#not compared", "#farthest")
	for _, a := range agreements(rs) {
		held.row(a.Phase, fmt.Sprintf("%d of %d", a.Inside, a.Inside+a.Outside), some(a.Uncompared), given(a.Farthest, missed))
	}
	held.trim()
	all := []section{runsMatrix(rs).section, phaseMatrix(rs).section, expectationMatrix(rs).section, loadMatrix(rs).section, settingsMatrix(rs).section, held}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.Rows) == 0 })
}

func runsMatrix(rs []*record.Record) *matrix {
	m := newMatrix("runs", rs, "")
	for i, r := range rs {
		set := func(key, value string) { m.row(key)[i].Text = orNone(value) }
		s := r.Summary
		if s == nil || len(r.Torn) > 0 {
			set("record", "incomplete")
		}
		if s == nil {
			set("verdict", verdictOf("").Text)
			continue
		}
		set("verdict", judged(s).Text)
		set("trial", clean(s.Name))
		set("pace", clean(s.Pace))
		set("API server", clean(s.Server))
		set("took", seconds(s.Ended.Sub(s.Started).Seconds()))
		set("requests", fmt.Sprintf("%d, %s", s.Ledger.Scheduled, map[bool]string{true: "all accounted for", false: "NOT all accounted for"}[s.Ledger.Balanced && s.Ledger.Adds()]))
		if len(s.LeftOff) > 0 {
			set("STILL OFF", clean(strings.Join(s.LeftOff, ", ")))
		}
	}
	return m
}

func phaseMatrix(rs []*record.Record) *matrix {
	m := newMatrix("phases, in seconds from zero: observed, difference to the first run, forecast", rs, "phase", "subject")
	var reference map[string]*float64
	for i, r := range rs {
		observed, seen := map[string]*float64{}, counter{}
		for _, p := range inOrder(summaryOf(r).Phases) {
			subject := seen.name(p.Name+"\x00"+p.Subject, p.Subject) // a phase may come twice
			id := p.Name + "\x00" + subject
			observed[id] = p.Observed
			row := m.row(p.Name, subject)
			row[i].Text = phaseCell(p, reference[id])
			if p.Observed == nil && p.Name == view.PhaseErrors {
				row[i].Text = clientsOf(r, wholeRecord(r), 0).text("")
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
		if p.From != nil {
			parts[0] = fmt.Sprintf("%.1f–%s", *p.From, parts[0])
		}
		if first != nil {
			parts = append(parts, fmt.Sprintf("%+.1f", math.Round((*p.Observed-*first)*10)/10+0))
		}
	}
	if p.Predicted != nil {
		word := map[fit]string{fitNone: "of", fitInside: "in", fitOutside: "OUT", fitUnknown: "not observed if in"}[fitOf(p)]
		parts = append(parts, fmt.Sprintf("%s %.1f–%.1f", word, p.Predicted[0], p.Predicted[1]))
	}
	return strings.Join(parts, " ")
}

func expectationMatrix(rs []*record.Record) *matrix {
	m := newMatrix("expectations", rs, "expectation", "wanted")
	for i, r := range rs {
		seen := counter{}
		for _, x := range expectationsOf(summaryOf(r)).Rows {
			name, want := x[0].Text, x[1].Text
			m.row(seen.name(name+"\x00"+want, name), want)[i].Text = strings.TrimSuffix(x[3].Text+": "+strings.TrimPrefix(strings.TrimPrefix(x[2].Text, x[3].Text), ": "), ": ")
		}
	}
	return m
}

// loadMatrix has a row for each column of the loads' tables.
func loadMatrix(rs []*record.Record) *matrix {
	m := newMatrix("load", rs, "step", "")
	for i, r := range rs {
		t, seen := loadOf(summaryOf(r)), counter{}
		for _, row := range t.Rows {
			step := seen.name(row[0].Text, row[0].Text)
			for j, c := range row[1:] {
				m.row(step, t.Head[j+1].Name)[i].Text = c.Text
			}
		}
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(r []cell) bool {
		return !slices.ContainsFunc(r[m.keys:], func(c cell) bool { return c.Text != none })
	})
	return m
}

// settingsMatrix has the settings that are not the same everywhere.
func settingsMatrix(rs []*record.Record) *matrix {
	m := newMatrix("settings that differ", rs, "setting")
	for i, r := range rs {
		for _, s := range summaryOf(r).Settings {
			m.row(s.Name)[i].Text = clean(s.Value) + map[bool]string{true: " (ASSUMED)"}[s.Source == cluster.Assumed]
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

// CompareJSON writes the summaries of runs, which are null without one, and how well their forecasts held. The
// error is the writer's.
func CompareJSON(w io.Writer, rs []*record.Record) error {
	type run struct {
		Record  string          `json:"record"`
		Summary *record.Summary `json:"summary"`
	}
	runs := text.Each(rs, func(r *record.Record) run { return run{r.Dir, r.Summary} })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Runs      []run       `json:"runs"`
		Forecasts []agreement `json:"forecasts"`
	}{runs, agreements(rs)})
}

// agreement counts the forecasts of one phase over all runs and subjects.
type agreement struct {
	Phase      string  `json:"phase"`
	Inside     int     `json:"inside"`
	Outside    int     `json:"outside"`
	Uncompared int     `json:"not_compared"`       // nobody saw it, or exactly when
	Farthest   float64 `json:"farthest,omitempty"` // the largest distance in seconds; negative is early
}

// agreements are those of all phases with a forecast, in the order of the report.
func agreements(rs []*record.Record) []agreement {
	rows := map[string]agreement{}
	for _, r := range rs {
		for _, p := range summaryOf(r).Phases {
			if p.Predicted == nil {
				continue
			}
			a := rows[p.Name]
			a.Phase = p.Name
			switch fitOf(p) {
			case fitInside:
				a.Inside++
			case fitOutside:
				a.Outside++
				if d := away(p, *p.Predicted); math.Abs(d) > math.Abs(a.Farthest) {
					a.Farthest = d
				}
			default:
				a.Uncompared++
			}
			rows[p.Name] = a
		}
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b agreement) int {
		return cmp.Or(phaseRank(a.Phase)-phaseRank(b.Phase), cmp.Compare(a.Phase, b.Phase))
	})
}
