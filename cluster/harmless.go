package cluster

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMax is the most bytes kept of a text from the cluster.
const textMax = 1024

// harmless makes a text from the cluster fit for a terminal and a log: each
// control character (C0, DEL, C1, so also every ANSI escape), line or paragraph
// separator, bidirectional override and other invisible format character
// becomes a space or goes, invalid UTF-8 becomes U+FFFD, runs of spaces are
// one, and what is longer than textMax bytes is cut. The result is one line.
func harmless(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	space := true // swallows leading spaces
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
		if b.Len()+utf8.RuneLen(r) > textMax-len("…") {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
		space = false
	}
	return strings.TrimRight(b.String(), " ")
}

// plain: printable ASCII without double spaces or spaces at its ends.
func plain(s string) bool {
	if len(s) > textMax {
		return false
	}
	last := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c > '~' || (c == ' ' && last == ' ') {
			return false
		}
		last = c
	}
	return last != ' ' || s == ""
}
