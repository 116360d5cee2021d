package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// What may stand in a text that is shown or kept, as each package that does so
// needs it: the rules that Clean and Cells are fuzzed against.

func clusterRule(s string) string {
	var b strings.Builder
	space := true
	for _, r := range s {
		switch {
		case r == ' ' || unicode.Is(unicode.Zs, r) || unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp):
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs):
			continue
		}
		b.WriteRune(r)
		space = false
	}
	return strings.TrimRight(b.String(), " ")
}

func loadgenRule(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError, !unicode.IsPrint(r):
			r = '?'
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// powerRule looks for no escape sequences: none can be left without one of the
// characters that begin them.
func powerRule(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
			return -1
		}
		return r
	}, strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " "))
}

func reportRule(s string) string {
	return strings.Map(func(r rune) rune {
		if r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF {
			return -1
		}
		return r
	}, powerRule(s))
}

func screenRule(s string) string {
	var b strings.Builder
	marks, open := 0, false
	for _, r := range s {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Zs):
			b.WriteByte(' ')
			marks, open = 0, false
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; open && marks <= 2 && ansi.StringWidthWc(string(r)) == 0 {
				b.WriteRune(r)
			}
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), r != ' ' && runeWidth(r) == 0:
		case r >= 0x1F000 && r < 0x20000, r >= 0xE0000:
			b.WriteRune(utf8.RuneError)
			marks, open = 0, false
		default:
			b.WriteRune(r)
			marks, open = 0, true
		}
	}
	return b.String()
}
