package tui

import "lightsout/trial"

// plainMarks stand before a line of a question, by its level.
var plainMarks = map[trial.Severity]string{trial.Info: "  ", trial.Good: "+ ", trial.Warning: "! ", trial.Bad: "✕ "}

// QuestionLines writes a question as plain lines, harmless for a terminal.
func QuestionLines(q trial.Question) []string {
	out := []string{clean(q.Title)}
	for _, l := range q.Lines {
		out = append(out, plainMarks[l.Level]+clean(l.Text))
	}
	return out
}
