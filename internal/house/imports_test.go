package house

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// imports says which packages of this module a package imports, without its
// tests, by their folders. NAME/* is every package below NAME.
//
// They point one way: main -> internal/cli -> {tui, session, trial, report} ->
// {view, record} -> {cluster, power, loadgen} -> internal/text. An import that
// is not here has to be put here first; the rules below stand whatever is here.
var imports = map[string]string{
	".": "internal/cli",

	"internal/cli": `tui internal/config internal/session internal/trial internal/trial/plan internal/report internal/record internal/record/examples internal/record/replay
		internal/view cluster power power/ssh loadgen`,
	"internal/config":          "power power/driver/* power/ssh loadgen",
	"internal/config/yamlfile": "",

	"tui":                      "internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/session":         "internal/record internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/trial":           "internal/trial/phase internal/trial/plan internal/report internal/record internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/trial/phase":     "internal/view internal/text cluster cluster/forecast power loadgen",
	"internal/trial/plan":      "internal/config/yamlfile internal/view power loadgen",
	"internal/report":          "internal/record internal/view internal/text cluster power loadgen",
	"internal/record":          "internal/view internal/text cluster power loadgen",
	"internal/record/replay":   "internal/record internal/view cluster",
	"internal/record/examples": "",
	"internal/view":            "cluster power loadgen",

	"cluster":          "internal/text",
	"cluster/forecast": "cluster internal/text",
	"loadgen":          "internal/text",
	"power":            "internal/text",
	"power/ssh":        "power power/internal/secret",
	"power/driver/*":   "power power/internal/*",
	"power/internal/*": "power power/internal/*",
	"internal/text":    "",

	"internal/labtest": "",
	"internal/e2e":     "",
	"internal/house":   "",
}

// rules hold for every package, its tests too: who matches from imports nothing
// that matches to.
var rules = []struct{ from, to, why string }{
	{"cluster/*", "power/* loadgen/*", "cluster, power and loadgen do not know each other"},
	{"power/*", "cluster/* loadgen/*", "cluster, power and loadgen do not know each other"},
	{"loadgen/*", "cluster/* power/*", "cluster, power and loadgen do not know each other"},
	{"cluster/* power/* loadgen/*", "tui internal/cli internal/config internal/session internal/trial/* internal/report internal/record/* internal/view",
		"the ground knows nothing of what stands on it"},
	{"internal/text internal/labtest", "cluster/* power/* loadgen/* tui internal/*", "everything stands on it"},
	{"internal/view internal/record/*", "tui internal/cli internal/config internal/session internal/trial/* internal/report", "what is shown and recorded knows not by whom"},
	{"tui", "internal/cli internal/config internal/session internal/trial/* internal/report internal/record", "the screen draws a view.Frame and no more"},
	{"internal/session internal/trial/* internal/report", "tui internal/cli internal/config", "they work without a screen and without a command line"},
	{"internal/e2e", "tui internal/cli internal/config internal/session internal/trial/* cluster/* power/* loadgen/*", "it knows the program from outside"},
}

// outside says which packages alone may import a library.
var outside = map[string]string{
	"charm.land/bubbletea/v2":    "tui internal/cli",
	"charm.land/lipgloss/v2":     "tui",
	"github.com/spf13/cobra":     "internal/cli",
	"k8s.io/client-go/":          "cluster/* internal/labtest internal/e2e",
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

type pkg struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "lightsout/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

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
	known, needed := map[string]bool{}, map[string]bool{}
	for _, p := range packages(t) {
		from := folder(p.ImportPath)
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
		for _, path := range p.Imports {
			to := folder(path)
			if to != "" && !among(to, allowed) {
				t.Errorf("%s imports %s, which is not in the list", from, to)
			}
			needed[from+" "+to] = true
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			to := folder(path)
			for _, r := range rules {
				if to != from && to != "" && among(from, r.from) && among(to, r.to) {
					t.Errorf("%s imports %s: %s", from, to, r.why)
				}
			}
		}
		for _, path := range p.Imports {
			for library, users := range outside {
				if strings.HasPrefix(path+"/", library) && !among(from, users) {
					t.Errorf("%s imports %s, which is for %s alone", from, path, users)
				}
			}
		}
	}
	// What is in the list and not so any more goes.
	for from, list := range imports {
		if !known[from] {
			t.Errorf("there is no package %s any more", from)
		}
		for _, to := range strings.Fields(list) {
			if !strings.HasSuffix(from+to, "*") && !strings.Contains(from, "*") && !needed[from+" "+to] {
				t.Errorf("%s does not import %s any more", from, to)
			}
		}
	}
}
