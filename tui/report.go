package tui

import (
	"strings"

	"lightsout/internal/view"
)

// ReportMsg is the text of a report, after the intent; Err is the
// reason, in one sentence, why there is none.
type ReportMsg struct {
	view.ShowReport
	Lines []string
	Err   string
}

// readReport opens the report of a trial that has been judged; before that it
// gives the trial the whole screen, or takes it back.
func readReport(m *Model) {
	if !judgedTrial(m) {
		wholeTrial(m)
		return
	}
	openReport(m, "Report of trial "+m.s.f.Trial.Name, "", func() string {
		if m.s.f.Trial == nil { // a replay has gone back to before it
			return ""
		}
		return m.s.f.Trial.Report
	})
}

// reportDialog shows a report, wrapped to the width of the screen.
type reportDialog struct {
	factsDialog
	wanted view.ShowReport
}

// mostReport is how wide a report is at most.
const mostReport = 100

// openReport opens the report of the record in a folder; empty: of the trial.
func openReport(m *Model, heading, dir string, path func() string) {
	m.report = nil
	d := &reportDialog{wanted: view.ShowReport{Dir: dir}}
	d.factsDialog = factsDialog{heading: heading, copies: "its path", copied: path, facts: func(s *scene) []fact { return reportFacts(s, m.report, dir) }}
	m.dialogs.open(d)
}

// readReports asks for the open report in the width that the screen has room for.
func (m *Model) readReports() {
	for _, o := range m.dialogs.stack {
		if d, ok := o.(*reportDialog); ok && d.wanted.Width != m.reportWidth() {
			d.wanted.Width = m.reportWidth()
			m.opts.Send(d.wanted)
		}
	}
}

func (m *Model) reportWidth() int { return max(20, min(m.w-6, mostReport)) }

func judgedTrial(m *Model) bool { return m.s.f.Trial != nil && m.s.f.Trial.Verdict != "" }

// reportFacts is the report of the record in a folder, once it has come; another one's may come late.
func reportFacts(s *scene, r *ReportMsg, dir string) (out []fact) {
	switch {
	case r == nil || r.Dir != dir:
		return []fact{plainFact(s, s.t.dim, "reading it "+s.t.ellipsis)}
	case r.Err != "":
		return []fact{plainFact(s, s.t.warn, r.Err)}
	}
	for i, l := range r.Lines {
		out = append(out, plainFact(s, "", l))
		if i > 0 && strings.Trim(l, "─═") == "" && l != "" {
			out[i-1].st = s.t.strong
		}
	}
	return out
}
