package tui

import "lightsout/internal/view"

// ReportMsg is the text of the trial's report, after view.ShowReport; Err is the
// reason, in one sentence, why there is none.
type ReportMsg struct {
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
	m.report = nil
	m.dialogs.open(&factsDialog{
		heading: "Report of trial " + m.s.f.Trial.Name, copies: "its path",
		facts: func(s *scene) []fact { return reportFacts(s, m.report) },
		copied: func() string {
			if m.s.f.Trial == nil { // a replay has gone back to before it
				return ""
			}
			return m.s.f.Trial.Report
		},
	})
	m.opts.Send(view.ShowReport{Width: max(20, min(m.w-6, mostDialog))})
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
