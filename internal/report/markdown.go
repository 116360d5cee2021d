package report

import (
	"bytes"
	"io"
	"strings"

	"lightsout/internal/record"
)

// Markdown writes report.md: the verdict and its reasons, then every table, as
// GitHub's Markdown. A record without a summary gives a report that says that it
// was never judged. The error is the writer's.
func Markdown(w io.Writer, r *record.Record) error {
	var b bytes.Buffer
	p := pageOf(r)
	b.WriteString("# " + md(p.Title) + ": " + md(p.Verdict.Text) + "\n\n")
	for _, l := range p.Loud {
		b.WriteString("> **" + md(l.Text) + "**\n\n")
	}
	for _, why := range p.Why {
		b.WriteString("- " + md(why) + "\n")
	}
	if len(p.Why) > 0 {
		b.WriteString("\n")
	}
	if p.About != "" {
		b.WriteString(md(p.About) + "\n\n")
	}
	mdTable(&b, p.Facts)
	for _, s := range p.Sections {
		b.WriteString("\n## " + md(s.Title) + "\n")
		mdSection(&b, s)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func mdSection(b *bytes.Buffer, s section) {
	for _, l := range s.Lead {
		b.WriteString("\n" + mdCell(l) + "\n")
	}
	if len(s.Rows) > 0 {
		b.WriteString("\n")
		mdTable(b, s)
	}
	if len(s.Items) > 0 {
		b.WriteString("\n")
	}
	for _, l := range s.Items {
		b.WriteString("- " + md(l.Text) + "\n")
	}
}

func mdTable(b *bytes.Buffer, s section) {
	rule := "|"
	b.WriteString("|")
	for _, h := range s.Head {
		b.WriteString(" " + md(h.Name) + " |")
		if h.Figures {
			rule += "---:|"
		} else {
			rule += "---|"
		}
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range s.Rows {
		b.WriteString("|")
		for _, c := range row {
			b.WriteString(" " + mdCell(c) + " |")
		}
		b.WriteString("\n")
	}
}

// mdCell sets off what is bad or must be known in bold.
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
			(c == '.' || c == ')') && i > 0 && (i+1 == len(r) || r[i+1] == ' ') && digits(r[:i]):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func wordRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}

func digits(r []rune) bool {
	for _, c := range r {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
