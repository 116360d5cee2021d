package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports says which packages of this module a package imports, without its
// tests, by their folders. NAME/* is every package below NAME.
//
// They point one way: main -> internal/cli -> {terminal, tui, session, trial, report} ->
// {view, record} -> {cluster, power, loadgen} -> {internal/text, internal/outage}. Add a new import here
// first; the rules below hold whatever the list contains.
var imports = map[string]string{
	".": "internal/cli",

	"internal/cli": `tui internal/terminal internal/config internal/config/yamlfile internal/export internal/recorder internal/recorder/reporting internal/session internal/survey internal/trial internal/trial/plan internal/report internal/restore internal/view
		internal/clock internal/outage internal/record internal/record/examples internal/record/replay internal/text cluster power power/ssh loadgen`,
	"internal/config":          "internal/config/yamlfile internal/text loadgen power power/driver",
	"internal/config/yamlfile": "internal/text",

	"internal/terminal":           "tui internal/export internal/report internal/record internal/view internal/text",
	"tui":                         "internal/outage internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/session":            "internal/survey internal/restore internal/planned internal/clock internal/outage internal/record internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/trial":              "internal/trial/* internal/session internal/clock internal/outage internal/report internal/record internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/planned":            "cluster power",
	"internal/recorder":           "internal/planned internal/trial/phase internal/session internal/report internal/record internal/view internal/text internal/clock internal/outage cluster cluster/forecast power loadgen",
	"internal/recorder/reporting": "internal/recorder internal/text",
	"internal/trial/phase":        "internal/clock internal/outage internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/trial/plan":         "internal/config/yamlfile internal/view internal/text power loadgen",
	"internal/report":             "internal/outage internal/record internal/view internal/text cluster power loadgen",

	"internal/survey": "internal/text cluster cluster/forecast cluster/place",

	"internal/restore":         "power",
	"internal/record":          "internal/clock internal/outage internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/record/replay":   "internal/record internal/view cluster",
	"internal/record/examples": "",
	"internal/export":          "internal/text",
	"internal/view":            "cluster power loadgen internal/outage internal/text",

	"cluster":          "internal/clock internal/outage internal/text",
	"cluster/forecast": "cluster cluster/place internal/text",
	"cluster/place":    "cluster",
	"loadgen":          "internal/clock internal/text",
	"power":            "internal/clock internal/outage internal/text",
	"power/driver":     "power/driver/* power/ssh",
	"power/driver/*":   "power power/internal/* internal/text",
	"power/ssh":        "power power/internal/* internal/text",
	"power/internal/*": "power power/internal/* internal/testenv",
	"power/powertest":  "power power/internal/* internal/testenv",
	"internal/outage":  "",
	"internal/text":    "",
	"internal/clock":   "",

	"internal/testenv":      "",
	"internal/testenv/leak": "",
	"internal/labtest":      "internal/testenv",
	"internal/dist":         "internal/cli internal/config",
	"internal/e2e":          "",
	"internal/scale":        "",
	"internal/simulator":    "",
	"internal/house":        "",
}

// rules hold for every package, its tests too: who matches from imports nothing
// that matches to.
var rules = []struct{ from, to, why string }{
	{"cluster/*", "power/* loadgen/*", "cluster, power and loadgen do not know each other"},
	{"power/*", "cluster/* loadgen/*", "cluster, power and loadgen do not know each other"},
	{"loadgen/*", "cluster/* power/*", "cluster, power and loadgen do not know each other"},
	{"cluster/* power/* loadgen/*", "tui internal/terminal internal/cli internal/config/* internal/session internal/trial/* internal/report internal/record/* internal/restore internal/view",
		"the ground knows nothing of what stands on it"},
	{"internal/outage internal/text internal/testenv internal/labtest", "cluster/* power/* loadgen/* tui internal/terminal internal/cli internal/config/* internal/session internal/trial/* internal/report internal/record/* internal/view",
		"everything stands on it"},
	{"internal/view internal/record/*", "tui internal/terminal internal/cli internal/config/* internal/session internal/trial/* internal/report", "the types of screen and record do not depend on those who use them"},
	{"tui", "internal/terminal internal/cli internal/config/* internal/session internal/trial/* internal/report internal/record", "the screen only draws a view.Frame"},
	{"internal/session internal/trial/* internal/report", "tui internal/terminal internal/cli internal/config", "they work without a screen and without a command line"},
	{"internal/e2e", "tui internal/terminal internal/cli internal/config/* internal/session internal/trial/* cluster/* power/*", "it uses the program from outside"},
}

// outside says which packages alone may import a library.
var outside = map[string]string{
	"charm.land/bubbletea/v2":    "tui internal/terminal internal/cli",
	"charm.land/lipgloss/v2":     "tui",
	"github.com/spf13/cobra":     "internal/cli internal/dist",
	"k8s.io/client-go/":          "cluster/* internal/labtest internal/e2e internal/scale",
	"golang.org/x/crypto/ssh":    "power/ssh internal/labtest internal/e2e",
	"github.com/gophercloud/":    "power/driver/openstack",
	"github.com/bougou/go-ipmi/": "power/driver/ipmi",
}

// among reports whether a folder is one of a list.
func among(folder, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(p string) bool {
		below, all := strings.CutSuffix(p, "/*")
		return folder == p || all && (folder == below || strings.HasPrefix(folder, below+"/"))
	})
}

// pkg is a package of this module: what its files import, and its tests' files.
type pkg struct {
	folder         string
	imports, tests []string
}

// packages reads the files themselves, so that the result of this test is not
// taken from the cache when one of them has changed.
func packages(t *testing.T) []pkg {
	t.Helper()
	all := map[string]*pkg{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "lab" || strings.HasPrefix(name, ".") && path != root {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		in, _ := filepath.Rel(root, filepath.Dir(path))
		in = filepath.ToSlash(in)
		if all[in] == nil {
			all[in] = &pkg{folder: in}
		}
		for _, spec := range file.Imports {
			to, _ := strconv.Unquote(spec.Path.Value)
			if strings.HasSuffix(path, "_test.go") {
				all[in].tests = append(all[in].tests, to)
			} else {
				all[in].imports = append(all[in].imports, to)
			}
		}
		return nil
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	var out []pkg
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		slices.Sort(p.imports)
		p.imports = slices.Compact(p.imports)
		out = append(out, *p)
	}
	return out
}

// root is the repository's root.
const root = "../.."

// folder is a package's place in the repository; empty when it is another's.
func folder(path string) string {
	if path == "lightsout" {
		return "."
	}
	f, ours := strings.CutPrefix(path, "lightsout/")
	if !ours {
		return ""
	}
	return f
}

func TestImportsPointOneWay(t *testing.T) {
	known := map[string]bool{}
	for _, p := range packages(t) {
		from := p.folder
		allowed, listed := "", false
		for pattern, list := range imports {
			if among(from, pattern) && (!listed || !strings.HasSuffix(pattern, "*")) {
				allowed, listed = list, true
				known[pattern] = true
			}
		}
		if !listed {
			t.Errorf("%s is not in the list of packages", from)
		}
		for _, path := range p.imports {
			to := folder(path)
			if to != "" && !among(to, allowed) {
				t.Errorf("%s imports %s, which is not in the list", from, to)
			}
		}
		for _, path := range slices.Concat(p.imports, p.tests) {
			to := folder(path)
			for _, r := range rules {
				if to != from && to != "" && among(from, r.from) && among(to, r.to) {
					t.Errorf("%s imports %s: %s", from, to, r.why)
				}
			}
		}
		for _, path := range p.imports {
			for library, users := range outside {
				if strings.HasPrefix(path+"/", library) && !among(from, users) {
					t.Errorf("%s imports %s, which is for %s alone", from, path, users)
				}
			}
		}
	}
	for from := range imports {
		if !known[from] {
			t.Errorf("there is no package %s any more", from)
		}
	}
}
