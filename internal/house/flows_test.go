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
	sentence = regexp.MustCompile(`[.:]\s`)
)

// In each sentence of a flow of CONTRIBUTING.md, each file after an arrow uses a
// declaration of a file before that arrow, or the other way round.
func TestEachFlowIsTrueHopByHop(t *testing.T) {
	text := read(t, "CONTRIBUTING.md")
	flows := regexp.MustCompile(`(?ms)^\*\*[^*]+\*\*.*?(?:\n\n|\z)`).FindAllString(text, -1)
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	filesIn := func(text string) (out []string) {
		for _, m := range flowFile.FindAllStringSubmatch(text, -1) {
			out = append(out, filepath.Join(top, m[1]))
		}
		return out
	}
	uses, hops := references(t, filesIn(strings.Join(flows, ""))), 0
	for _, flow := range flows {
		for _, s := range sentence.Split(flow, -1) {
			steps := strings.Split(s, "→")
			for i := 1; i < len(steps); i++ {
				before := filesIn(steps[i-1])
				for _, to := range filesIn(steps[i]) {
					hops++
					if !slices.ContainsFunc(before, func(from string) bool { return slices.Contains(uses[from], to) || slices.Contains(uses[to], from) }) {
						t.Errorf("%s: nothing joins %v and %s", strings.SplitN(flow, "**", 3)[1], before, strings.TrimPrefix(to, top))
					}
				}
			}
		}
	}
	if len(flows) != 6 || hops < 100 {
		t.Errorf("%d flows with %d hops", len(flows), hops)
	}
}
