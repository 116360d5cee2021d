package tui

import (
	"strings"

	"lightsout/internal/view"
)

// ReportMsg is the text of a report, after that view.ShowReport; Err is the
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

// openReport opens the report of the record in a folder; empty: of the trial.
func openReport(m *Model, heading, dir string, path func() string) {
	m.report = ReportMsg{ShowReport: view.ShowReport{Dir: dir}}
	m.dialogs.open(&factsDialog{heading: heading, copies: "its path", copied: path, facts: func(s *scene) []fact { return reportFacts(s, m.report) }})
	m.askReport()
}

// mostReport is how wide a report is at most.
const mostReport = 100

// askReport asks for the report in the width of the screen.
func (m *Model) askReport() {
	m.report.Width = max(20, min(m.w-6, mostReport))
	m.opts.Send(m.report.ShowReport)
}

func judgedTrial(m *Model) bool { return m.s.f.Trial != nil && m.s.f.Trial.Verdict != "" }

// reportFacts is a report, once it has come.
func reportFacts(s *scene, r ReportMsg) (out []fact) {
	switch {
	case r.Err != "":
		return []fact{plainFact(s, s.t.warn, r.Err)}
	case r.Lines == nil:
		return []fact{plainFact(s, s.t.dim, "reading it "+s.t.ellipsis)}
	}
	for i, l := range r.Lines {
		out = append(out, plainFact(s, "", l))
		if i > 0 && strings.Trim(l, "─═") == "" && l != "" {
			out[i-1].st = s.t.strong
		}
	}
	return out
}
