package yamlfile

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxNumber and MaxTime are more than any plan has a use for.
const (
	MaxNumber = 1_000_000
	MaxTime   = 24 * time.Hour
)

// Is describes n in words, for errors.
func Is(n *yaml.Node) string {
	switch what := typeOf(n); what {
	case "a number":
		return "the number " + Shorten(n.Value, 40)
	case "true or false":
		return n.Value
	case "a date":
		return "the date " + n.Value
	case "text":
		return "the text " + Quote(n.Value)
	default:
		return what
	}
}

// typeOf is Is without the value.
func typeOf(n *yaml.Node) string { return cmp.Or(types[n.ShortTag()], "text") }

// types names the values by their tags; any other is text.
var types = map[string]string{
	"!!seq": "a list", "!!map": "a group of fields", "!!null": "empty", "!!int": "a number", "!!float": "a number",
	"!!bool": "true or false", "!!timestamp": "a date",
}

// IsNot describes what n is, after "must be …, ".
func IsNot(n *yaml.Node) string {
	if isNull(n) {
		return "and it is empty"
	}
	return "not " + Is(n)
}

// Unwanted returns the error that n does not have the required kind: "peak_served must
// be a whole number, not the text "many"".
func Unwanted(n *yaml.Node, name, wanted string) error {
	return ErrorAt(n.Line, "%s must be %s, %s", name, wanted, IsNot(n))
}

// Text reads words for people: printable, at most limit characters.
func Text(n *yaml.Node, name string, limit int) (string, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			hint = "; put it in quotes"
		}
		return "", ErrorAt(n.Line, "%s must be text, %s%s", name, IsNot(n), hint)
	}
	s := strings.TrimSpace(n.Value)
	switch {
	case s == "":
		return "", ErrorAt(n.Line, "%s is empty", name)
	case utf8.RuneCountInString(s) > limit:
		return "", ErrorAt(n.Line, "%s is longer than %d characters", name, limit)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return "", ErrorAt(n.Line, "%s holds an invisible character (U+%04X): take it out", name, r)
	}
	return s, nil
}

// Bool reads true or false.
func Bool(n *yaml.Node, name string) (v bool, err error) {
	if n.ShortTag() != "!!bool" || n.Decode(&v) != nil {
		return false, Unwanted(n, name, "true or false")
	}
	return v, nil
}

// Count reads a whole number from 1 to most.
func Count(n *yaml.Node, name string, most int) (v int, err error) {
	if n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		return 0, Unwanted(n, name, "a whole number")
	}
	return v, inRange(n, name, v < 1, "1", v > most, strconv.Itoa(most))
}

// inRange returns the error about a value that is too small or too large.
func inRange(n *yaml.Node, name string, small bool, least string, large bool, most string) error {
	switch {
	case small:
		return ErrorAt(n.Line, "%s must be at least %s, not %s", name, least, Shorten(n.Value, 40))
	case large:
		return ErrorAt(n.Line, "%s can be at most %s, not %s", name, most, Shorten(n.Value, 40))
	}
	return nil
}

// IsNumber reports a number.
func IsNumber(n *yaml.Node) bool { return typeOf(n) == "a number" }

// Number reads a number from 0 to MaxNumber.
func Number(n *yaml.Node, name string) (v float64, err error) {
	if !IsNumber(n) || n.Decode(&v) != nil || math.IsNaN(v) {
		return 0, Unwanted(n, name, "a number")
	}
	return v, inRange(n, name, v < 0, "0", v > MaxNumber, strconv.Itoa(MaxNumber))
}

const likeTime = "a time written like 90s or 30m"

// Duration reads a time like 90s or 30m, from 1ms (or 0 if zero is set) to 24h.
func Duration(n *yaml.Node, name string, zero bool) (time.Duration, error) {
	if IsNumber(n) {
		return 0, ErrorAt(n.Line, "%s must be %s, %s, which has no unit", name, likeTime, IsNot(n))
	}
	d, err := time.ParseDuration(n.Value) // a group or a list has no text
	if err != nil {
		return 0, Unwanted(n, name, likeTime)
	}
	return d, inRange(n, name, d < time.Millisecond && !(zero && d == 0), "1ms", d > MaxTime, "24h")
}

// Quote puts s in quotes, shortened, with nothing in it that could harm a terminal.
func Quote(s string) string { return strconv.Quote(Shorten(s, 60)) }

// Shorten cuts s to at most limit characters, the last of which is then …
func Shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
