package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/config/yamlfile"
	"lightsout/power"
)

// maxSize bounds the size of a config file, in bytes.
const maxSize = 1 << 20

var file = yamlfile.Kind{Noun: "config", MaxSize: maxSize}

// notForOn are the sections that powering a machine on does not need.
var notForOn = []string{"load", "guards", "recorder", "production", "production_contexts"}

// AllFaults reads a config strictly and returns all its errors, in the order of lines, also those in the files and secrets to
// which it refers, as they are now. path is the config's own file. It opens no connection.
func AllFaults(path string, data []byte) []error {
	c, root, faults := read(data)
	defer func() { yamlfile.Sort(faults) }()
	if c == nil {
		return faults
	}
	c.place(path)
	wrong := lined(root, &faults)
	c.ways(wrong)
	if len(faults) == 0 { // a driver without one of its fields reports another error
		c.drivers(wrong)
	}
	return faults
}

// SetsNothing reports a config without a field, of which every line is empty or a comment.
func SetsNothing(data []byte) bool {
	root, err := file.Read(data)
	return err == nil && len(root.Content) == 0
}

// lined appends each error to faults, once, with the line of its field or of what holds that.
func lined(root *yaml.Node, faults *[]error) fault {
	return func(field, format string, args ...any) {
		line := yamlfile.Line(root, field)
		for at := field; line == 0 && strings.Contains(at, "."); {
			at = at[:strings.LastIndexByte(at, '.')]
			line = yamlfile.Line(root, at)
		}
		err := yamlfile.ErrorAt(line, "%s", fmt.Errorf(format, args...))
		if !slices.ContainsFunc(*faults, func(f error) bool { return f.Error() == err.Error() }) {
			*faults = append(*faults, err)
		}
	}
}

// read reads a config strictly, without some sections, and its tree. Each of its errors starts with "line N: "
// if the line is known. The config leaves the faulty fields out, and keeps file names as they are written.
// Config and tree are nil where the text has no fields that can be read.
func read(data []byte, without ...string) (*Config, *yaml.Node, []error) {
	root, err := file.Read(data)
	if err != nil {
		return nil, nil, []error{err}
	}
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		if slices.Contains(without, root.Content[i].Value) {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	c := &Config{}
	faults := yamlfile.Decode(root, "the config", c)
	c.check(lined(root, &faults))
	return c, root, faults
}

// DecodeYAML reads the section power: the fields of its own, and those of the
// drivers into what their kinds make.
func (p *Power) DecodeYAML(n *yaml.Node) []error {
	known := append(yamlfile.Names(p), "nodes")
	for _, k := range power.Kinds() {
		if k.Section != nil {
			known = append(known, k.Name)
		}
	}
	g, faults := yamlfile.Open(n, "power", known...)
	faults = append(faults, g.Take(p)...)
	p.Sections = map[string]power.Section{}
	for _, k := range power.Kinds() {
		f, ok := g[k.Name]
		if !ok || f.Value.ShortTag() == "!!null" {
			continue
		}
		p.Sections[k.Name] = k.Section()
		faults = append(faults, yamlfile.Decode(f.Value, k.Name, p.Sections[k.Name])...)
	}
	if f, ok := g["nodes"]; ok {
		faults = append(faults, p.decodeNodes(f.Value)...)
	}
	for _, k := range power.Kinds() {
		named := slices.ContainsFunc(p.named(), func(n naming) bool { return n.driver == k.Name })
		if named && k.Section != nil && k.Needs == "" && p.Sections[k.Name] == nil {
			p.Sections[k.Name] = k.Section()
		}
	}
	return faults
}

// decodeNodes reads power.nodes: the fleet's fields, and those of any driver.
func (p *Power) decodeNodes(list *yaml.Node) []error {
	known := yamlfile.Names(power.NodeConfig{})
	for _, k := range power.Kinds() {
		if k.Node != nil {
			known = append(known, yamlfile.Names(k.Node())...)
		}
	}
	all, faults := yamlfile.Open(list, "nodes")
	p.Nodes = make(map[string]Node, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g, wrong := yamlfile.Open(all[name].Value, name, known...)
		n := Node{Own: map[string]any{}}
		wrong = append(wrong, g.Take(&n.NodeConfig)...)
		for _, k := range power.Kinds() {
			if k.Node == nil {
				continue
			}
			own := k.Node() // drivers may share a field
			if slices.ContainsFunc(yamlfile.Names(own), func(field string) bool { _, given := g[field]; return given }) {
				wrong = append(wrong, g.Take(own)...)
				n.Own[k.Name] = own
			}
		}
		p.Nodes[name] = n
		faults = append(faults, wrong...)
	}
	return faults
}
