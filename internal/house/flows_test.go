package house

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// references gives the files of this module with a declaration that each file uses: of
// all packages that contain one of the files. Paths are absolute.
func references(t *testing.T, files []string) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, set, uses := map[string]string{}, token.NewFileSet(), map[string][]string{}
	type listed struct {
		Dir, ImportPath, Export string
		GoFiles                 []string
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if slices.ContainsFunc(files, func(f string) bool { return filepath.Dir(f) == p.Dir }) {
			packages = append(packages, p)
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(set, "gc", open)}
	for _, p := range packages {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		info := types.Info{Uses: map[*ast.Ident]types.Object{}}
		if _, err := config.Check(p.ImportPath, set, parsed, &info); err != nil {
			t.Fatal(err)
		}
		for id, object := range info.Uses {
			from, to := set.Position(id.Pos()).Filename, set.Position(object.Pos()).Filename
			if from != to && to != "" && !slices.Contains(uses[from], to) {
				uses[from] = append(uses[from], to)
			}
		}
	}
	return uses
}

var (
	flowFile = regexp.MustCompile("`([\\w./]+\\.go)`")
	flowStep = regexp.MustCompile("^( *)\\d+\\. (`.*)")
)

// Each file in the lists of docs/flows.md, and the file above it or, at the beginning of
// an indented list, the one that the list leaves, use a declaration of each other.
func TestEachFlowIsTrueStepByStep(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "docs/flows.md")
	filesIn := func(text string) (out []string) {
		for _, m := range flowFile.FindAllStringSubmatch(text, -1) {
			out = append(out, filepath.Join(top, m[1]))
		}
		return out
	}
	uses, steps := references(t, filesIn(text)), 0
	var before [2][]string // the files above, by indentation
	for line := range strings.Lines(text) {
		m := flowStep.FindStringSubmatch(line)
		if m == nil {
			before = [2][]string{}
			continue
		}
		files, level := filesIn(m[2]), min(len(m[1]), 1)
		above := before[level]
		if above == nil && level == 1 {
			above = before[0]
		}
		for _, to := range files {
			if above == nil {
				continue
			}
			steps++
			if !slices.ContainsFunc(above, func(from string) bool { return slices.Contains(uses[from], to) || slices.Contains(uses[to], from) }) {
				t.Errorf("nothing joins %v and %s", above, strings.TrimPrefix(to, top))
			}
		}
		if before[level] = files; level == 0 {
			before[1] = nil
		}
	}
	if flows := strings.Count(text, "\n## "); flows != 8 || steps < 100 {
		t.Errorf("%d flows with %d steps", flows, steps)
	}
}
