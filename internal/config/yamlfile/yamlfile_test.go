package yamlfile

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
)

type sample struct {
	Name  string            `json:"name"`
	Count int               `json:"count"`
	Share float64           `json:"share"`
	Yes   *bool             `json:"yes"`
	For   *time.Duration    `json:"for"`
	List  []string          `json:"list"`
	Map   map[string]string `json:"map"`
	Part  struct {
		Port int32 `json:"port"`
	} `json:"part"`
	Own int `json:"-"`
}

var anyFile = Kind{Noun: "file", MaxSize: 1 << 20}

func read(text string) (sample, error) {
	var s sample
	n, err := anyFile.Read([]byte(text))
	if err != nil {
		return s, err
	}
	for _, fault := range Decode(n, "the file", &s) {
		err = cmp.Or(err, fault)
	}
	return s, err
}

func TestAFileMeansWhatItsAuthorIntended(t *testing.T) {
	s, err := read(`
name: 17            # text is wanted, so it is text
count: 0x10
share: 2
yes: on
for: 1m30s
list: &l [a, 1, true]
map: &m {a: b}
part: {port: 80}
`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "17" || s.Count != 16 || s.Share != 2 || s.Yes == nil || !*s.Yes || *s.For != 90*time.Second ||
		strings.Join(s.List, " ") != "a 1 true" || s.Map["a"] != "b" || s.Part.Port != 80 {
		t.Errorf("%+v", s)
	}
	if s, err = read("name: &n web\nlist: &l [*n, *n]\nmap: {*n : *n}\n"); err != nil || fmt.Sprint(s.List, s.Map) != "[web web] map[web:web]" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err = read("# nothing\n"); err != nil {
		t.Errorf("a file without fields: %v", err)
	}
}

func TestErrorsNameTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\nnmae: b\n":           `line 2: there is no field "nmae" in the file; did you mean "name"?`,
		"name: a\nzzz: b\n":            `line 2: there is no field "zzz" in the file; there are name, count, share, yes, for, list, map, part`,
		"name: a\n\nname: b\n":         `line 3: "name" is given twice in the file; the first is on line 1`,
		"part:\n  port: http\n":        `line 2: port must be a whole number (32 bits), not text`,
		"part:\n  port: 99999999999\n": `line 2: port must be a whole number (32 bits), not a number`,
		"list: a\n":                    `line 1: list must be a list, not text`,
		"name: {{.BMC}}\n":             `line 1: name must be text, not a group of fields: put a value that begins with {{ in quotes`,
		"map: [a]\n":                   `line 1: map must be a group of fields, not a list`,
		"map: {a: [b]}\n":              `line 1: map.a must be text, not a list`,
		"yes: maybe\n":                 `line 1: yes must be true or false, not text`,
		"for: soon\n":                  `line 1: for must be a time written like 90s or 30m, not the text "soon"`,
		"name:\n\t- a\n":               `line 2: a tab indents this line: YAML takes only spaces`,
		"map:\n  a: b\n\tc: d\n":       `line 3: a tab indents this line: YAML takes only spaces`,
		"name: @web\n":                 "line 1: put the value in quotes: in YAML it can't begin with @, ` or %",
		"count: 1\nname: `a`\n":        "line 2: put the value in quotes: in YAML it can't begin with @, ` or %",
		"name: a: b\n":                 `line 1: there is a ": " that YAML does not allow here: put a value that has one in quotes, and indent the fields of a group alike`,
		"map: &m {a: *m}\n":            `line 1: this file is too large when its aliases are expanded`,
		"map:\n  <<: 3\n":              "line 2: merge keys (<<) can't be used in a file: write the fields out",
		"name: a\n---\nname: b\n":      `line 2: a second document begins here: a file holds one file, so keep it in a file of its own`,
	} {
		if _, err := read(text); err == nil || err.Error() != want {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("name: a\npart: {port: 1}\n")
	f.Add("a: &a [*a]\n")
	f.Add("map: &m {<<: *m}\n")
	f.Add("map: {<<: [{a: b}, {c: d}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := read(text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}
