package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// runeWidth is a character's cells. Box drawing and blocks are one cell: where
// they are not, ASCII is drawn instead.
func runeWidth(r rune) int {
	switch {
	case western(r) || r >= 0x2500 && r < 0x25A0:
		return 1
	case r >= symbolsFrom && r < symbolsTo:
		return int(symbolWidths()[r-symbolsFrom])
	}
	return ansi.StringWidthWc(string(r))
}

// western reports whether r is a printable character of Latin-1, a dash or an ellipsis:
// one cell wide for every terminal, whatever is beside it. The soft hyphen is not one.
func western(r rune) bool {
	return r >= ' ' && r <= '~' || r >= 0xA1 && r <= 0xFF && r != 0xAD || r == '–' || r == '—' || r == '…'
}

// The Unicode blocks from General Punctuation to Miscellaneous Symbols and Arrows hold
// most characters of a screen that are not ASCII.
const symbolsFrom, symbolsTo = 0x2000, 0x2C00

var symbolWidths = sync.OnceValue(func() *[symbolsTo - symbolsFrom]uint8 {
	var widths [symbolsTo - symbolsFrom]uint8
	for i := range widths {
		widths[i] = uint8(ansi.StringWidthWc(string(rune(symbolsFrom + i))))
	}
	return &widths
})

// Width is the number of cells that a clean text takes on a terminal.
func Width(s string) int {
	if printable(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// CutLeft gives the longest start of s that fits w cells, and its width.
func CutLeft(s string, w int) (string, int) {
	if printable(s) {
		n := min(len(s), max(w, 0))
		return s[:n], n
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

// CutRight gives the longest end of s that fits w cells. It never starts with
// a combining mark.
func CutRight(s string, w int) string {
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

// Fit shortens s to at most w cells, with an ellipsis at its end.
func Fit(s string, w int, ellipsis string) string {
	if Width(s) <= w {
		return s
	}
	if w <= Width(ellipsis) {
		out, _ := CutLeft(ellipsis, w)
		return out
	}
	out, _ := CutLeft(s, w-Width(ellipsis))
	return strings.TrimRight(out, " ") + ellipsis
}

// Pad fills s up to w cells with blanks at its end.
func Pad(s string, w int) string { return s + strings.Repeat(" ", max(w-Width(s), 0)) }

// Columns sets rows of clean texts in columns, two blanks apart. The last text of a row
// takes no part in the width of its column.
func Columns(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i := range len(row) - 1 {
			widths[i] = max(widths[i], Width(row[i]))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		for i, s := range row {
			if i < len(row)-1 {
				s = Pad(s, widths[i]+2)
			}
			lines[n] += s
		}
	}
	return lines
}

// Middle shortens s to at most w cells and keeps its end, which is what tells
// the pods of a deployment apart: "llm-…-2xk4q". A name whose last part is longer than such a hash
// loses its end: "llm-jp-3…".
func Middle(s string, w int, ellipsis string) string {
	if Width(s) <= w {
		return s
	}
	room := w - Width(ellipsis)
	if room < 4 {
		return Fit(s, w, ellipsis)
	}
	tail := room / 2
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		switch last := Width(s[i:]); {
		case last > len("-2xk4q") && !strings.ContainsAny(s, "/ "):
			return Fit(s, w, ellipsis)
		case last <= room-2:
			tail = last
		}
	}
	head, _ := CutLeft(s, room-tail)
	return head + ellipsis + CutRight(s, tail)
}

// Wrap breaks a clean text into lines of at most w cells, between words where
// it can. There is at least one line, unless w is less than 1.
func Wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(s) {
		ww := Width(word)
		if n > 0 && n+1+ww <= w {
			line, n = line+" "+word, n+1+ww
			continue
		}
		if n > 0 {
			lines = append(lines, line)
		}
		for ww > w {
			head, hw := CutLeft(word, w)
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

// Hang breaks a line between words for a terminal of w cells: its further lines stand two cells to the right
// of the first. A word that is too long, such as a path, stays whole. Width 0: nobody sees the line on a terminal, and
// it stays whole.
func Hang(line string, w int) (out []string) {
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	for w > 0 && Width(indent+rest) > w {
		head, _ := CutLeft(rest, w-len(indent)+1)
		i := max(strings.LastIndexByte(head, ' '), strings.IndexByte(rest, ' '))
		if i < 0 {
			break
		}
		out = append(out, indent+strings.TrimRight(rest[:i], " "))
		rest = strings.TrimLeft(rest[i:], " ")
		if len(out) == 1 {
			indent += "  "
		}
	}
	return append(out, indent+rest)
}

// likeness maps signs to similar ones in printable ASCII.
var likeness = map[rune]rune{'…': '.', '·': '.', '–': '-', '—': '-', '←': '<', '→': '>', '↑': '^', '↓': 'v', '×': 'x'}

// ASCII writes a clean text in printable ASCII: a likeness where there is one,
// else a question mark.
func ASCII(s string) string {
	if printable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch like := likeness[r]; {
		case r >= ' ' && r <= '~':
			return r
		case like != 0:
			return like
		case unicode.In(r, unicode.Mn, unicode.Me):
			return -1
		}
		return '?'
	}, s)
}
