package record

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lightsout/internal/view"
)

// TestTheSchemaIsDocumented looks for every field of events and summaries in
// the document that users read.
func TestTheSchemaIsDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "record.md"))
	if err != nil {
		t.Fatal(err)
	}
	var fields func(reflect.Type) []string
	fields = func(typ reflect.Type) (out []string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Anonymous {
				out = append(out, fields(f.Type)...)
			}
			if f.Anonymous || !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, name)
			if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
				out = append(out, fields(f.Type.Elem())...)
			}
		}
		return out
	}
	all := append(fields(reflect.TypeFor[Summary]()), fields(reflect.TypeFor[view.Event]())...)
	for _, name := range append(all, fields(reflect.TypeFor[Ledger]())...) {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("docs/reference/record.md does not describe %q", name)
		}
	}
	for _, name := range view.PhaseNames {
		if !strings.Contains(string(b), name) {
			t.Errorf("docs/reference/record.md does not describe the phase %q", name)
		}
	}
}
