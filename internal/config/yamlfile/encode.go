package yamlfile

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// encoder is a type that writes itself.
type encoder interface{ EncodeYAML() *yaml.Node }

// Encode writes a document that Decode reads as the same value. It leaves out fields
// with their zero value.
func Encode(v any) *yaml.Node { return encode(reflect.ValueOf(v)) }

// Write writes a document, nothing of it in one line.
func Write(n *yaml.Node) (string, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(n)
	return out.String(), err
}

func encode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{}
	if e, ok := v.Interface().(encoder); ok {
		return e.EncodeYAML()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encode(v.Elem())
	case reflect.Map:
		n.Kind = yaml.MappingNode
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			Put(n, name.String(), encode(v.MapIndex(name)))
		}
	case reflect.Struct:
		n.Kind = yaml.MappingNode
		for _, field := range reflect.VisibleFields(v.Type()) {
			if name := fieldName(field); name != "" && !v.FieldByIndex(field.Index).IsZero() {
				Put(n, name, encode(v.FieldByIndex(field.Index)))
			}
		}
	default: // text, a number, a time, or a list of such, which can always be encoded
		_ = n.Encode(v.Interface())
	}
	return n
}

// Put adds a field to a group of fields.
func Put(n *yaml.Node, name string, value *yaml.Node) {
	key := &yaml.Node{}
	key.SetString(name)
	n.Content = append(n.Content, key, value)
}
