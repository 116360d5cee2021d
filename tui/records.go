package tui

import (
	"path/filepath"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// RecordsMsg is the list of records, after view.ShowRecords, the newest first.
type RecordsMsg struct{ Lines []view.RecordLine }

// recordsDialog lists the records of trials and outages.
type recordsDialog struct {
	list[string, view.RecordLine]
	m *Model
}

// openRecords opens the list of records, and asks for it.
func openRecords(m *Model) {
	d := &recordsDialog{m: m}
	d.list = list[string, view.RecordLine]{
		id: func(r view.RecordLine) string { return r.Path }, lead: func(*scene, *row, view.RecordLine) {},
		none: "reading the records " + m.s.t.ellipsis,
		columns: []column[view.RecordLine]{
			{fitting{}, "TIME", func(s *scene, r view.RecordLine) cell {
				return textCell(s.t.dim, r.At.Local().Format(time.DateTime))
			}, nil},
			{fitting{drop: 2}, "CLUSTER", func(s *scene, r view.RecordLine) cell { return plainCell(s, r.Cluster) }, nil},
			{fitting{least: 20, ease: 12, min: 8}, "WHAT", func(s *scene, r view.RecordLine) cell { return plainCell(s, r.What) }, nil},
			{fitting{right: true, drop: 1}, "TOOK", func(s *scene, r view.RecordLine) cell {
				if r.Took == 0 {
					return textCell(s.t.dim, s.t.dash)
				}
				return textCell("", text.Span(r.Took))
			}, nil},
			{fitting{}, "VERDICT", func(s *scene, r view.RecordLine) cell {
				_, st := verdictStyle(s.t, r.Verdict)
				return textCell(st, s.t.text(r.Verdict))
			}, nil},
		},
	}
	m.dialogs.open(d)
	m.opts.Send(view.ShowRecords{})
}

// showRecords gives the list to the dialog, if that is still open.
func (m *Model) showRecords(msg RecordsMsg) {
	for _, o := range m.dialogs.stack {
		if d, ok := o.(*recordsDialog); ok {
			d.none = "no records yet: an outage or a trial leaves one"
			d.take(&m.s, msg.Lines)
		}
	}
}

func (d *recordsDialog) title() string { return "Records" }

func (d *recordsDialog) foot() string { return "enter report · y copy the path · esc close" }

func (d *recordsDialog) reading() bool { return true }

func (d *recordsDialog) toCopy() string {
	r, _ := d.selected()
	return r.Path
}

func (d *recordsDialog) press(p pressed) (view.Intent, bool) {
	r, ok := d.selected()
	by, moves := motions[p.name]
	switch {
	case moves:
		d.key(&d.m.s, by)
	case p.name == "enter" && ok:
		openReport(d.m, "Report of "+r.What, r.Path, func() string { return filepath.Join(r.Path, "report.html") })
	}
	return nil, p.name == "esc" || p.name == "q" || p.name == "H"
}

// verdictMeans explains the words of the column VERDICT: of trials, of outages, and of records without a summary.
var verdictMeans = map[string]string{
	string(view.Pass):           "the outage and the return were seen, and every expectation was met",
	string(view.NoExpectations): "the outage and the return were seen; the trial expects nothing",
	string(view.Fail):           "an expectation was not met, or a step failed",
	string(view.NotObserved):    "lightsout could not prove the outage, the return or an expectation",
	string(view.Aborted):        "the trial was ended early",
	"no request failed":         "requests were sent during the outage, and none of them failed",
	"degraded":                  "requests failed, and others succeeded meanwhile",
	"down":                      "three requests or more failed while none succeeded for at least 3 s, or since",
	"unknown":                   "too few requests were sent to tell what clients noticed",
	"recording":                 "a program is writing it",
	"breaks off":                "lightsout ended before the outage did",
	"cut short":                 "lightsout ended before the trial was judged; its report has what was recorded",
	"unreadable":                "its files can't be read",
}

// draw lists the records, and below them what the verdict of the one under the cursor means, and the command that
// replays it.
func (d *recordsDialog) draw(s *scene, w, h int) ([]string, int) {
	var below []string
	if r, ok := d.selected(); ok {
		if means := verdictMeans[r.Verdict]; means != "" {
			below = wrap(s.t.text(r.Verdict+": "+means), w)
		}
		below = append(below, wrap(s.t.text(text.Self+" replay "+text.ShellWord(r.Path)), w)...)
	}
	lines := d.list.draw(s, w, max(3, min(h-len(below)-1, d.lines())), true)
	lines = append(lines, blank(w))
	for _, l := range below {
		lines = append(lines, newRow(w).put(s.t.dim, l).String())
	}
	return lines, w
}
