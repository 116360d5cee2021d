package tui

import (
	"lightsout/internal/view"
	"strings"
	"time"
)

const lineTime = "15:04:05.000"

// Line writes an event as one line: time of day, offset from the trial's zero
// where there is one, lane, subject, text.
func Line(e view.Event) string {
	parts := []string{e.At.Format(lineTime)}
	if e.Offset != nil {
		parts = append(parts, signed(time.Duration(*e.Offset*float64(time.Second)), true))
	}
	for _, p := range []string{string(e.Lane), e.Subject, eventText(plainTheme, e)} {
		if p = strings.TrimSpace(clean(p)); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

var plainTheme = newTheme(glyphsUnicode, true)

// plainMarks stand before a line of a question, by its level.
var plainMarks = map[view.Severity]string{view.Info: "  ", view.Good: "+ ", view.Warning: "! ", view.Bad: "x "}

// QuestionLines writes a question as plain lines, harmless for a terminal.
func QuestionLines(q view.Question) []string {
	out := []string{clean(q.Title)}
	for _, l := range q.Lines {
		out = append(out, plainMarks[l.Level]+clean(l.Text))
	}
	return out
}
