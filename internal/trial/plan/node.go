package plan

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxNumber and maxTime are more than any plan has a use for.
const (
	maxNumber = 1_000_000
	maxTime   = 24 * time.Hour
)

// group is a mapping whose fields are all known and given once.
type group struct {
	node *yaml.Node
	at   map[string]field
}

type field struct{ key, value *yaml.Node }

// fields reads n as a group of fields. what says what it is ("a plan", "a
// load"), known are the names it may have.
func fields(n *yaml.Node, what string, known ...string) (group, error) {
	g := group{node: n, at: map[string]field{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			return g, errorAt(k.Line, "the name of a field in %s can't be %s", what, is(k))
		}
		if first, twice := g.at[k.Value]; twice {
			return g, errorAt(k.Line, "%s is given twice in %s; the first is on line %d", quote(k.Value), what, first.key.Line)
		}
		if !slices.Contains(known, k.Value) {
			if near := suggest(k.Value, known); near != "" {
				return g, errorAt(k.Line, "there is no field %s in %s; did you mean %q?", quote(k.Value), what, near)
			}
			return g, errorAt(k.Line, "there is no field %s in %s; it may have %s", quote(k.Value), what, and(known))
		}
		g.at[k.Value] = field{k, v}
	}
	return g, nil
}

// is says in words what n is, for errors.
func is(n *yaml.Node) string {
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
		return "the number " + shorten(n.Value, 40)
	case "!!bool":
		return n.Value
	case "!!timestamp":
		return "the date " + n.Value
	}
	return "the text " + quote(n.Value)
}

// isNot says what n is after "must be …, ".
func isNot(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return "and it is empty"
	}
	return "not " + is(n)
}

// unwanted is the error that n is not what is wanted: "peak_served must be a
// whole number, not the text "many"".
func unwanted(n *yaml.Node, name, wanted string) error {
	hint := ""
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 &&
		(decimal.MatchString(n.Value) || n.Value == "true" || n.Value == "false") {
		hint = "; leave the quotes out"
	}
	return errorAt(n.Line, "%s must be %s, %s%s", name, wanted, isNot(n), hint)
}

// text reads words for people: printable, at most limit characters.
func text(n *yaml.Node, name string, limit int) (string, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			hint = "; put it in quotes"
		}
		return "", errorAt(n.Line, "%s must be text, %s%s", name, isNot(n), hint)
	}
	s := n.Value
	switch {
	case strings.TrimSpace(s) == "":
		return "", errorAt(n.Line, "%s is empty", name)
	case utf8.RuneCountInString(s) > limit:
		return "", errorAt(n.Line, "%s is longer than %d characters", name, limit)
	case s != strings.TrimSpace(s):
		return "", errorAt(n.Line, "%s begins or ends with a space: %s", name, quote(s))
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return "", errorAt(n.Line, "%s holds an invisible character (U+%04X): take it out", name, r)
	}
	return s, nil
}

func truth(n *yaml.Node, name string) (bool, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		switch n.Value {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, unwanted(n, name, "true or false")
}

var (
	whole   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// count reads a whole number from 1 to most.
func count(n *yaml.Node, name string, most int) (int, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || !whole.MatchString(n.Value) {
		return 0, unwanted(n, name, "a whole number")
	}
	v, err := strconv.Atoi(n.Value)
	switch {
	case strings.HasPrefix(n.Value, "-"), err == nil && v == 0:
		return 0, errorAt(n.Line, "%s must be at least 1, not %s", name, shorten(n.Value, 40))
	case err != nil, v > most:
		return 0, errorAt(n.Line, "%s can be at most %d, not %s", name, most, shorten(n.Value, 40))
	}
	return v, nil
}

// number reads a number from 0 to maxNumber that is written in decimal.
func number(n *yaml.Node, name string) (float64, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str" || !decimal.MatchString(n.Value) {
		return 0, unwanted(n, name, "a number")
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case v < 0 || v == 0 && strings.HasPrefix(n.Value, "-"):
		return 0, errorAt(n.Line, "%s can't be less than 0, as %s is", name, shorten(n.Value, 40))
	case err != nil, math.IsNaN(v), v > maxNumber:
		return 0, errorAt(n.Line, "%s can be at most %d, not %s", name, maxNumber, shorten(n.Value, 40))
	}
	return v, nil
}

// duration reads a time like 90s or 30m, from 1ms (or 0 where zero says so) to
// 24h.
func duration(n *yaml.Node, name string, zero bool) (time.Duration, error) {
	const like = "a time written like 90s or 30m"
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && decimal.MatchString(n.Value) {
			hint = ", which has no unit"
		}
		return 0, errorAt(n.Line, "%s must be %s, %s%s", name, like, isNot(n), hint)
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		return 0, unwanted(n, name, like)
	case d < 0:
		return 0, errorAt(n.Line, "%s can't be negative, as %s is", name, shorten(n.Value, 40))
	case d > maxTime:
		return 0, errorAt(n.Line, "%s can be at most 24h, not %s", name, shorten(n.Value, 40))
	case d == 0 && zero:
		return 0, nil
	case d < time.Millisecond:
		return 0, errorAt(n.Line, "%s must be at least 1ms, not %s", name, shorten(n.Value, 40))
	}
	return d, nil
}

// nodeName is RFC 1123's subdomain, as the API server demands of a node's name.
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func node(n *yaml.Node, name string) (string, error) {
	s, err := text(n, name, 253)
	if err == nil && !nodeName.MatchString(s) {
		err = errorAt(n.Line, "%s can't be the name of a node: those have small letters, digits, dashes and dots only", quote(s))
	}
	return s, err
}

// nodes reads one name, or a list of names that are all different.
func nodes(n *yaml.Node, name string) ([]string, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		s, err := node(n, name)
		return []string{s}, err
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errorAt(n.Line, "%s must be a list of nodes like [kube-node3, kube-node4], %s", name, isNot(n))
	}
	if len(n.Content) == 0 {
		return nil, errorAt(n.Line, "%s names no node", name)
	}
	var out []string
	seen := map[string]bool{}
	for _, c := range n.Content {
		s, err := node(c, "the name of a node")
		if err != nil {
			return nil, err
		}
		if seen[s] {
			return nil, errorAt(c.Line, "%s is named twice in the same list", s)
		}
		seen[s] = true
		out = append(out, s)
	}
	return out, nil
}

func deployment(n *yaml.Node) (string, error) {
	s, err := text(n, "deployment", 317)
	if err != nil {
		return "", err
	}
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || !nodeName.MatchString(namespace) || !nodeName.MatchString(name) || strings.Contains(namespace, ".") {
		return "", errorAt(n.Line, "a deployment is written namespace/name, like default/nginx, not %s", quote(s))
	}
	return s, nil
}

// quote puts s in quotes, shortened, with nothing in it that could harm a terminal.
func quote(s string) string { return strconv.Quote(shorten(s, 60)) }

func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// and joins words: "a, b and c".
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s and %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
