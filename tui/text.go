package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxMarks is how many combining marks a letter keeps; more of them only pile
// up over neighbouring rows.
const maxMarks = 2

// clean makes a text from outside fit for one line of a terminal: control
// characters (and with them every escape sequence), line breaks and tabs
// become a space, bidirectional overrides and other invisible format
// characters go, invalid UTF-8 and glyphs whose width terminals disagree on
// become U+FFFD. The other packages do the like; a screen does not rely on it.
func clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks, open := 0, false // open: there is a letter that a mark can sit on
	for _, r := range s {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Zs):
			b.WriteByte(' ')
			marks, open = 0, false
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; open && marks <= maxMarks && ansi.StringWidthWc(string(r)) == 0 {
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
	out := b.String()
	if ansi.StringWidth(out) == ansi.StringWidthWc(out) {
		return out
	}
	// The two ways in which terminals count cells differ for this text: keep
	// only what they agree on.
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x300, unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana), r >= 0xAC00 && r <= 0xD7A3:
			return r
		case runeWidth(r) == 0:
			return -1
		}
		return utf8.RuneError
	}, out)
}

// isPlain: printable ASCII only.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// onlyASCII replaces every other character by a question mark.
func onlyASCII(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~':
			return r
		case r == '…', r == '·':
			return '.'
		case r == '–', r == '—':
			return '-'
		case r == '←':
			return '<'
		case r == '→':
			return '>'
		case r == '↑':
			return '^'
		case r == '↓':
			return 'v'
		case r == '×':
			return 'x'
		case unicode.In(r, unicode.Mn, unicode.Me):
			return -1
		}
		return '?'
	}, s)
}

// runeWidth is a character's cells. Box drawing and blocks are one cell: where
// they are not, New chooses the ASCII theme.
func runeWidth(r rune) int {
	if r >= ' ' && r <= '~' || r >= 0x2500 && r < 0x25A0 {
		return 1
	}
	return ansi.StringWidthWc(string(r))
}

// width is the number of cells of a cleaned text without escape sequences.
func width(s string) int {
	if isPlain(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// cutLeft gives the longest start of s that fits w cells, and its width.
func cutLeft(s string, w int) (string, int) {
	if isPlain(s) {
		if len(s) <= w {
			return s, len(s)
		}
		w = max(w, 0)
		return s[:w], w
	}
	n := 0
	for i, r := range s {
		rw := runeWidth(r)
		if n+rw > w {
			return s[:i], n
		}
		n += rw
	}
	return s, n
}

// cutRight gives the longest end of s that fits w cells. It never starts
// with a combining mark.
func cutRight(s string, w int) string {
	i, n := len(s), 0
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		rw := runeWidth(r)
		if n+rw > w {
			break
		}
		n += rw
		i -= size
	}
	return strings.TrimLeftFunc(s[i:], func(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) })
}

// fit shortens s to at most w cells, with an ellipsis at its end.
func fit(s string, w int, ellipsis string) string {
	if width(s) <= w {
		return s
	}
	if w <= width(ellipsis) {
		out, _ := cutLeft(ellipsis, w)
		return out
	}
	out, _ := cutLeft(s, w-width(ellipsis))
	return strings.TrimRight(out, " ") + ellipsis
}

// middle shortens s to at most w cells and keeps its end, which is what tells
// the pods of a deployment apart: "llm-…-2xk4q".
func middle(s string, w int, ellipsis string) string {
	if width(s) <= w {
		return s
	}
	ew := width(ellipsis)
	room := w - ew
	if room < 4 {
		return fit(s, w, ellipsis)
	}
	tail := room / 2
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		if last := width(s[i:]); last <= room*2/3 {
			tail = last
		}
	}
	head, _ := cutLeft(s, room-tail)
	return head + ellipsis + cutRight(s, tail)
}

// wrap breaks a cleaned text into lines of at most w cells, between words
// where it can.
func wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(s) {
		ww := width(word)
		if n > 0 && n+1+ww <= w {
			line, n = line+" "+word, n+1+ww
			continue
		}
		if n > 0 {
			lines = append(lines, line)
		}
		for ww > w {
			head, hw := cutLeft(word, w)
			if hw == 0 { // a wide letter in a single cell
				return append(lines, "?")
			}
			lines = append(lines, head)
			word, ww = word[len(head):], ww-hw
		}
		line, n = word, ww
	}
	if n > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
