package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxSize bounds the size of a config file, in bytes.
const maxSize = 1 << 20

// Parse reads a config strictly. Errors start with "line N: " where the
// line is known.
func Parse(data []byte) (*Config, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("the config is larger than %d bytes", maxSize)
	}
	c := &Config{}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, explainYAML(data, err)
	}
	return c, c.check(data)
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	atLine       = regexp.MustCompile(`line (\d+): `)
	wrongType    = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field \S*?\.(\S+) of type (\S+)`)
	notDuration  = regexp.MustCompile(`time: (.*)$`)
)

// explainYAML turns the YAML library's errors into one sentence with a line.
func explainYAML(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: ")
	text = strings.TrimPrefix(text, "error converting YAML to JSON: ")
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%sthere is no field %q; see the README for the fields there are", lineOf(data, m[1]), m[1])
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		field := m[2][strings.LastIndex(m[2], ".")+1:]
		return fmt.Errorf("%s%s can't be a %s; a %s is wanted", lineOf(data, m[2]), field, m[1], wantedType(m[3]))
	}
	if m := atLine.FindStringSubmatchIndex(text); m != nil {
		n := text[m[2]:m[3]]
		rest := strings.TrimSpace(strings.TrimPrefix(text[m[1]:], "yaml: "))
		return fmt.Errorf("line %s: %s", n, strings.ReplaceAll(rest, "\n", " "))
	}
	if m := notDuration.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s; write it like 90s or 30m", m[1])
	}
	return errors.New(strings.ReplaceAll(text, "\n", " "))
}

func wantedType(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "list"
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "float"):
		return "number"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "map["), strings.Contains(t, "."):
		return "group of fields" // a type of a package
	}
	return "text"
}

// lineOf finds the line of a field given by its dotted path, "line N: " or empty.
// The last part of the path must be there, after as many of the others as are.
func lineOf(data []byte, path string) string {
	lines := bytes.Split(data, []byte("\n"))
	at := 0 // where the last part that was found is
	find := func(name string) bool {
		key := regexp.MustCompile(`(^\s*(- )?|[{,]\s*)["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
		for i := at; i < len(lines); i++ {
			if key.Match(lines[i]) {
				at = i
				return true
			}
		}
		return false
	}
	parts := strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		find(name)
	}
	if !find(parts[len(parts)-1]) {
		return ""
	}
	return "line " + strconv.Itoa(at+1) + ": "
}
