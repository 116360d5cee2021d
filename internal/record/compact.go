package record

import (
	"encoding/json"
	"reflect"
	"strings"
)

// compact writes v as encoding/json does, but leaves out the fields of structs
// that are zero, at any depth. Reading it back with encoding/json gives v
// again. New fields of the types that are kept come along by themselves.
func compact(v any) ([]byte, error) {
	return appendCompact(nil, reflect.ValueOf(v))
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func appendCompact(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsValid() && !v.Type().Implements(marshaler) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				return appendCompact(b, v.Elem())
			}
		case reflect.Struct:
			b, _, err := appendFields(append(b, '{'), v, true)
			return append(b, '}'), err
		case reflect.Slice:
			if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
				return appendItems(b, v)
			}
		}
	}
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	one, err := json.Marshal(v.Interface())
	return append(b, one...), err
}

func appendItems(b []byte, v reflect.Value) (_ []byte, err error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendCompact(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendFields writes a struct's fields; those of embedded structs stand among
// them, as in encoding/json.
func appendFields(b []byte, v reflect.Value, first bool) (_ []byte, _ bool, err error) {
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || isZero(x) {
			continue
		}
		if f.Anonymous && name == "" && x.Kind() == reflect.Struct {
			if b, first, err = appendFields(b, x, first); err != nil {
				return b, first, err
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, '"'), name...), '"', ':')
		if b, err = appendCompact(b, x); err != nil {
			return b, first, err
		}
	}
	return b, first, nil
}

// isZero asks the value itself where it knows, as time.Time does.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && v.Kind() != reflect.Pointer {
		return z.IsZero()
	}
	return v.IsZero()
}
