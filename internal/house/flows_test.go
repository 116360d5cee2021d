package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// names are the names that a file declares for others, and those that it uses.
type names struct{ declares, uses map[string]bool }

func namesIn(t *testing.T, path string) names {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	n := names{map[string]bool{}, map[string]bool{}}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			n.declares[d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					n.declares[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, v := range s.Names {
						n.declares[v.Name] = true
					}
				}
			}
		}
	}
	ast.Inspect(file, func(x ast.Node) bool {
		if id, ok := x.(*ast.Ident); ok {
			n.uses[id.Name] = true
		}
		return true
	})
	return n
}

// reaches reports whether one of two files uses a name that the other one declares.
func reaches(a, b names) bool {
	for name := range b.declares {
		if a.uses[name] && !a.declares[name] {
			return true
		}
	}
	return false
}

// In each flow of CONTRIBUTING.md every file uses the next one, or is used by it.
func TestEachFlowIsTrueHopByHop(t *testing.T) {
	flows := regexp.MustCompile(`(?ms)^\*\*[^*]+\*\*.*?(?:\n\n|\z)`).FindAllString(read(t, "CONTRIBUTING.md"), -1)
	hops := 0
	for _, flow := range flows {
		files := regexp.MustCompile("`([\\w./]+\\.go)`").FindAllStringSubmatch(flow, -1)
		for i := 1; i < len(files); i++ {
			hops++
			from, to := namesIn(t, files[i-1][1]), namesIn(t, files[i][1])
			if !reaches(from, to) && !reaches(to, from) {
				t.Errorf("%s: neither %s nor %s uses a name of the other", strings.SplitN(flow, "**", 3)[1], files[i-1][1], files[i][1])
			}
		}
	}
	if len(flows) != 3 || hops < 40 {
		t.Errorf("%d flows with %d hops", len(flows), hops)
	}
}
