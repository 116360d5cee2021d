package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

var update = flag.Bool("update", false, "rewrite the schema")

// schemas builds a JSON Schema (2020-12) from the types of a record.
type schemas struct {
	t    *testing.T
	defs map[string]any
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func (s *schemas) of(t reflect.Type) any {
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{s.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		return s.object(t)
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": []string{"string", "null"}}
		}
		return map[string]any{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

func (s *schemas) object(t reflect.Type) any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if _, ok := reflect.New(t).Interface().(interface{ MarshalText() ([]byte, error) }); ok {
		return map[string]any{"type": "string"}
	}
	name := strings.NewReplacer("[", "_", "]", "", ".", "_").Replace(t.String())
	if s.defs[name] == nil {
		s.defs[name] = true // it may contain itself
		properties := map[string]any{}
		s.fields(t, properties)
		s.defs[name] = map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

func (s *schemas) fields(t reflect.Type, into map[string]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "":
			s.fields(f.Type, into)
		case !snakeCase.MatchString(name):
			s.t.Errorf("the key of %s.%s is %q, which is not snake_case", t, f.Name, name)
		default:
			into[name] = s.of(f.Type)
		}
	}
}

// The schema in docs matches the program's types. Change it with -update.
func TestTheRecordHasItsSchema(t *testing.T) {
	s := &schemas{t: t, defs: map[string]any{}}
	doc := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "lightsout record"}
	for file, v := range map[string]any{EventsFile: view.Event{}, RequestsFile: loadgen.Record{}, SamplesFile: Sample{}, SummaryFile: Summary{}} {
		doc[file] = s.of(reflect.TypeOf(v))
	}
	doc["versions"] = map[string]int{SamplesFile: SampleSchema, SummaryFile: SummaryVersion}
	doc["$defs"] = s.defs
	want, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	path := filepath.Join("..", "..", "docs", "reference", "record.schema.json")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("docs/reference/record.schema.json does not match the program's types (%v): rewrite it with -update, and increase the version if the meaning of a field changes", err)
	}
}

// strictly decodes b into v, and refuses unknown keys.
func strictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Records of the program have no other keys.
func TestTheExamplesKeepToTheSchema(t *testing.T) {
	for _, name := range []string{"mdx", "vagrant"} {
		dir := os.DirFS(filepath.Join("examples", name))
		for file, v := range map[string]func() any{
			EventsFile: func() any { return &view.Event{} }, RequestsFile: func() any { return &loadgen.Record{} }, SamplesFile: func() any { return &Sample{} },
		} {
			if _, err := readLines(dir, file, 0, func(n int, line []byte) error {
				if err := strictly(line, v()); err != nil {
					t.Errorf("%s, %s, line %d: %v", name, file, n, err)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		if b, err := readSmall(dir, SummaryFile); err != nil || strictly(b, &Summary{}) != nil {
			t.Errorf("%s: %v, %v", name, err, strictly(b, &Summary{}))
		}
	}
}
