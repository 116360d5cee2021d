package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Kind is a kind of file: what errors call it, and what it may hold.
type Kind struct {
	// Noun is what errors call such a file ("plan"), Empty what is said of one
	// with nothing in it; without, that is a group without fields.
	Noun, Empty string
	// MaxSize bounds it, in bytes.
	MaxSize int
	// Sharing lets it have anchors and aliases; without, they, merge keys and
	// tags are refused: they are what YAML bombs are made of.
	Sharing bool
}

// Read reads text as one YAML document and returns what is at its top. All
// errors are an *Error, with the line.
func (k Kind) Read(text []byte) (*yaml.Node, error) {
	if len(text) > k.MaxSize {
		return nil, ErrorAt(1+bytes.Count(text[:k.MaxSize], []byte("\n")),
			"the %s goes on beyond %d KiB here, which is the most that a %[1]s may have", k.Noun, k.MaxSize>>10)
	}
	root, err := k.read(text)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Line = min(e.Line, LastLine(text))
	}
	return root, err
}

// LastLine is the line on which what is missing at the end of a file is told.
func LastLine(text []byte) int {
	return 1 + bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func (k Kind) read(text []byte) (*yaml.Node, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	empty := func(line int) (*yaml.Node, error) {
		if k.Empty == "" {
			return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}, nil
		}
		return nil, ErrorAt(max(line, 1), "%s", k.Empty)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	doc, err := nextDocument(dec)
	if errors.Is(err, io.EOF) {
		return empty(1)
	}
	if err != nil {
		return nil, k.explain(text, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return empty(1)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && root.Anchor == "" {
		return empty(root.Line)
	}
	check := k.refuseSharing
	if k.Sharing {
		left := maxNodes
		check = func(n *yaml.Node) error { return writeOut(n, map[*yaml.Node]bool{}, &left) }
	}
	if err := check(root); err != nil {
		return nil, err
	}
	switch second, err := nextDocument(dec); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, k.explain(text, err)
	default:
		return nil, ErrorAt(second.Line, "a second document begins here: a file holds one %s, so keep it in a file of its own", k.Noun)
	}
	return root, nil
}

// nextDocument never panics: what the library can't bear is an error of it.
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
	line := 1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return ErrorAt(line, "there is a byte here that is not UTF-8 text (0x%02x): save the file as UTF-8", text[i])
		case r == '\n':
			line++
		case r == '\t', r == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff' && i > 0:
			return ErrorAt(line, "there is an invisible character here (U+%04X): take it out", r)
		}
		i += n
	}
	return nil
}

// maxNodes bounds what a file says when each alias is written out.
const maxNodes = 200_000

// writeOut puts what an alias stands for in its place. It refuses what stands for
// itself, and what becomes too much.
func writeOut(n *yaml.Node, around map[*yaml.Node]bool, left *int) error {
	if *left--; *left < 0 {
		return ErrorAt(n.Line, "this file says too much when its aliases are written out")
	}
	around[n] = true
	defer delete(around, n)
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode && (n.Kind == yaml.SequenceNode || i%2 == 1) { // else a name, which it can't be
			if around[c.Alias] {
				return ErrorAt(c.Line, "%s stands for something that it is part of", Quote("*"+c.Value))
			}
			c, n.Content[i] = c.Alias, c.Alias
		}
		if err := writeOut(c, around, left); err != nil {
			return err
		}
	}
	return nil
}

// refuseSharing refuses anchors, aliases, merge keys and tags, in the file's order.
func (k Kind) refuseSharing(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return ErrorAt(n.Line, "%s can't be used in a %s: write out what it stands for", Quote("*"+n.Value), k.Noun)
	case n.Anchor != "":
		return ErrorAt(n.Line, "%s can't be used in a %s: write things out where they are needed", Quote("&"+n.Anchor), k.Noun)
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge":
		return ErrorAt(n.Line, `"<<" can't be used in a %s: write things out where they are needed`, k.Noun)
	case n.Style&yaml.TaggedStyle != 0:
		return ErrorAt(n.Line, "tags like %s can't be used in a %s: leave it out", Quote(n.Tag), k.Noun)
	}
	for _, c := range n.Content {
		if err := k.refuseSharing(c); err != nil {
			return err
		}
	}
	return nil
}

var libraryLine = regexp.MustCompile(`^line \d+: `)

// problems are what the library says is wrong, and the sentence about it; {file}
// stands for what errors call the file. The first that fits counts.
var problems = []struct{ says, sentence string }{
	{"unknown anchor", `"*" can't begin a value in a {file}: write out what it stands for, or put text in quotes`},
	{"found a tab", "there is a tab here: indent with spaces"},
	{"found character that cannot start", "text that begins with a character such as @, ` or % must be in quotes"},
	{"mapping values are not allowed", `a ":" is not expected here: check the indentation, and put text that has ": " in it in quotes`},
	{"block sequence entries are not allowed", `a list can't begin here: put its first "- " on a line of its own`},
	{"expected ',' or ']'", "a list in [ ] is not closed here, or a comma is missing in it"},
	{"expected ',' or '}'", "a group of fields in { } is not closed here, or a comma is missing in it"},
	{"expected '-' indicator", misfit},
	{"did not find expected key", misfit},
	{"could not find expected ':'", `a ":" is missing here or on the line before`},
	{"found unexpected end of stream", "a quote that is opened here is never closed"},
	{"unknown escape", escape},
	{"did not find expected hexdecimal", escape},
	{"invalid Unicode character escape", escape},
	{"exceeded max depth", "this is nested far too deeply for a {file}"},
	{"node content", leftOver},
	{"did not find expected", leftOver},
}

const (
	misfit   = `this line does not fit the lines above it: check its indentation and its "- "`
	escape   = `"\" stands for itself only in single quotes: use those`
	leftOver = "something is missing or left over here: check brackets, quotes and commas"
)

// explain turns an error of the YAML library into one sentence with the line
// that is to be looked at.
func (k Kind) explain(text []byte, err error) error {
	line := lineOf(text, err)
	problem := libraryLine.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
	at, cannotStart := lineText(text, line), strings.Contains(problem, "found character that cannot start")
	if strings.HasPrefix(strings.TrimLeft(at, " "), "\t") || cannotStart && strings.Contains(at, "\t") {
		problem = "found a tab; " + problem
	}
	for _, p := range problems {
		if strings.Contains(problem, p.says) {
			return ErrorAt(line, "%s", strings.ReplaceAll(p.sentence, "{file}", k.Noun))
		}
	}
	return ErrorAt(line, "this is not YAML that can be read (%s)", strings.ReplaceAll(Shorten(problem, 80), "\n", " "))
}

// lineOf finds the line of a syntax error: the last of the fewest lines that
// give this very error. The library tells where the enclosing block begins, and
// that off by one, or nothing at all.
func lineOf(text []byte, err error) int {
	var ends []int // where each line ends, its newline included
	for i, b := range text {
		if b == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] != len(text) {
		ends = append(ends, len(text))
	}
	want := err.Error()
	n := sort.Search(len(ends)-1, func(i int) bool {
		dec := yaml.NewDecoder(bytes.NewReader(text[:ends[i]]))
		_, err := nextDocument(dec)
		if err == nil {
			_, err = nextDocument(dec) // the error may lie in a second one
		}
		return err != nil && err.Error() == want
	})
	return n + 1
}

func lineText(text []byte, line int) string {
	for range line - 1 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	at, _, _ := bytes.Cut(text, []byte("\n"))
	return string(at)
}
