package survey

import (
	"reflect"

	"lightsout/internal/text"
)

// clean makes all strings below a value harmless for a terminal: anybody may have written the file.
// Names that lightsout snapshot has written do not change. v must be a pointer.
func clean(v any) { cleanValue(reflect.ValueOf(v)) }

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map:
		cleanMap(v)
	case reflect.String:
		if s := text.VisibleLine(v.String()); s != v.String() && v.CanSet() {
			v.SetString(s)
		}
	}
}

// cleanMap cleans the keys and values of a map.
func cleanMap(m reflect.Value) {
	for _, k := range m.MapKeys() {
		key, value := reflect.New(k.Type()).Elem(), reflect.New(m.Type().Elem()).Elem()
		key.Set(k)
		value.Set(m.MapIndex(k))
		cleanValue(key)
		cleanValue(value)
		m.SetMapIndex(k, reflect.Value{})
		m.SetMapIndex(key, value)
	}
}
