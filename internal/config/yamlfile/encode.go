package yamlfile

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// encoder is a type that writes itself.
type encoder interface{ EncodeYAML() *yaml.Node }

// Encode makes of what Decode reads a document that it reads as the same.
// Fields that have their zero value are left out.
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
	switch d, isTime := v.Interface().(time.Duration); {
	case isTime:
		n.SetString(d.String())
	case v.Kind() == reflect.Pointer:
		return encode(v.Elem())
	case v.Kind() == reflect.String:
		n.SetString(v.String())
	case v.Kind() == reflect.Slice:
		n.Kind = yaml.SequenceNode
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i)))
		}
	case v.Kind() == reflect.Map:
		n.Kind = yaml.MappingNode
		of := values(v)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			Put(n, name, encode(of[name]))
		}
	case v.Kind() == reflect.Struct:
		n.Kind = yaml.MappingNode
		for i := range v.NumField() {
			if name := fieldName(v.Type().Field(i)); name != "" && !v.Field(i).IsZero() {
				Put(n, name, encode(v.Field(i)))
			}
		}
	default: // a number, or true or false, which can always be encoded
		_ = n.Encode(v.Interface())
	}
	return n
}

func values(m reflect.Value) map[string]reflect.Value {
	out := make(map[string]reflect.Value, m.Len())
	for k, v := range m.Seq2() {
		out[k.String()] = v
	}
	return out
}

// Put adds a field to a group of fields.
func Put(n *yaml.Node, name string, value *yaml.Node) {
	key := &yaml.Node{}
	key.SetString(name)
	n.Content = append(n.Content, key, value)
}
