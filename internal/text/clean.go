package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"
)

// marksMost is how many combining marks a letter keeps; more of them only pile
// up over neighbouring rows.
const marksMost = 2

// Clean makes a text from outside harmless for a terminal, a log and a record,
// and puts it on one line: whole escape sequences, control characters,
// bidirectional overrides, zero-width and other invisible characters go, as do
// combining marks beyond the second of a letter; white space becomes single
// blanks; invalid UTF-8 and code points without a character become U+FFFD. Clean cuts a
// text to most characters and ends it in "…". Cleaning a clean text changes
// nothing.
func Clean(s string, most int) string {
	if len(s) <= most && printable(s) && !strings.Contains(s, "  ") && strings.TrimSpace(s) == s {
		return s
	}
	var b strings.Builder
	n, marks, blank := 0, 0, false
	for rest := s; rest != ""; {
		r, kind, size := next(rest)
		rest = rest[size:]
		switch kind {
		case hidden:
			continue
		case space:
			blank = n > 0
			continue
		case mark:
			if marks++; n == 0 || blank || marks > marksMost {
				continue
			}
		default:
			marks = 0
		}
		need := 1
		if blank {
			need = 2
		}
		if n+need > most {
			b.WriteString("…")
			break
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
		n += need
	}
	return b.String()
}

// Cells makes a text from outside fit for one line of a screen that counts
// cells: as Clean, but without a limit, blanks stay as many as they are, and
// characters of whose width terminals think differently become U+FFFD.
func Cells(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !western(r) }) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks, letter := 0, false // letter: there is one that a mark can sit on
	for rest := s; rest != ""; {
		r, kind, size := next(rest)
		rest = rest[size:]
		switch {
		case kind == hidden:
		case kind == space:
			b.WriteByte(' ')
			letter = false
		case kind == mark:
			if marks++; letter && marks <= marksMost && runeWidth(r) == 0 {
				b.WriteRune(r)
			}
		case runeWidth(r) == 0:
		default:
			if r >= 0x1F000 && r < 0x20000 || r >= 0xE0000 {
				r = utf8.RuneError
			}
			b.WriteRune(r)
			marks, letter = 0, r != utf8.RuneError
		}
	}
	out := b.String()
	if agreed(out) {
		return out
	}
	if out = voiced.ReplaceAllStringFunc(out, norm.NFKC.String); agreed(out) {
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

// agreed reports whether terminals that count characters and those that count graphemes
// give a text the same width.
func agreed(s string) bool { return ansi.StringWidth(s) == ansi.StringWidthWc(s) }

// voiced is half-width kana with its voiced mark: one cell for some terminals, two for
// others. The full-width letter that means the same is two for all.
var voiced = regexp.MustCompile("[ｦ-ﾝ][ﾞﾟ]")

// kind is the treatment of a character.
type kind int

const (
	visible kind = iota
	mark         // sits on the letter before it
	space        // becomes a blank
	hidden       // goes
)

// next tells the first character of s, which is not empty, or the escape sequence that s begins with,
// and its length in bytes. A sequence without an end takes the rest of its line. Of one that begins
// with a single C1 character only that character goes.
func next(s string) (rune, kind, int) {
	if s[0] == ansi.ESC {
		line, _, _ := strings.Cut(s, "\n")
		_, _, n, _ := ansi.DecodeSequence(line, ansi.NormalState, nil)
		return 0, hidden, n
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r >= ' ' && r <= '~' && r != ' ', r == utf8.RuneError:
		return r, visible, size
	case unicode.IsSpace(r), unicode.In(r, unicode.Z):
		return r, space, size
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return r, hidden, size
	case unicode.In(r, unicode.Mn, unicode.Me):
		return r, mark, size
	case !unicode.IsPrint(r): // not assigned, or no character at all
		return utf8.RuneError, visible, size
	}
	return r, visible, size
}

// printable: printable ASCII only.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
