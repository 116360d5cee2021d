package tui

import "lightsout/internal/view"

// ReportMsg is the text of the trial's report, which view.ShowReport has asked
// for; Err says in one sentence why there is none.
type ReportMsg struct {
	Lines []string
	Err   string
}

// reportDialog shows the report of the trial.
type reportDialog struct {
	factsDialog
	told *ReportMsg // nil before it has come
}

// readReport opens the report of a trial that has been judged; before that it
// gives the trial the whole screen, or takes it back.
func readReport(m *Model) {
	if !judgedTrial(m) {
		wholeTrial(m)
		return
	}
	d := &reportDialog{}
	d.heading, d.facts = "Report of trial "+m.s.f.Trial.Name, d.text
	d.copied, d.copies = func() string {
		if m.s.f.Trial == nil { // a replay has gone back to before it
			return ""
		}
		return m.s.f.Trial.Report
	}, "its path"
	m.dialogs.open(d)
	m.opts.Send(view.ShowReport{Width: max(20, min(m.w-6, mostDialog))})
}

func judgedTrial(m *Model) bool { return m.s.f.Trial != nil && m.s.f.Trial.Verdict != "" }

// reported takes the text for the report that is open.
func reported(m *Model, told ReportMsg) {
	for _, d := range m.dialogs.stack {
		if r, ok := d.dialog.(*reportDialog); ok {
			r.told = &told
		}
	}
}

func (d *reportDialog) text(s *scene) []fact {
	switch {
	case d.told == nil:
		return []fact{{value: "reading it " + s.t.ellipsis, st: s.t.dim, plain: true}}
	case d.told.Err != "":
		return []fact{{value: s.t.text(d.told.Err), st: s.t.warn, plain: true}}
	}
	var out []fact
	for _, l := range d.told.Lines {
		out = append(out, fact{value: s.t.text(l), plain: true})
	}
	return out
}
