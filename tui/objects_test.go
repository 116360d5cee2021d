package tui

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// Any kind is listed when asked for, and its objects are described like others.
func TestAKindIsListed(t *testing.T) {
	ref := cluster.Ref{Kind: "widget.example.org", Key: cluster.Key{Namespace: "shop", Name: "blue"}}
	want := view.Inspect{List: "widgets"}
	m, sent, _ := testModel(calm(), 80, 24, Options{})
	typeWord(m, "widgets")
	wantIntent(t, sent, want)
	f := calm()
	f.Inspection = &view.Inspection{Inspect: want, At: f.Now, Listing: &cluster.Listing{Title: "widgets.example.org", Columns: []string{"NAME", "SIZE", "CLASS"}, Rows: []cluster.ListingRow{
		{Ref: ref, Cells: []string{"blue", "large", "<unset>"}}, {Ref: cluster.Ref{Kind: ref.Kind, Key: cluster.Key{Namespace: "web", Name: "red"}}, Cells: []string{"red", "small", ""}}}}}
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "shop/blue  large") || !strings.Contains(v, "read at ") || strings.Contains(v, "CLASS") {
		t.Errorf("the list is not shown:\n%s", v)
	}
	one := *f.Inspection.Listing
	one.Rows, f.Inspection = one.Rows[:1], &view.Inspection{Inspect: want, At: f.Now.Add(time.Second), Listing: &one}
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "shop/blue  large") {
		t.Errorf("of all namespaces, an object does not show its own:\n%s", v)
	}
	typeKeys(m, "y")
	wantIntent(t, sent, view.Inspect{Of: ref})
	m.Update(FrameMsg{withYAML(ref, "spec:", "  size: large")})
	typeKeys(m, "d")
	if v := plainView(m); !strings.Contains(v, "  size: large") {
		t.Errorf("the details of a kind that lightsout does not know lack what it says:\n%s", v)
	}
	typeKeys(m, "esc esc")
	wantIntent(t, sent, want)
	typeWord(m, "pdb")
	wantIntent(t, sent, view.Inspect{List: "pdb"})
	if v := plainView(m); strings.Contains(v, "blue") || !strings.Contains(v, "asking the API server for pdb") {
		t.Errorf("another kind still has the old rows:\n%s", v)
	}
	// As in k9s, enter on a CRD lists its objects, and esc leads back to the CRDs.
	typeWord(m, "crd")
	f = calm()
	f.Inspection = &view.Inspection{Inspect: view.Inspect{List: "crd"}, At: f.Now, Listing: &cluster.Listing{Title: "crd", Columns: []string{"NAME"}, Rows: []cluster.ListingRow{
		{Ref: cluster.Ref{Kind: "customresourcedefinition", Key: cluster.Key{Name: "widgets.example.org"}}, Cells: []string{"widgets.example.org"}}}}}
	m.Update(FrameMsg{f})
	typeKeys(m, "enter")
	wantIntent(t, sent, view.Inspect{List: "widgets.example.org"})
	typeKeys(m, "esc")
	wantIntent(t, sent, view.Inspect{List: "crd"})
	typeWord(m, "pdb")
	f = calm()
	f.Inspection = &view.Inspection{Inspect: view.Inspect{List: "pdb"}, At: f.Now, Err: "forbidden; the user needs list on pdb"}
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "the user needs list on pdb") {
		t.Errorf("the missing right is not named:\n%s", v)
	}
	if wantIntent(t, sent, view.Inspect{}); m.active.name == "Objects" {
		t.Error("the list that cannot be read takes the screen")
	}
	for word, near := range map[string]string{"noeds": "did you mean :nodes? the API server", "survay": "did you mean :survey? the API server", "pdc": "did you mean :pc? the API server", "quux": "─ the API server"} {
		typeKeys(m, "5")
		typeWord(m, word)
		f = calm()
		f.Inspection = &view.Inspection{Inspect: view.Inspect{List: word}, At: f.Now, Err: "the API server serves no kind"}
		m.Update(FrameMsg{f})
		if v := plainView(m); m.active.name != "Timeline" || !strings.Contains(v, near) {
			t.Errorf("%s: %s, and not %q:\n%s", word, m.active.name, near, v)
		}
	}
}

// withYAML is calm with the API server's answer about an object.
func withYAML(ref cluster.Ref, lines ...string) *view.Frame {
	f := calm()
	f.Inspection = &view.Inspection{Inspect: view.Inspect{Of: ref}, Object: &cluster.Description{YAML: lines}}
	return f
}

// A namespace without objects of a kind is named, as kubectl does.
func TestAnEmptyKindNamesTheNamespaces(t *testing.T) {
	f := calm()
	f.Namespaces = "default"
	m, _, _ := testModel(f, 120, 36, Options{})
	typeWord(m, "ds")
	if v := plainView(m); !strings.Contains(v, "no DaemonSets in default: 0 or :ns all shows all") {
		t.Errorf("it is not said where there are none:\n%s", v)
	}
}
