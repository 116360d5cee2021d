package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Strict decodes b into v. It refuses everything that two readers could understand
// differently: an unknown key, a key that an object has twice, even in different case,
// and a known key in the wrong case.
func Strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("there is text after the value")
	}
	known := map[string]bool{}
	keysOf(reflect.TypeOf(v), known, map[reflect.Type]bool{})
	d = json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return strictKeys(d, known)
}

// strictKeys reads one value and checks the keys of all its objects.
func strictKeys(d *json.Decoder, known map[string]bool) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	var seen []string
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := t.(string)
			if i := slices.IndexFunc(seen, func(s string) bool { return strings.EqualFold(s, key) }); i >= 0 {
				return fmt.Errorf("the keys %q and %q are in one object", seen[i], key)
			}
			if lower := strings.ToLower(key); !known[key] && known[lower] {
				return fmt.Errorf("the key %q must be %q", key, lower)
			}
			seen = append(seen, key)
		}
		if err := strictKeys(d, known); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// keysOf collects the keys of the structs in a type.
func keysOf(t reflect.Type, keys map[string]bool, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		keysOf(t.Elem(), keys, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				keys[name] = true
			}
			keysOf(f.Type, keys, seen)
		}
	}
}
