package tui

import "lightsout/internal/view"

// ReportMsg is the text of a report, after view.ShowReport with that Dir; Err is the
// reason, in one sentence, why there is none.
type ReportMsg struct {
	Dir   string
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
	m.report = nil
	m.dialogs.open(&factsDialog{
		heading: heading, copies: "its path", copied: path,
		facts: func(s *scene) []fact { return reportFacts(s, m.report, dir) },
	})
	m.opts.Send(view.ShowReport{Dir: dir, Width: max(20, min(m.w-6, mostDialog))})
}

func judgedTrial(m *Model) bool { return m.s.f.Trial != nil && m.s.f.Trial.Verdict != "" }

// reportFacts is the report of the record in a folder, once it has come; another one's may come late.
func reportFacts(s *scene, r *ReportMsg, dir string) []fact {
	switch {
	case r == nil || r.Dir != dir:
		return []fact{plainFact(s, s.t.dim, "reading it "+s.t.ellipsis)}
	case r.Err != "":
		return []fact{plainFact(s, s.t.warn, r.Err)}
	}
	return plainFacts(s, r.Lines)
}
