package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named finds the tests that a document names: a part after a slash is a name in
// that test's folder.
var named = regexp.MustCompile("`(Test\\w+)(?:/([^`]+))?`")

// Every test that a document names is there.
func TestTheTestsThatDocumentsNameAreThere(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	folders, tests := map[string]string{}, map[string]string{} // the tests' text; the folder of a test
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = filepath.Dir(path)
		}
		folders[filepath.Dir(path)] += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"docs/faults.md": 40, "docs/safety.md": 30, "docs/api.md": 2} {
		found := named.FindAllStringSubmatch(read(t, file), -1)
		for _, m := range found {
			if folder, there := tests[m[1]]; !there || !strings.Contains(folders[folder], `"`+m[2]) {
				t.Errorf("%s: %s is not there", file, m[0])
			}
		}
		if len(found) < least {
			t.Errorf("%s names only %d tests", file, len(found))
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every row of docs/faults.md names a test.
func TestEveryFaultHasItsTest(t *testing.T) {
	rows := 0
	for line := range strings.Lines(read(t, "docs/faults.md")) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		rows++
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, ""), "|")
		if len(cells) != 7 || !named.MatchString(cells[5]) {
			t.Errorf("no row of five cells that ends with its test: %s", line)
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows", rows)
	}
}
