package report

import (
	"fmt"
	"lightsout/internal/view"
	"math"
	"strings"
	"time"
	"unicode"
)

// textMost is the most characters kept of one text of a record.
const textMost = 400

// none stands in a table for what is not there.
const none = "–"

// clean makes a text of a record harmless for a terminal and for every format
// here, and puts it on one line: whole escape sequences (ECMA-48), control
// characters, bidirectional overrides and other invisible format characters are
// taken out, white space becomes single blanks, invalid UTF-8 becomes U+FFFD, and
// what is longer than textMost characters is cut.
func clean(s string) string { return cleanTo(s, textMost) }

func cleanTo(s string, most int) string {
	if len(s) <= most && harmless(s) {
		return s
	}
	var b strings.Builder
	blank, n := false, 0
	for rest := []rune(s); len(rest) > 0; {
		if skip := escapeLen(rest); skip > 0 {
			rest = rest[skip:]
			continue
		}
		r := rest[0]
		rest = rest[1:]
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Zl, unicode.Zp):
			blank = b.Len() > 0
			continue
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), noncharacter(r):
			continue
		}
		if n >= most {
			b.WriteString("…")
			break
		}
		if blank {
			b.WriteByte(' ')
			blank = false
			n++
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// harmless: printable ASCII without double blanks or blanks at its ends.
func harmless(s string) bool {
	last := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}

// noncharacter reports code points that are in no text; XML 1.0 allows the
// first two nowhere.
func noncharacter(r rune) bool { return r&0xFFFE == 0xFFFE || (r >= 0xFDD0 && r <= 0xFDEF) }

// escapeLen is the length of the terminal escape sequence at the beginning of
// r; 0 if there is none.
func escapeLen(r []rune) int {
	kind, i := rune(0), 1
	switch {
	case r[0] == 0x1b && len(r) > 1:
		kind, i = r[1], 2
	case r[0] == 0x9b:
		kind = '['
	case r[0] == 0x9d, r[0] == 0x90:
		kind = ']'
	case r[0] == 0x1b:
		return 1
	}
	switch kind {
	case 0:
		return 0
	case '[': // CSI: parameters, then one final byte
		for ; i < len(r) && r[i] >= 0x20 && r[i] <= 0x3f; i++ {
		}
		if i < len(r) && r[i] >= 0x40 && r[i] <= 0x7e {
			i++
		}
		return i
	case ']', 'P', '_', '^', 'X': // strings: up to BEL or ST, on one line
		for j := i; j < len(r) && r[j] != '\n'; j++ {
			switch {
			case r[j] == 0x07 || r[j] == 0x9c:
				return j + 1
			case r[j] == 0x1b && j+1 < len(r) && r[j+1] == '\\':
				return j + 2
			}
		}
		return i
	}
	if kind >= 0x20 && kind <= 0x7e {
		return 2
	}
	return 1
}

// short cuts s in its middle to at most most characters.
func short(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := (most - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

// brief is short for a name, of which the namespace and the domain go first.
func brief(s string, most int) string {
	if _, name, ok := strings.Cut(s, "/"); ok && len([]rune(s)) > most {
		s = name
	}
	if host, _, ok := strings.Cut(s, "."); ok && host != "" && len([]rune(s)) > most {
		s = host
	}
	return short(s, most)
}

// offset writes seconds from zero as T+mm:ss.s.
func offset(s float64) string {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return none
	}
	sign := '+'
	if s < 0 {
		sign = '-'
	}
	tenths := math.Round(math.Abs(s) * 10)
	if tenths == 0 {
		sign = '+'
	}
	minutes := math.Floor(tenths / 600)
	return fmt.Sprintf("T%c%02.0f:%04.1f", sign, minutes, (tenths-minutes*600)/10)
}

func offsetOr(s *float64, other string) string {
	if s == nil {
		return other
	}
	return offset(*s)
}

// between writes an interval of offsets.
func between(p *[2]float64) string {
	if p == nil {
		return none
	}
	a, b := offset(p[0]), offset(p[1])
	if a == b {
		return a
	}
	return a + " – " + b
}

// seconds writes a length of time in seconds, with a tenth below 100.
func seconds(s float64) string {
	if math.Abs(s) >= 100 || s == math.Trunc(s) {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// moment writes a wall-clock time in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// distance is how far v lies outside the interval, in seconds: 0 inside,
// negative before it, positive after it.
func distance(v float64, p [2]float64) float64 {
	switch {
	case v < p[0]:
		return v - p[0]
	case v > p[1]:
		return v - p[1]
	}
	return 0
}

// inside tells in words where an observation lies against its forecast.
func inside(p view.Phase) (word string, ok bool) {
	if p.Predicted == nil || p.Observed == nil {
		return none, true
	}
	d := distance(*p.Observed, *p.Predicted)
	switch {
	case d < 0:
		return fmt.Sprintf("no, %.1f s early", -d), false
	case d > 0:
		return fmt.Sprintf("no, %.1f s late", d), false
	}
	return "yes", true
}

// observed tells when a phase was seen; a span with its beginning.
func observed(p view.Phase) string {
	switch {
	case p.Observed == nil:
		return "not observed"
	case p.From != nil:
		return window(p.From, p.Observed)
	}
	return offset(*p.Observed)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list joins words as in a sentence.
func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
