package cli

import (
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

const lineTime = "15:04:05.000"

// lineMost bounds each part of a line, in bytes: no text of ours is so long.
const lineMost = 2000

// eventLine writes an event as one line: time of day, offset from the trial's
// zero where there is one, lane, subject, text. It is harmless for a terminal.
func eventLine(e view.Event) string {
	parts := []string{e.At.Format(lineTime)}
	if e.Offset != nil {
		parts = append(parts, text.Offset(time.Duration(*e.Offset*float64(time.Second)), true))
	}
	for _, p := range []string{string(e.Lane), e.Subject, e.Sentence()} {
		if len(p) > lineMost {
			p = text.Clean(p, lineMost)
		}
		if p = strings.TrimSpace(text.Cells(p)); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

// plainMarks stand before a line of a question, by its level.
var plainMarks = map[view.Severity]string{view.Info: "  ", view.Good: "+ ", view.Warning: "! ", view.Bad: "x "}

// questionLines writes a question as plain lines, harmless for a terminal.
func questionLines(q view.Question) []string {
	out := []string{text.Cells(q.Title)}
	for _, l := range q.Lines {
		out = append(out, plainMarks[l.Level]+text.Cells(l.Text))
	}
	return out
}
