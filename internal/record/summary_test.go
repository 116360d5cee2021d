package record

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/view"
	"lightsout/power"
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

// A machine that was seen off, and that its power API reports on since, is not left off.
func TestAMachineReportedOnIsNotLeftOff(t *testing.T) {
	var s Summary
	on := power.Reading{State: power.On, Proof: power.Proven}
	s.AddStanding("on", power.StandsOff, on)
	s.AddStanding("off", power.StandsOff, power.Reading{State: power.Off, Proof: power.Proven})
	s.AddStanding("uncertain", power.MayBeOff, on)
	s.AddStanding("late", power.MayGoOff, on)
	if !slices.Equal(s.LeftOff, []string{"off", "uncertain"}) || !slices.Equal(s.MayGoOff, []string{"late"}) {
		t.Errorf("%q, %q", s.LeftOff, s.MayGoOff)
	}
}
