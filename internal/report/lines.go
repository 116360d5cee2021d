package report

import (
	"cmp"
	"math"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// Lines tells a summary as plain lines, without colours or control characters: the verdict with its
// reasons, the expectations, forecast against observed, and the ledger. Its tables fit a terminal of width
// columns; who prints its sentences breaks them. Width 0: nobody sees it on a terminal, and each row is one line.
func Lines(s *record.Summary, width int) []string {
	out := text.Each(loud(s), func(l cell) string { return "! " + l.Text })
	add := func(indent, line string) { out = append(out, indent+line) }
	title := judged(s).Text + "  " + clean(s.Name)
	title += map[bool]string{true: " (" + clean(s.Pace) + " pace)"}[s.Pace != ""]
	add("", title)
	for _, w := range reasonsFor(s) {
		add("  ", w)
	}
	for _, t := range []section{expectationsOf(s), phaseLines(s)} {
		if len(t.Rows) > 0 {
			out = append(append(out, ""), t.within(cmp.Or(width, math.MaxInt))...)
		}
		for _, x := range t.Items {
			add("  ", x.Text)
		}
	}
	out = append(out, "", equation(s.Ledger).Text)
	return append(out, text.Each(blindOf(s).Items, func(b cell) string { return b.Text })...)
}

// phaseLines are the phases as the terminal shows them, with their notes below.
func phaseLines(s *record.Summary) section {
	t := section{}.columns("phase", "subject", "#forecast", "#observed", "inside")
	for _, p := range inOrder(s.Phases) {
		t.row(p.Name, brief(clean(p.Subject), 16), between(p.Predicted), observed(p), inside(p))
		if p.Note != "" {
			t.Items = append(t.Items, cell{Text: clean(p.Name + " " + p.Subject + ": " + p.Note)})
		}
	}
	return t
}
