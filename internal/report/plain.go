package report

import (
	_ "embed"
	"io"
	"strings"
	"text/template"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

//go:embed page.txt
var plainText string

// Text writes what report.md says for a screen of so many columns, without
// colours or control characters. The error is the writer's.
func Text(w io.Writer, r *record.Record, columns int) error {
	return writeTemplate(w, plainTemplate(columns).ExecuteTemplate, "page", pageOf(r))
}

func plainTemplate(columns int) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"wrap": func(indent, s string) string {
			lines := text.Wrap(s, max(20, columns-len(indent)))
			return indent + strings.Join(lines, "\n"+strings.Repeat(" ", len(indent))) + "\n"
		},
		"table": func(s section) string { return strings.Join(s.within(columns), "\n") + "\n" },
		"rule":  func(title string) string { return strings.Repeat("═", text.Width(title)) },
	}).Parse(plainText))
}
