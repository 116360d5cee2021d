package loadgen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text from a server or a network error harmless for a terminal
// and a log: one line, no control or formatting characters (which include
// escapes and bidirectional overrides), valid UTF-8, at most limit runes.
func clean(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case r == utf8.RuneError, !unicode.IsPrint(r):
			r = '?'
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= limit {
			b.WriteString("...")
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
