package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"lightsout/internal/record"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

// classOf is the class of a cell: figures, and its tone.
func classOf(head []column, i int, c cell) string {
	return strings.TrimSpace(map[bool]string{true: "n "}[head[i].Figures] + string(c.Tone))
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"classOf": classOf}).Parse(pageText))

// asHTML writes report.html: one file that needs no network and no script, with the
// record drawn on one time axis and, below, the tables of Markdown. Records that are
// long are drawn in columns of several seconds, so that the file stays below a
// megabyte. Without a summary the page reports that there is no verdict. The error is
// the writer's.
func asHTML(w io.Writer, r *record.Record) error {
	p := pageOf(r)
	return writeTemplate(w, pageTemplate.ExecuteTemplate, "page", struct {
		*page
		Style   template.CSS
		Picture template.HTML
	}{p, template.CSS(styleText), template.HTML(picture(r, p.Opening))})
}
