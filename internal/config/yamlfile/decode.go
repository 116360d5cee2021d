package yamlfile

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"lightsout/internal/text"
)

// Group is a mapping whose fields are given once, by name.
type Group map[string]Field

// Field is one field of a Group.
type Field struct{ Key, Value *yaml.Node }

// Decode reads n strictly into the value that into points to: structs by their json
// tags, maps, slices, text, numbers, booleans, times, and types with a decoder of their
// own. A null leaves a value unchanged, and so does a fault. Errors call the node name;
// each is an *Error with the line of the field. It returns all of them.
func Decode(n *yaml.Node, name string, into any) (faults []error) {
	return decode(n, name, reflect.ValueOf(into).Elem())
}

// Open reads n as a group of fields. Errors call the node name ("a plan", "power"). A
// null is a group without fields. With an empty known it does not check the names.
// It returns all faults, and leaves the faulty fields out of the group.
func Open(n *yaml.Node, name string, known ...string) (g Group, faults []error) {
	g = Group{}
	if isNull(n) {
		return g, nil
	}
	if n.Kind != yaml.MappingNode {
		return g, []error{mustBe(n, name, "a group of fields")}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		first, twice := g[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			faults = append(faults, ErrorAt(k.Line, "the name of a field in %s can't be %s", name, Is(k)))
		case twice:
			faults = append(faults, ErrorAt(k.Line, "%s is given twice in %s; the first is on line %d", Quote(k.Value), name, first.Key.Line))
		case len(known) > 0 && !slices.Contains(known, k.Value):
			faults = append(faults, ErrorAt(k.Line, "there is no field %s in %s; %s", Quote(k.Value), name, Hint(k.Value, known)))
		default:
			g[k.Value] = Field{k, v}
		}
	}
	return g, faults
}

// Fields is Open, with the faults as one error: see Single.
func Fields(n *yaml.Node, name string, known ...string) (Group, error) {
	g, faults := Open(n, name, known...)
	return g, errors.Join(faults...)
}

// Single are the faults of which errors.Join has made one error; nil has none.
func Single(err error) (faults []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return slices.DeleteFunc([]error{err}, func(err error) bool { return err == nil })
	}
	return slices.Concat(text.Each(joined.Unwrap(), Single)...)
}

// Take reads the fields that the struct into has, those of embedded structs included, and
// takes the faulty ones out of g.
func (g Group) Take(into any) (faults []error) {
	v := reflect.ValueOf(into).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name := fieldName(field)
		if f, ok := g[name]; ok && name != "" {
			if wrong := decode(f.Value, name, v.FieldByIndex(field.Index)); len(wrong) > 0 {
				faults = append(faults, wrong...)
				delete(g, name)
			}
		}
	}
	return faults
}

// Names are the fields that a struct, or the one that s points to, has in a file.
func Names(s any) (out []string) {
	for _, field := range reflect.VisibleFields(reflect.Indirect(reflect.ValueOf(s)).Type()) {
		if name := fieldName(field); name != "" {
			out = append(out, name)
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

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// decoder is a type that reads its part of a file itself.
type decoder interface{ DecodeYAML(n *yaml.Node) []error }

func decode(n *yaml.Node, at string, v reflect.Value) []error {
	if isNull(n) {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		faults := decode(n, at, p.Elem())
		if len(faults) == 0 {
			v.Set(p)
		}
		return faults
	}
	switch d := v.Addr().Interface().(type) {
	case decoder:
		return d.DecodeYAML(n)
	case *time.Duration:
		t, err := time.ParseDuration(n.Value) // a group or a list has no text
		if err != nil {
			return []error{Unwanted(n, at, likeTime)}
		}
		*d = t
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		g, faults := Open(n, at, Names(v.Interface())...)
		return append(faults, g.Take(v.Addr().Interface())...)
	case reflect.Map:
		return decodeMap(n, at, v)
	case reflect.Slice:
		return decodeList(n, at, v)
	}
	if err := decodeScalar(n, at, v); err != nil {
		return []error{err}
	}
	return nil
}

func decodeList(n *yaml.Node, at string, v reflect.Value) (faults []error) {
	if n.Kind != yaml.SequenceNode {
		return []error{mustBe(n, at, "a list")}
	}
	v.SetZero()
	for _, c := range n.Content {
		item := reflect.New(v.Type().Elem()).Elem()
		if wrong := decode(c, at, item); len(wrong) > 0 {
			faults = append(faults, wrong...)
			continue
		}
		v.Set(reflect.Append(v, item))
	}
	return faults
}

func decodeMap(n *yaml.Node, at string, v reflect.Value) []error {
	g, faults := Open(n, at)
	v.Set(reflect.MakeMapWithSize(v.Type(), len(g)))
	for _, name := range slices.Sorted(maps.Keys(g)) {
		value := reflect.New(v.Type().Elem()).Elem()
		if wrong := decode(g[name].Value, at+"."+name, value); len(wrong) > 0 {
			faults = append(faults, wrong...)
			continue
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
	return faults
}

// decodeScalar reads text, a number or a boolean. It accepts numbers and booleans as
// text in a text field.
func decodeScalar(n *yaml.Node, at string, v reflect.Value) error {
	wanted, fits := "a number", n.ShortTag() == "!!float" || n.ShortTag() == "!!int"
	switch {
	case v.Kind() == reflect.String:
		wanted, fits = "text", true
	case v.Kind() == reflect.Bool:
		wanted, fits = "true or false", true // YAML 1.1 also has yes and no
	case v.CanInt():
		wanted, fits = fmt.Sprintf("a whole number (%d bits)", v.Type().Bits()), n.ShortTag() == "!!int"
	}
	switch {
	case n.Kind != yaml.ScalarNode || !fits:
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
		return nil
	case n.Decode(v.Addr().Interface()) == nil:
		return nil
	}
	return mustBe(n, at, wanted)
}

// mustBe is Unwanted without the value, which may be a secret.
func mustBe(n *yaml.Node, at, wanted string) error {
	hint := ""
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode {
		hint = ": put a value that begins with {{ in quotes"
	}
	return ErrorAt(n.Line, "%s must be %s, not %s%s", at, wanted, typeOf(n), hint)
}
