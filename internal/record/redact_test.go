package record

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// format is what a record's JSON consists of: the names of its fields, and the types of strings that they
// have, by their packages.
type format struct {
	fields []string
	types  map[string][]string
	been   map[reflect.Type]bool
}

func (f *format) add(t reflect.Type) {
	if f.been[t] {
		return
	}
	f.been[t] = true
	if t.Kind() == reflect.String && t.PkgPath() != "" {
		f.types[t.PkgPath()] = append(f.types[t.PkgPath()], t.Name())
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		f.add(t.Elem())
	case reflect.Map:
		f.add(t.Key())
		f.add(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
				f.fields = append(f.fields, cmp.Or(name, field.Name))
				f.add(field.Type)
			}
		}
	}
}

// constants lists the values of the constants of these types in a package's source.
func constants(t *testing.T, pkg string, types []string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", strings.TrimPrefix(pkg, "lightsout/"), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(pkg, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			of, _ := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				lit, isText := v.(*ast.BasicLit)
				if of == nil || !isText || lit.Kind != token.STRING || !slices.Contains(types, of.Name) {
					continue
				}
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, value)
			}
			return true
		})
	}
	return out
}

var wordOf = regexp.MustCompile(`[0-9A-Za-z]+`)

// The words of a record's own format stay, whatever a namespace or a cluster is called.
func TestRedactionKeepsTheValuesOfTheFormat(t *testing.T) {
	f := format{types: map[string][]string{}, been: map[reflect.Type]bool{}}
	for _, v := range []any{Sample{}, view.Event{}, loadgen.Record{}, Summary{}} {
		f.add(reflect.TypeOf(v))
	}
	values := append(f.fields, view.PhaseNames...)
	for pkg, of := range f.types {
		values = append(values, constants(t, pkg, of)...)
	}
	if len(values) < 300 {
		t.Fatalf("only %d values in %v", len(values), f.types)
	}
	for _, k := range cluster.Kinds {
		for _, c := range []cluster.Change{cluster.ChangeStatus, cluster.ChangeHeartbeat, cluster.ChangeEndpoints, cluster.ChangeReplicas} {
			values = append(values, string(view.TransitionCode(cluster.Transition{Subject: cluster.Ref{Kind: k}, Change: c})))
		}
	}
	for s := power.Unknown; s <= power.Transitioning; s++ {
		values = append(values, s.String())
	}
	for p := power.ProofNone; p <= power.Proven; p++ {
		values = append(values, p.String())
	}
	for _, k := range slices.Concat(cluster.Kinds, []cluster.Kind{cluster.KindStatefulSet, cluster.KindDaemonSet, cluster.KindService}, cluster.PlaceKinds) {
		for _, c := range []cluster.Change{cluster.ChangeStatus, cluster.ChangeBoot, cluster.ChangeTaint, cluster.ChangeReady, cluster.ChangeEndpoints, cluster.ChangeReplicas,
			cluster.ChangeNode, cluster.ChangeCordon, cluster.ChangeHeartbeat, cluster.ChangeTraffic, cluster.ChangeEvent} {
			values = append(values, string(view.TransitionCode(cluster.Transition{Subject: cluster.Ref{Kind: k}, Change: c})))
		}
	}
	for s := power.Unknown; s <= power.Transitioning; s++ {
		values = append(values, s.String())
	}
	for p := power.ProofNone; p <= power.Proven; p++ {
		values = append(values, p.String())
	}
	n := NewNames()
	for _, v := range values {
		n.Add(NameNamespace, append(wordOf.FindAllString(v, -1), v)...)
		n.Add(NameHost, v)
	}
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(n.JSON(line)); got != string(line) {
			t.Errorf("%s became %s", line, got)
		}
		if got := n.Text(v); got != v {
			t.Errorf("%s became %s in a text", v, got)
		}
	}
}

// A namespace called api leaves the sign of a lost API server alone, and a cluster called
// local the class of a request that lightsout itself made fail.
func TestRedactionLeavesSignsAndClasses(t *testing.T) {
	n := NewNames()
	n.Add(NameNamespace, "api", "payments")
	n.Add(NameHost, "local")
	for was, want := range map[string]string{
		`{"code":"outage_sign","sign":"api","namespace":"payments"}`: `{"code":"outage_sign","sign":"api","namespace":"ns-00001"}`,
		`{"code":"api_lost"}`:                   `{"code":"api_lost"}`,
		`{"class":"local error"}`:               `{"class":"local error"}`,
		`{"failed_by_class":{"local error":2}}`: `{"failed_by_class":{"local error":2}}`,
	} {
		if got := string(n.JSON([]byte(was))); got != want {
			t.Errorf("%s became %s", was, got)
		}
	}
}
