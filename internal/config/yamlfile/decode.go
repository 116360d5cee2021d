package yamlfile

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Decode reads n strictly into what into points to: structs by the names of
// their json tags, maps, slices, text, numbers, true and false, times, and types
// that read themselves. A null leaves a value as it is. Errors are an
// *Error with the line of the field.
func Decode(n *yaml.Node, into any) error {
	return decode(n, "", reflect.ValueOf(into).Elem())
}

// Open reads n as a group of fields whose names are not known yet; at is its
// own name, for errors. It is empty for null.
func Open(n *yaml.Node, at string) (Group, error) {
	if isNull(n) {
		return Group{}, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, wrongType(n, at, "group of fields")
	}
	g, merged := Group{}, Group{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			sources := []*yaml.Node{v}
			if v.Kind == yaml.SequenceNode {
				sources = v.Content
			}
			for _, from := range sources {
				more, err := Open(from, at)
				if err != nil {
					return nil, err
				}
				for name, f := range more {
					if _, first := merged[name]; !first {
						merged[name] = f
					}
				}
			}
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return nil, errorOf(k, "the name of a field can't be %s", Is(k))
		}
		if first, twice := g[k.Value]; twice {
			return nil, errorOf(k, "%s is given twice; the first is on line %d", Quote(k.Value), first.Key.Line)
		}
		g[k.Value] = Field{k, v}
	}
	maps.Copy(merged, g) // what is written out counts more
	return merged, nil
}

// Take reads the fields that the struct into has, and takes them out of g.
func (g Group) Take(into any) error {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		name := fieldName(v.Type().Field(i))
		f, ok := g[name]
		if !ok || name == "" {
			continue
		}
		if err := decode(f.Value, name, v.Field(i)); err != nil {
			return err
		}
		delete(g, name)
	}
	return nil
}

// End is the error that there is a field left that nobody has taken; known are
// the names that there are, as far as they are told.
func (g Group) End(known []string) error {
	left := slices.SortedFunc(maps.Values(g), func(a, b Field) int { return cmp.Or(a.Key.Line-b.Key.Line, a.Key.Column-b.Key.Column) })
	if len(left) == 0 {
		return nil
	}
	k := left[0].Key
	if near := Suggest(k.Value, known); near != "" {
		return errorOf(k, "there is no field %s; did you mean %q?", Quote(k.Value), near)
	}
	return errorOf(k, "there is no field %s; see the README for the fields there are", Quote(k.Value))
}

// Names are the fields that structs have in a file.
func Names(structs ...any) []string {
	var out []string
	for _, s := range structs {
		t := reflect.TypeOf(s)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for i := range t.NumField() {
			if name := fieldName(t.Field(i)); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

// Line is the line of a field given by its path ("load.url"), 0 where it is not there.
func Line(n *yaml.Node, path string) int {
	if n.Kind != yaml.MappingNode {
		return 0
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Value == path {
			return k.Line
		}
		if rest, ok := strings.CutPrefix(path, k.Value+"."); ok {
			if line := Line(n.Content[i+1], rest); line > 0 {
				return line
			}
		}
	}
	return 0
}

// Remove takes bad out of n: a field by its name or value, or an item of a list.
// It reports whether it was there.
func Remove(n, bad *yaml.Node) bool {
	for i, part := range n.Content {
		switch {
		case part == bad && n.Kind == yaml.MappingNode:
			i -= i % 2
			n.Content = slices.Delete(n.Content, i, i+2)
			return true
		case part == bad:
			n.Content = slices.Delete(n.Content, i, i+1)
			return true
		case Remove(part, bad):
			return true
		}
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// decoder is a type that reads its part of a file itself.
type decoder interface{ DecodeYAML(n *yaml.Node) error }

func decode(n *yaml.Node, at string, v reflect.Value) error {
	if isNull(n) {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if err := decode(n, at, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	switch d := v.Addr().Interface().(type) {
	case decoder:
		return d.DecodeYAML(n)
	case *time.Duration:
		if n.Kind != yaml.ScalarNode {
			return wrongType(n, at, "time")
		}
		t, err := time.ParseDuration(n.Value)
		if err != nil {
			return errorOf(n, "%s: %s; write it like 90s or 30m", at, strings.TrimPrefix(err.Error(), "time: "))
		}
		*d = t
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		g, err := Open(n, at)
		if err == nil {
			err = g.Take(v.Addr().Interface())
		}
		if err == nil {
			err = g.End(Names(v.Interface()))
		}
		return err
	case reflect.Map:
		return decodeMap(n, at, v)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return wrongType(n, at, "list")
		}
		list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, c := range n.Content {
			if err := decode(c, at, list.Index(i)); err != nil {
				return err
			}
		}
		v.Set(list)
		return nil
	}
	return decodeScalar(n, at, v)
}

func decodeMap(n *yaml.Node, at string, v reflect.Value) error {
	g, err := Open(n, at)
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(g)))
	for _, name := range slices.Sorted(maps.Keys(g)) {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := decode(g[name].Value, at+"."+name, value); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
	return nil
}

// decodeScalar reads text, a number, or true or false. Numbers and the like
// are taken for text where that is wanted.
func decodeScalar(n *yaml.Node, at string, v reflect.Value) error {
	wanted := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "true or false"}[v.Kind()]
	if wanted == "" {
		wanted = "number"
		if v.CanInt() && n.ShortTag() == "!!float" {
			wanted = "whole number"
		}
	}
	if n.Kind != yaml.ScalarNode {
		return wrongType(n, at, wanted)
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
		return nil
	case v.Kind() == reflect.Bool:
		if n.Decode(v.Addr().Interface()) == nil { // also yes and no, as YAML 1.1 has them
			return nil
		}
	case n.ShortTag() == "!!int" && v.CanInt():
		i, err := strconv.ParseInt(n.Value, 0, v.Type().Bits())
		if err == nil {
			v.SetInt(i)
			return nil
		}
		if errors.Is(err, strconv.ErrRange) {
			return errorOf(n, "%s is too large: %s", at, Shorten(n.Value, 40))
		}
	case v.CanFloat() && (n.ShortTag() == "!!float" || n.ShortTag() == "!!int"):
		if n.Decode(v.Addr().Interface()) == nil {
			return nil
		}
	}
	return wrongType(n, at, wanted)
}

// wrongType is the error that a field is of another type than is wanted.
func wrongType(n *yaml.Node, at, wanted string) error {
	is := "text"
	switch {
	case n.Kind == yaml.SequenceNode:
		is = "list"
	case n.Kind == yaml.MappingNode:
		is = "group of fields"
	case n.ShortTag() == "!!int", n.ShortTag() == "!!float":
		is = "number"
	case n.ShortTag() == "!!bool":
		is = "bool"
	}
	if at == "" {
		at = "the file"
	}
	return errorOf(n, "%s can't be a %s; a %s is wanted", at, is, wanted)
}
