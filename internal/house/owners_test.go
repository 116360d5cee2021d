package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// owners are the facts that one place decides. Everybody else asks it: a line like these stands in the
// files below alone.
var owners = []struct {
	fact string
	line *regexp.Regexp
	// in are files or folders: the owner first, then those that ask something else of the same values.
	in string
}{
	{"whether a node has booted: outage.OtherBoot and outage.Before.Seen",
		regexp.MustCompile(`\.[bB]oot(ID)? [!=]= \w|[!=]= [\w.]+\.[bB]oot(ID)?\b`),
		"internal/outage/boot.go cluster/nodecheck.go cluster/kubelet.go internal/report/unplanned.go cluster/lab"},
	{"whether a machine is proven off, or on: power.Reading.Proves",
		regexp.MustCompile(`\.State [!=]= (power\.)?O(n|ff)\b.*\.Proof [!=]= (power\.)?Proven\b`),
		"power"},
	{"in which second requests failed: loadgen.Second.FailedIn and loadgen.Window",
		regexp.MustCompile(`\.(Later|Earlier)\b`),
		"loadgen/series.go loadgen/window.go loadgen/timeline.go internal/record/difference.go"},
	{"what a second shows of the service: loadgen.Row.service, and the queries on it",
		regexp.MustCompile(`\.span\.N [=!<>]`),
		"loadgen/service.go"},
	{"whether requests fail, for screen, recorder and report: loadgen.Series.Service, Series.Failing, Spells and Window",
		regexp.MustCompile(`\.Class\.(Failed|TimeLimit)\(\)`),
		"loadgen"},
	{"whether a request was sent after a detection: loadgen.Window.FailedAfterDetection",
		regexp.MustCompile(`\.Detected\b`),
		"loadgen/poweroff.go loadgen/window.go internal/trial/loadvalue.go internal/trial/phase/forecast.go cluster/forecast"},
	{"which sights of a node are one span, and which spans are one time down: outage.Spans and outage.Downs",
		regexp.MustCompile(`[^\]\w](outage|spans)\.(Span|Down)\{`),
		"internal/outage internal/report/unplanned.go"},
	{"what is a sight of a node: internal/session, and the events of a record",
		regexp.MustCompile(`\boutage\.Sight\{\w`),
		"internal/session/machines.go internal/record/lanes.go"},
}

func TestOneOwnerDecidesAFact(t *testing.T) {
	eachGoFile(t, token.NewFileSet(), parser.PackageClauseOnly, func(path string, _ *ast.File) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, o := range owners {
				if o.line.MatchString(code) && !within(file, strings.Fields(o.in)) {
					t.Errorf("%s:%d decides %s", file, n+1, o.fact)
				}
			}
		}
	})
}

// within reports whether a file is one of those, or in one of those folders.
func within(file string, all []string) bool {
	for _, x := range all {
		if file == x || strings.HasPrefix(file, x+"/") {
			return true
		}
	}
	return false
}
