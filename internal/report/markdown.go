package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"lightsout/internal/record"
)

//go:embed page.md
var markdownText string

var markdownTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"md": md, "cell": mdCell}).Parse(markdownText))

// writeTemplate writes what the template of that name, of either kind, makes of
// data.
func writeTemplate(w io.Writer, execute func(io.Writer, string, any) error, name string, data any) error {
	var b bytes.Buffer
	if err := execute(&b, name, data); err != nil {
		return fmt.Errorf("the report can't be written: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// asMarkdown writes report.md: the verdict and its reasons, then every table, as GitHub's
// Markdown. Without a summary the report states that there is no verdict. The error is
// the writer's.
func asMarkdown(w io.Writer, r *record.Record) error {
	return writeTemplate(w, markdownTemplate.ExecuteTemplate, "page", pageOf(r))
}

// mdCell sets bad values, and those that the reader must know, in bold.
func mdCell(c cell) string {
	if (c.Tone == bad || c.Tone == warning) && c.Text != "" {
		return "**" + md(c.Text) + "**"
	}
	return md(c.Text)
}

// md escapes a clean text, so that Markdown shows it as it is: no markup, no
// HTML, no entity, no link, no end of a table's cell, no list or heading at its
// beginning.
func md(s string) string {
	var b strings.Builder
	r := []rune(s)
	for i, c := range r {
		switch {
		case strings.ContainsRune("\\`*[]<>|~&$", c),
			c == '_' && !(i > 0 && i+1 < len(r) && wordRune(r[i-1]) && wordRune(r[i+1])),
			c == ':' && i+1 < len(r) && r[i+1] == '/',
			c == '.' && i > 2 && strings.EqualFold(string(r[i-3:i]), "www"),
			i == 0 && strings.ContainsRune("#+-=", c),
			(c == '.' || c == ')') && i > 0 && (i+1 == len(r) || r[i+1] == ' ') && strings.Trim(string(r[:i]), "0123456789") == "":
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func wordRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}
