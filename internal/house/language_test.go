package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// retired lists words and turns that no text for users may contain, each with its
// replacement. It only grows: see docs/style.md and docs/concepts.md.
var retired = []struct{ pattern, instead string }{
	{`\b(is|are|was|were) (said|noted|wanted)\b`, "shows, prints, contains; must be"},
	{`\bis told\b|\bare told\b`, "shows, prints, lists"},
	{`\b(is|are|was|were) none\b`, "there is no …; has no …"},
	{`\bit (is|was) (tried|waited|taken|told|said|noted)\b`, "lightsout retries; waits"},
	{`\bit can't be told\b`, "cannot tell"},
	{`\bit is not known what\b`, "unknown"},
	{`\bmay say anything\b`, "is unknown"},
	{`\btold of\b`, "reported"},
	{`\bbeats?\b`, "heartbeat"},
	{`\bstands? (above|below)\b`, "is shown above"},
	{`\b(is|are) asked anew\b`, "asks again"},
	{`\bwhat (is|was|were|has|had|may|comes|came|stands|runs|follows|happens)\b`, "name the thing: the machines that are off, the changes"},
	{`\b(says|said|tells|told)\b`, "shows, prints, contains, reports; names"},
	{`\b(is|are|was|were) to be (asked|done|found|had|made|seen)\b`, "an active verb: lightsout cannot see …"},
	{`\banew\b`, "again"},
	{`\bso (long|many)\b`, "this long, this many; the number"},
	{`\blook(s|ed|ing) at\b|\blook (at (it|the|them|each|every)|once more)\b`, "polls, reads, checks"},
	{`\ball the same\b`, "anyway"},
	{`\bgiven up\b`, "cancelled, stopped; closed"},
	{`\bstands? still\b`, "is stuck"},
	{`\bnot known\b`, "unknown"},
	{`\bnobody can be\b`, "there is no terminal to confirm on"},
	{`\bby what\b`, "because of …"},
	{`\blikewise\b`, "too"},
	{`\bby when\b`, "by the time …"},
	{`\bit can't happen\b`, "the condition cannot come true"},
	{`\boutages? by hand\b`, "an outage without a trial"},
	{`\bkeep in flight\b`, "hold"},
	{`\bsend (the )?load here\b`, "measure"},
	// "There is no …" and "is no longer …" are allowed.
	{`\b([a-su-z]\w*|t[a-gi-z]\w*|th[a-df-z]\w*)( \([^)]*\))?,? is no ([a-km-z]|lo[a-mo-z])`, "is not a …"},
	{`%[a-z],? is no ([a-km-z]|lo[a-mo-z])|^[, ]*is no [a-km-z]`, "is not a …"},
}

// readByUsers calls each for the texts that users read: strings with a space in the
// program, its embedded texts, and the documents.
func readByUsers(t *testing.T, each func(where, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "examples" || name == "house" || name == "powertest" || name == "lab" || name == "bin" || strings.HasPrefix(name, ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		switch ext := filepath.Ext(name); {
		case ext == ".go" && !strings.HasSuffix(name, "_test.go"):
			eachString(t, path, each)
		case ext == ".txt" || ext == ".yaml" || ext == ".md" && name != "style.md":
			for i, line := range strings.Split(read(t, strings.TrimPrefix(path, root)), "\n") {
				each(path+":"+strconv.Itoa(i+1), testNames.ReplaceAllString(line, ""))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var testNames = regexp.MustCompile("`Test[^`]*`")

// eachString calls each for the strings of a Go file that contain a space, and so are
// texts.
func eachString(t *testing.T, path string, each func(where, text string)) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && strings.Contains(text, " ") {
				each(set.Position(l.Pos()).String(), text)
			}
		}
		return true
	})
}

func TestNoTextHasARetiredTurn(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, r := range retired {
		patterns = append(patterns, regexp.MustCompile(`(?i)`+r.pattern))
	}
	n := 0
	readByUsers(t, func(where, text string) {
		n++
		for i, pattern := range patterns {
			if m := pattern.FindString(text); m != "" {
				t.Errorf("%s: %q is retired; write: %s\n\t%s", where, m, retired[i].instead, text)
			}
		}
	})
	if n < 1000 {
		t.Errorf("only %d texts were read", n)
	}
}

// docs/concepts.md has at most 40 terms, each once.
func TestConceptsAreFewAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(read(t, "docs/concepts.md"), -1) {
		if term := m[1]; seen[term] {
			t.Errorf("%s is explained twice", term)
		} else if term != "term" {
			seen[term] = true
		}
	}
	if n := len(seen); n < 30 || n > 40 {
		t.Errorf("%d terms", n)
	}
}
