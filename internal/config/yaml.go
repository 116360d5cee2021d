package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"lightsout/power"
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

// group is a group of fields that are read in parts.
type group map[string]json.RawMessage

// UnmarshalJSON reads the section power: the fields of its own, and those of the
// drivers into what their kinds make.
func (p *Power) UnmarshalJSON(data []byte) error {
	g, err := openGroup("", data)
	if err != nil {
		return err
	}
	if err := g.take("", p); err != nil {
		return err
	}
	for _, k := range power.Kinds() {
		if raw, ok := g[k.Name]; ok && k.Section != nil {
			delete(g, k.Name)
			own, err := openGroup(k.Name, raw)
			if own == nil {
				continue
			}
			s := k.Section()
			if err == nil {
				err = own.take(k.Name, s)
			}
			if err == nil {
				err = own.end()
			}
			if err != nil {
				return err
			}
			if p.Sections == nil {
				p.Sections = map[string]power.Section{}
			}
			p.Sections[k.Name] = s
		}
	}
	if nodes, ok := g["nodes"]; ok {
		delete(g, "nodes")
		if err := p.readNodes(nodes); err != nil {
			return err
		}
	}
	return g.end()
}

// readNodes reads power.nodes: the fleet's fields, and those of any driver.
func (p *Power) readNodes(data []byte) error {
	all, err := openGroup("nodes", data)
	if err != nil {
		return err
	}
	p.Nodes = make(map[string]Node, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := "nodes." + name
		g, err := openGroup(at, all[name])
		if err != nil {
			return err
		}
		n := Node{Own: map[string]any{}}
		rest := maps.Clone(g)
		for _, k := range power.Kinds() {
			if k.Node == nil {
				continue
			}
			// Drivers may share a field, so each is given all of them.
			mine, own := maps.Clone(g), k.Node()
			if err := mine.take(at, own); err != nil {
				return err
			}
			if len(mine) < len(g) {
				n.Own[k.Name] = own
			}
			maps.DeleteFunc(rest, func(field string, _ json.RawMessage) bool { _, left := mine[field]; return !left })
		}
		if err := rest.take(at, &n); err != nil {
			return err
		}
		if err := rest.end(); err != nil {
			return err
		}
		p.Nodes[name] = n
	}
	return nil
}

// openGroup reads a group without its fields' values; it is nil for null.
func openGroup(at string, data []byte) (g group, err error) {
	return g, below(at, json.Unmarshal(data, &g))
}

// take reads the fields that the struct into has, and takes them out of the group.
func (g group) take(at string, into any) error {
	mine := group{}
	for t, i := reflect.TypeOf(into).Elem(), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if raw, ok := g[name]; ok && name != "-" {
			mine[name] = raw
			delete(g, name)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	data, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	// Not encoding/json's: numbers are taken for texts where those are wanted.
	type plain Power
	if p, ok := into.(*Power); ok {
		into = (*plain)(p)
	}
	return below(at, yaml.UnmarshalStrict(data, into))
}

// end is the error that there is a field left that nobody has taken.
func (g group) end() error {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		return fmt.Errorf("unknown field %q", name)
	}
	return nil
}

// below puts a path before the field of a type error, as encoding/json does.
func below(at string, err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) || at == "" {
		return err
	}
	t.Field = strings.TrimSuffix(at+"."+t.Field, ".")
	return t
}
