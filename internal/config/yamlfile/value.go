package yamlfile

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/text"
)

// MaxNumber and MaxTime are more than any plan has a use for.
const (
	MaxNumber = 1_000_000
	MaxTime   = 24 * time.Hour
)

// Group is a mapping whose fields are all known and given once, by name.
type Group map[string]Field

// Field is one field of a Group.
type Field struct{ Key, Value *yaml.Node }

// Fields reads n as a group of fields. what says what it is ("a plan", "a
// load"), known are the names it may have.
func Fields(n *yaml.Node, what string, known ...string) (Group, error) {
	g, faults := AllFields(n, what, known...)
	if len(faults) > 0 {
		return g, faults[0]
	}
	return g, nil
}

// AllFields is Fields with all faults; those fields are left out of the group.
func AllFields(n *yaml.Node, what string, known ...string) (g Group, faults []error) {
	g = Group{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		first, twice := g[k.Value]
		near := Suggest(k.Value, known)
		switch {
		case k.Kind != yaml.ScalarNode:
			faults = append(faults, ErrorAt(k.Line, "the name of a field in %s can't be %s", what, Is(k)))
		case twice:
			faults = append(faults, ErrorAt(k.Line, "%s is given twice in %s; the first is on line %d", Quote(k.Value), what, first.Key.Line))
		case slices.Contains(known, k.Value):
			g[k.Value] = Field{k, v}
		case near != "":
			faults = append(faults, ErrorAt(k.Line, "there is no field %s in %s; did you mean %q?", Quote(k.Value), what, near))
		default:
			faults = append(faults, ErrorAt(k.Line, "there is no field %s in %s; it may have %s", Quote(k.Value), what, text.List(known)))
		}
	}
	return g, faults
}

// Is says in words what n is, for errors.
func Is(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a group of fields"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "the number " + Shorten(n.Value, 40)
	case "!!bool":
		return n.Value
	case "!!timestamp":
		return "the date " + n.Value
	}
	return "the text " + Quote(n.Value)
}

// IsNot says what n is after "must be …, ".
func IsNot(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return "and it is empty"
	}
	return "not " + Is(n)
}

// Unwanted is the error that n is not what is wanted: "peak_served must be a
// whole number, not the text "many"".
func Unwanted(n *yaml.Node, name, wanted string) error {
	hint := ""
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 &&
		(decimal.MatchString(n.Value) || n.Value == "true" || n.Value == "false") {
		hint = "; leave the quotes out"
	}
	return ErrorAt(n.Line, "%s must be %s, %s%s", name, wanted, IsNot(n), hint)
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
	s := n.Value
	switch {
	case strings.TrimSpace(s) == "":
		return "", ErrorAt(n.Line, "%s is empty", name)
	case utf8.RuneCountInString(s) > limit:
		return "", ErrorAt(n.Line, "%s is longer than %d characters", name, limit)
	case s != strings.TrimSpace(s):
		return "", ErrorAt(n.Line, "%s begins or ends with a space: %s", name, Quote(s))
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return "", ErrorAt(n.Line, "%s holds an invisible character (U+%04X): take it out", name, r)
	}
	return s, nil
}

// Bool reads true or false.
func Bool(n *yaml.Node, name string) (bool, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		switch n.Value {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, Unwanted(n, name, "true or false")
}

var (
	whole   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// Count reads a whole number from 1 to most.
func Count(n *yaml.Node, name string, most int) (int, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || !whole.MatchString(n.Value) {
		return 0, Unwanted(n, name, "a whole number")
	}
	v, err := strconv.Atoi(n.Value)
	switch {
	case strings.HasPrefix(n.Value, "-"), err == nil && v == 0:
		return 0, ErrorAt(n.Line, "%s must be at least 1, not %s", name, Shorten(n.Value, 40))
	case err != nil, v > most:
		return 0, ErrorAt(n.Line, "%s can be at most %d, not %s", name, most, Shorten(n.Value, 40))
	}
	return v, nil
}

// IsNumber reports a number that is written in decimal.
func IsNumber(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str" && decimal.MatchString(n.Value)
}

// Number reads a number from 0 to MaxNumber that is written in decimal.
func Number(n *yaml.Node, name string) (float64, error) {
	if !IsNumber(n) {
		return 0, Unwanted(n, name, "a number")
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case v < 0 || v == 0 && strings.HasPrefix(n.Value, "-"):
		return 0, ErrorAt(n.Line, "%s can't be less than 0, as %s is", name, Shorten(n.Value, 40))
	case err != nil, math.IsNaN(v), v > MaxNumber:
		return 0, ErrorAt(n.Line, "%s can be at most %d, not %s", name, MaxNumber, Shorten(n.Value, 40))
	}
	return v, nil
}

// Duration reads a time like 90s or 30m, from 1ms (or 0 where zero says so) to
// 24h.
func Duration(n *yaml.Node, name string, zero bool) (time.Duration, error) {
	const like = "a time written like 90s or 30m"
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && decimal.MatchString(n.Value) {
			hint = ", which has no unit"
		}
		return 0, ErrorAt(n.Line, "%s must be %s, %s%s", name, like, IsNot(n), hint)
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		return 0, Unwanted(n, name, like)
	case d < 0:
		return 0, ErrorAt(n.Line, "%s can't be negative, as %s is", name, Shorten(n.Value, 40))
	case d > MaxTime:
		return 0, ErrorAt(n.Line, "%s can be at most 24h, not %s", name, Shorten(n.Value, 40))
	case d == 0 && zero:
		return 0, nil
	case d < time.Millisecond:
		return 0, ErrorAt(n.Line, "%s must be at least 1ms, not %s", name, Shorten(n.Value, 40))
	}
	return d, nil
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
