package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every package has a comment that describes its contents.
func TestEveryPackageHasAComment(t *testing.T) {
	commented := map[string]bool{}
	eachGoFile(t, token.NewFileSet(), parser.PackageClauseOnly|parser.ParseComments, func(path string, file *ast.File) {
		dir := filepath.Dir(path)
		commented[dir] = commented[dir] || strings.HasPrefix(file.Doc.Text(), "Package ") || strings.HasPrefix(file.Doc.Text(), "Command ")
	})
	if len(commented) < 20 {
		t.Fatalf("%d packages", len(commented))
	}
	for dir, has := range commented {
		if !has {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// eachGoFile calls visit with each Go file that is no test.
func eachGoFile(t *testing.T, set *token.FileSet, mode parser.Mode, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, mode)
		if err == nil {
			visit(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// retiredInComments are clauses that no comment of the program contains any more,
// each with its replacement. The list only grows.
var retiredInComments = []struct{ pattern, instead string }{
	{`\b(is|are|was|were) (said|noted|told)\b`, "shows, records, reports"},
	{`\blook(s|ed)? at\b`, "polls, checks, reads"},
	{`\bsays (why|what|whether|how|that)\b`, "is the reason, describes, reports whether"},
	{`\b(is|are) not known\b`, "is unknown"},
	{`\bbelongs to one goroutine\b`, "one goroutine may use it"},
	{`\bwhat (becomes|became|has become) of\b`, "the result, the outcome"},
	{`\bstands? still\b`, "is stuck, is stopped"},
	{`\bwhat (was|were|came|has|had|stands)\b`, "name the thing: the result, the changes"},
	{`\banew\b`, "again"},
}

func TestNoCommentHasARetiredClause(t *testing.T) {
	patterns := make([]*regexp.Regexp, len(retiredInComments))
	for i, r := range retiredInComments {
		patterns[i] = regexp.MustCompile(`(?i)` + r.pattern)
	}
	set, n := token.NewFileSet(), 0
	eachGoFile(t, set, parser.ParseComments|parser.SkipObjectResolution, func(path string, file *ast.File) {
		if strings.Contains(path, "/lab/") || strings.Contains(path, "/house/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, c := range file.Comments {
			n++
			text := strings.Join(strings.Fields(c.Text()), " ")
			for i, pattern := range patterns {
				if m := pattern.FindString(text); m != "" {
					t.Errorf("%s: %q is retired; write: %s\n\t%s", set.Position(c.Pos()), m, retiredInComments[i].instead, text)
				}
			}
		}
	})
	if n < 1000 {
		t.Errorf("only %d comments were read", n)
	}
}

// retiredNames are names of the program that another has replaced.
var retiredNames = map[string]string{
	"NotLeft": "WhyNotCounted", "LoadReady": "NoLoad", "Course": "UnderWay", "lookAtService": "observeService",
	"failSigns": "loadgen.Groups", "classLook": "Class.Traits",
	"LookNow": "FreshState", "lookTimeout": "stateTimeout", "silentLooks": "silentPolls",
	"PhaseAsking": "StageSending", "errNotAsked": "errNothingSent", "SettingLine": "Setting", "ReplayMark": "Bookmark", "CodeMark": "CodeRemark",
	"OutageKind": "SpanKind", "ByHand": "Unprompted",
	"planTimeout": "apiTimeout", "unmark": "sweepNotes", "secondLook": "pollOther",
}

func TestNoRetiredNameIsUsed(t *testing.T) {
	set := token.NewFileSet()
	eachGoFile(t, set, parser.SkipObjectResolution, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if instead, is := retiredNames[id.Name]; is {
					t.Errorf("%s: %s is retired; use %s", set.Position(id.Pos()), id.Name, instead)
				}
			}
			return true
		})
	})
}
