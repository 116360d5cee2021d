package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
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
	for file, least := range map[string]int{"docs/safety.md": 30, "docs/api.md": 2} {
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

// README.md has at most 120 lines of at most 120 characters.
func TestTheReadmeIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(read(t, "README.md"), "\n"), "\n")
	if len(lines) > 120 {
		t.Errorf("README.md has %d lines", len(lines))
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > 120 {
			t.Errorf("README.md:%d has %d characters", i+1, n)
		}
	}
}

// Each of the ten bullets about safety in the README links to its claim.
func TestEachPromiseOfTheReadmeHasItsClaim(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "README.md"), "\n## How it is safe\n")
	section, _, _ = strings.Cut(section, "\n## ")
	there, linked := anchors(read(t, "docs/safety.md")), map[string]bool{}
	bullets := strings.Split(section, "\n- ")[1:]
	for _, bullet := range bullets {
		m := regexp.MustCompile(`\]\(docs/safety\.md#([^)]+)\)$`).FindStringSubmatch(strings.TrimSpace(bullet))
		if m == nil || !there[m[1]] || linked[m[1]] {
			t.Errorf("the bullet must end with a link to its own claim in docs/safety.md: %s", bullet)
			continue
		}
		linked[m[1]] = true
	}
	if len(bullets) != 10 {
		t.Errorf("%d bullets", len(bullets))
	}
}

// Every relative link in the documents leads to a file, and to a heading in it.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	pages := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if page, _ := filepath.Rel(root, path); filepath.Ext(page) == ".md" {
			pages = append(pages, page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil || anchor != "" && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			}
		}
	}
	if links < 60 {
		t.Errorf("only %d links", links)
	}
}

// anchors returns the names under which links reach the headings of a page.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(name, " ", "-")] = true
	}
	return out
}
