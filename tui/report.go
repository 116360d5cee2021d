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
		facts: func(s *scene) []fact {
			if m.report != nil && m.report.Dir != dir {
				return reportFacts(s, nil) // it is another one's, which came late
			}
			return reportFacts(s, m.report)
		},
	})
	m.opts.Send(view.ShowReport{Dir: dir, Width: max(20, min(m.w-6, mostDialog))})
}

func judgedTrial(m *Model) bool { return m.s.f.Trial != nil && m.s.f.Trial.Verdict != "" }

// reportFacts is the report as it came; nil before it has.
func reportFacts(s *scene, r *ReportMsg) []fact {
	switch {
	case r == nil:
		return []fact{plainFact(s, s.t.dim, "reading it "+s.t.ellipsis)}
	case r.Err != "":
		return []fact{plainFact(s, s.t.warn, r.Err)}
	}
	return plainFacts(s, r.Lines)
}
