package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
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
