package text

import (
	"strconv"
	"strings"
	"unicode"
)

// Visible writes control characters and other invisible characters as Go escapes, as
// "\x1b", so that a terminal shows them and does not obey them. Line ends stay.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
