package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Kind is a kind of file: its name in errors, and its limit.
type Kind struct {
	// Noun is the name of such a file in errors ("plan"). Empty is the error for an
	// empty file; without it, an empty file is a group without fields.
	Noun, Empty string
	// MaxSize bounds it, in bytes.
	MaxSize int
}

// Read parses text as one YAML document and returns its root node, with aliases
// written out. Every error is an *Error; syntax errors come from the YAML library.
func (k Kind) Read(text []byte) (*yaml.Node, error) {
	if len(text) > k.MaxSize {
		return nil, ErrorAt(1+bytes.Count(text[:k.MaxSize], []byte("\n")),
			"the %s exceeds its limit of %d KiB here", k.Noun, k.MaxSize>>10)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	doc, err := nextDocument(dec)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, syntaxError(text, err)
	case len(doc.Content) > 0 && !isNull(doc.Content[0]):
	case k.Empty != "":
		return nil, ErrorAt(1, "%s", k.Empty)
	default:
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}, nil
	}
	root, left := doc.Content[0], maxNodes
	if err := k.writeOut(root, &left); err != nil {
		return nil, err
	}
	switch second, err := nextDocument(dec); {
	case errors.Is(err, io.EOF):
		return root, nil
	case err != nil:
		return nil, syntaxError(text, err)
	default:
		return nil, ErrorAt(second.Line, "a second document begins here: a file holds one %s, so keep it in a file of its own", k.Noun)
	}
}

// LastLine is the line of errors about text missing at the end of a file.
func LastLine(text []byte) int {
	return 1 + bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// nextDocument never panics: input that makes the library panic is an error.
func nextDocument(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	doc = &yaml.Node{}
	return doc, dec.Decode(doc)
}

// checkText refuses what no editor shows: bytes that are not UTF-8, control
// characters, and those that turn the direction of writing.
func checkText(text []byte) error {
	at := bytes.IndexFunc(bytes.ReplaceAll(text, []byte("\r\n"), []byte(" \n")), func(r rune) bool {
		return r == utf8.RuneError || r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	})
	if at < 0 {
		return nil
	}
	return ErrorAt(1+bytes.Count(text[:at], []byte("\n")), "there is an invisible character here, or one that is not UTF-8 text (0x%02x): take it out, or save the file as UTF-8", text[at])
}

// maxNodes bounds the size of a file with every alias written out: YAML bombs are made of aliases.
const maxNodes = 200_000

// writeOut replaces each alias by its value. It
// refuses tags, merge keys, and a file that becomes too large, as by an alias that refers to itself.
func (k Kind) writeOut(n *yaml.Node, left *int) error {
	*left--
	switch {
	case *left < 0:
		return ErrorAt(n.Line, "this file is too large when its aliases are expanded")
	case n.ShortTag() == "!!merge":
		return ErrorAt(n.Line, "merge keys (<<) can't be used in a %s: write the fields out", k.Noun)
	case n.Style&yaml.TaggedStyle != 0:
		return ErrorAt(n.Line, "tags like %s can't be used in a %s: leave it out", Quote(n.Tag), k.Noun)
	}
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			c, n.Content[i] = c.Alias, c.Alias
		}
		if err := k.writeOut(c, left); err != nil {
			return err
		}
	}
	return nil
}

// libraryLine is how the library begins an error whose line it knows.
var libraryLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// syntaxError converts an error of the YAML library, which counts a parser error's line
// from 0 and leaves it out for the first line and for an alias.
func syntaxError(text []byte, err error) error {
	problem, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := libraryLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = problem[len(m[0]):]
		if strings.HasPrefix(problem, "did not find expected") {
			line++
		}
	} else if _, alias, ok := strings.Cut(problem, "unknown anchor '"); ok {
		alias, _, _ = strings.Cut(alias, "'")
		before, _, _ := bytes.Cut(text, []byte("*"+alias))
		line += bytes.Count(before, []byte("\n"))
	}
	line = min(line, LastLine(text))
	if e := commonMistake(text, problem, line); e != nil {
		return e
	}
	return ErrorAt(line, "not valid YAML: %s", strings.ReplaceAll(Shorten(problem, 80), "\n", " "))
}

// tabbed is a line that a tab indents.
var tabbed = regexp.MustCompile(`^ *\t`)

// commonMistake tells what to correct where the library's problem has a likely cause;
// nil where it has none. The library puts a tab on the line before its own.
func commonMistake(text []byte, problem string, line int) error {
	switch {
	case strings.Contains(problem, "cannot start any token"), strings.Contains(problem, "a tab character"):
		lines := bytes.Split(text, []byte("\n"))
		for i := line; i <= min(line+1, len(lines)); i++ {
			if tabbed.Match(lines[i-1]) {
				return ErrorAt(i, "a tab indents this line: YAML takes only spaces")
			}
		}
		return ErrorAt(line, "put the value in quotes: in YAML it can't begin with @, ` or %%")
	case strings.HasPrefix(problem, "mapping values are not allowed"):
		return ErrorAt(line, `there is a ": " that YAML does not allow here: put a value that has one in quotes, and indent the fields of a group alike`)
	}
	return nil
}
