package config

import (
	"errors"
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

// maxFaults bounds the number of reported errors.
const maxFaults = 100

// notForOn are the sections that powering a machine on does not need.
var notForOn = []string{"load", "guards", "recorder", "production", "production_contexts"}

// AllFaults reads a config strictly and returns all its errors, also those in the files and secrets to
// which it refers, as they are now. path is the config's own file. It opens no connection.
func AllFaults(path string, data []byte) (*Config, []error) {
	c, root, faults := read(data)
	if c == nil {
		return nil, faults
	}
	c.place(path)
	wrong := lined(root, &faults)
	c.ways(wrong)
	if len(faults) == 0 { // a driver without one of its fields reports another error
		c.drivers(wrong)
	}
	return c, faults
}

// lined appends each error to faults, with the line of its field or of what holds that.
func lined(root *yaml.Node, faults *[]error) fault {
	return func(field, format string, args ...any) {
		for at := field; ; at = at[:strings.LastIndexByte(at, '.')] {
			if line := yamlfile.Line(root, at); line > 0 {
				format = fmt.Sprintf("line %d: ", line) + format
				break
			}
			if !strings.Contains(at, ".") {
				break
			}
		}
		*faults = append(*faults, fmt.Errorf(format, args...))
	}
}

// read reads a config strictly, without some sections, and its tree. Each of its errors starts with "line N: "
// if the line is known. The config leaves the faulty fields out, and keeps file names as they are written.
// Config and tree are nil where the text has no fields that can be read.
func read(data []byte, without ...string) (*Config, *yaml.Node, []error) {
	if len(data) > maxSize {
		return nil, nil, []error{fmt.Errorf("the config is larger than %d bytes", maxSize)}
	}
	root, err := file.Read(data)
	if err != nil {
		return nil, nil, []error{err}
	}
	for i := len(root.Content) - 2; i >= 0; i -= 2 {
		if slices.Contains(without, root.Content[i].Value) {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	var faults []error
	c := &Config{}
	for err := yamlfile.Decode(root, "the config", c); err != nil; err = yamlfile.Decode(root, "the config", c) {
		faults = append(faults, err)
		// What else is wrong shows when this field is not there.
		var at *yamlfile.Error
		if !errors.As(err, &at) || at.Node() == nil || len(faults) == maxFaults || !yamlfile.Remove(root, at.Node()) {
			return nil, nil, faults
		}
		c = &Config{}
	}
	c.check(lined(root, &faults))
	return c, root, faults
}

// DecodeYAML reads the section power: the fields of its own, and those of the
// drivers into what their kinds make.
func (p *Power) DecodeYAML(n *yaml.Node) error {
	g, err := yamlfile.Fields(n, "power")
	if err != nil {
		return err
	}
	if err := g.Take(p); err != nil {
		return err
	}
	known := append(yamlfile.Names(p), "nodes")
	for _, k := range power.Kinds() {
		if k.Section == nil {
			continue
		}
		known = append(known, k.Name)
		f, ok := g[k.Name]
		delete(g, k.Name)
		if !ok || f.Value.ShortTag() == "!!null" {
			continue
		}
		s := k.Section()
		if err := yamlfile.Decode(f.Value, k.Name, s); err != nil {
			return err
		}
		if p.Sections == nil {
			p.Sections = map[string]power.Section{}
		}
		p.Sections[k.Name] = s
	}
	if f, ok := g["nodes"]; ok {
		delete(g, "nodes")
		if err := p.decodeNodes(f.Value); err != nil {
			return err
		}
	}
	return g.End("power", known)
}

// decodeNodes reads power.nodes: the fleet's fields, and those of any driver.
func (p *Power) decodeNodes(list *yaml.Node) error {
	all, err := yamlfile.Fields(list, "nodes")
	if err != nil {
		return err
	}
	p.Nodes = make(map[string]Node, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g, err := yamlfile.Fields(all[name].Value, name)
		if err != nil {
			return err
		}
		n := Node{Own: map[string]any{}}
		known := yamlfile.Names(n.NodeConfig)
		rest := maps.Clone(g)
		for _, k := range power.Kinds() {
			if k.Node == nil {
				continue
			}
			// Drivers may share a field, so each is given all of them.
			mine, own := maps.Clone(g), k.Node()
			if err := mine.Take(own); err != nil {
				return err
			}
			known = append(known, yamlfile.Names(own)...)
			if len(mine) < len(g) {
				n.Own[k.Name] = own
			}
			maps.DeleteFunc(rest, func(field string, _ yamlfile.Field) bool { _, left := mine[field]; return !left })
		}
		if err := rest.Take(&n.NodeConfig); err != nil {
			return err
		}
		if err := rest.End(name, known); err != nil {
			return err
		}
		p.Nodes[name] = n
	}
	return nil
}
