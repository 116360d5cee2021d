package terminal

import (
	"strings"
	"time"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

const lineTime = "15:04:05.000"

// lineMost bounds each part of a line, in bytes: no text of ours is so long.
const lineMost = 2000

// EventLine writes an event as one line: a time of day, offset from the trial's zero if
// there is one, lane, subject, text. The line is safe for a terminal.
func EventLine(at time.Time, e view.Event) string {
	parts := []string{at.Format(lineTime)}
	if e.Offset != nil {
		parts = append(parts, text.Offset(time.Duration(*e.Offset*float64(time.Second)), e.When().Exact()))
	}
	subject := e.Subject
	if subject == string(e.Lane) {
		subject = "" // an example is the load
	}
	for _, p := range []string{string(e.Lane), subject, e.Sentence()} {
		if len(p) > lineMost {
			p = text.Clean(p, lineMost)
		}
		if p = strings.TrimSpace(text.Cells(p)); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}
