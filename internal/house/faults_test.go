package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every row of docs/faults.md names a test, and every test that it names is
// there: a part after a slash is a name in that test's folder.
func TestEveryFaultHasItsTest(t *testing.T) {
	folders, tests := map[string]string{}, map[string]string{} // the tests' text; the folder of a test
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = filepath.Dir(path)
		}
		folders[filepath.Dir(path)] += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docs/faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)(?:/([^`]+))?`")
	for _, m := range named.FindAllStringSubmatch(string(b), -1) {
		folder, there := tests[m[1]]
		if !there || !strings.Contains(folders[folder], `"`+m[2]) {
			t.Errorf("%s is not there", m[0])
		}
	}
	rows := 0
	for line := range strings.Lines(string(b)) {
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
