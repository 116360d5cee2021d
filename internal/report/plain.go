package report

import (
	"io"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// Text writes what report.md says for a screen of so many columns, without
// colours or control characters. The error is the writer's.
func Text(w io.Writer, r *record.Record, columns int) error {
	var b strings.Builder
	line := func(indent, s string) {
		for i, part := range text.Wrap(s, max(20, columns-len(indent))) {
			if i > 0 {
				indent = strings.Repeat(" ", len(indent))
			}
			b.WriteString(indent + part + "\n")
		}
	}
	p := pageOf(r)
	line("", p.Title+": "+p.Verdict.Text)
	for _, l := range p.Loud {
		line("! ", l.Text)
	}
	for _, why := range p.Why {
		line("- ", why)
	}
	b.WriteString("\n")
	if p.About != "" {
		line("", p.About)
		b.WriteString("\n")
	}
	b.WriteString(strings.Join(p.Facts.within(columns), "\n") + "\n")
	for _, s := range p.Sections {
		b.WriteString("\n" + s.Title + "\n" + strings.Repeat("═", text.Width(s.Title)) + "\n")
		for _, l := range s.Lead {
			line("", l.Text)
		}
		if len(s.Rows) > 0 {
			for _, l := range s.within(columns) {
				b.WriteString(l + "\n")
			}
		}
		for _, l := range s.Items {
			line("- ", l.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
