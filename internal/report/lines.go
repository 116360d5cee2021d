package report

import (
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// linesWidth is the most terminal columns that a line of Lines takes.
const linesWidth = 100

// Lines tells a summary as plain lines for a terminal, at most 100 columns wide
// and without colours or control characters: the verdict with its reasons, the
// expectations, forecast against observed, the ledger, and where the record is.
// dir is the record's folder; the last line is left out when it is empty.
func Lines(s *record.Summary, dir string) []string {
	var out []string
	add := func(indent, line string) { out = append(out, wrap(line, indent)...) }
	for _, l := range loud(s) {
		add("", "! "+l.Text)
	}
	title := judged(s).Text + "  " + clean(s.Name)
	if s.Pace != "" {
		title += " (" + clean(s.Pace) + " pace)"
	}
	add("", title)
	for _, w := range reasonsFor(s) {
		add("  ", w)
	}
	for _, t := range []section{expectationsOf(s), phaseLines(s)} {
		if len(t.Rows) > 0 {
			out = append(append(out, ""), t.within(linesWidth)...)
		}
		for _, x := range t.Items {
			add("  ", x.Text)
		}
	}
	out = append(out, "")
	add("", equation(s.Ledger).Text)
	for _, b := range blindOf(s).Items {
		add("", b.Text)
	}
	if dir != "" {
		// Not cut or wrapped: it is there to be copied.
		out = append(out, "record: "+text.Clean(dir, 4096))
	}
	return out
}

// phaseLines are the phases as the terminal shows them, with their notes below.
func phaseLines(s *record.Summary) section {
	var t section
	t.columns("phase", "subject")
	t.figures("forecast", "observed")
	t.columns("inside")
	for _, p := range inOrder(s.Phases) {
		t.row(p.Name, brief(clean(p.Subject), 16), between(p.Predicted), observed(p), inside(p))
		if p.Note != "" {
			t.Items = append(t.Items, cell{Text: clean(p.Name + " " + p.Subject + ": " + p.Note)})
		}
	}
	return t
}

// wrap breaks a text into lines; those after the first are indented by two more.
func wrap(line, indent string) []string {
	return strings.Split(indent+strings.Join(text.Wrap(line, linesWidth-len(indent)-2), "\n  "+indent), "\n")
}
