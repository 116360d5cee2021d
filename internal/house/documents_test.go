package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What CONTRIBUTING.md names in the repository is there.
func TestWhatContributingNamesIsThere(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range regexp.MustCompile("`([\\w./-]+)`").FindAllStringSubmatch(string(b), -1) {
		if !strings.Contains(m[1], "/") || strings.HasPrefix(m[1], "bin/") {
			continue // a word, or what is built
		}
		named++
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("it names %s, which is not there", m[1])
		}
	}
	if named < 40 {
		t.Errorf("only %d files are named", named)
	}
}

// The functions, types and lists that it names are in the files that it says.
func TestWhatIsAddedToIsThere(t *testing.T) {
	for file, name := range map[string]string{
		"tui/pane.go":                        "var paneSpecs",
		"power/driver/driver.go":             "power/driver/wol",
		"power/registry.go":                  "func Register",
		"internal/cli/root.go":               "root.AddCommand(",
		"internal/trial/plan/decode_step.go": "kinds = []kind{",
		"loadgen/class.go":                   "traits = map[Class]Traits{",
	} {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || !strings.Contains(string(b), name) {
			t.Errorf("%s has no %q: %v", file, name, err)
		}
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
