package text

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible writes control characters and other invisible characters as Go escapes, as
// "\x1b", so that a terminal shows them and does not obey them, and that two names that
// differ in one look different. Line ends stay. Making a text visible twice changes
// nothing.
func Visible(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if _, kind, _ := next(string(r)); r == '\n' || unicode.IsPrint(r) && kind != hidden {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// VisibleLine is Visible in one line: line ends are escapes too.
func VisibleLine(s string) string { return strings.ReplaceAll(Visible(s), "\n", `\n`) }
