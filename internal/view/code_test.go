package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lightsout/cluster"
)

// codes returns the constants of type Code, by value.
func codes(t *testing.T) map[Code]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Code]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Code") {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil || out[Code(s)] {
				t.Errorf("%s: %v, or two constants have this value", s, err)
			}
			out[Code(s)] = true
		}
		return true
	})
	return out
}

// Each code has its sentence, its lane and its level in one place.
func TestEachCodeHasItsSentence(t *testing.T) {
	t.Parallel()
	all := codes(t)
	for code := range codeSpecs {
		if !all[code] {
			t.Errorf("%s is not a constant", code)
		}
	}
	for code := range all {
		if subject, change, ok := strings.Cut(string(code), "_"); ok && codeSpecs[code].sentence == nil {
			e := Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.Kind(subject)}, Change: cluster.Change(change), To: "x"})
			if e.Code == code && e.Text != "" {
				continue
			}
		}
		if k := codeSpecs[code]; k.sentence == nil || k.lane == "" {
			t.Errorf("%s has no sentence or no lane", code)
		}
	}
}

// Only this package gives an event its text.
func TestOnlyThisPackageWritesTheTextsOfEvents(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || filepath.Base(path) == "bin"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Event" {
				for _, el := range lit.Elts {
					if kv, ok := el.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Text" {
							t.Errorf("%s writes the text of an event: use a Code", path)
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The level of an event does not depend on its wording.
func TestTheLevelOfAnEventIgnoresItsWording(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		t    cluster.Transition
		want Level
	}{
		{cluster.Transition{Change: cluster.ChangeStatus, From: "lost and NotReady", To: "BackOff", Was: cluster.HealthGood, Is: cluster.HealthGood}, Good},
		{cluster.Transition{Change: cluster.ChangeStatus, From: "Ready", To: "fine", Was: cluster.HealthGood, Is: cluster.HealthBad}, Bad},
		{cluster.Transition{Change: cluster.ChangeStatus, To: "Unknown"}, Info},
		{cluster.Transition{Change: cluster.ChangeReady, Was: cluster.HealthBad, Is: cluster.HealthGood}, Good},
		{cluster.Transition{Change: cluster.ChangeTaint, To: "key:NoExecute"}, Warning},
	} {
		if e := Transition(tc.t); e.Level != tc.want {
			t.Errorf("%+v has level %d, not %d", tc.t, e.Level, tc.want)
		}
	}
}

// A Knative service and its revisions are in the lane of their deployments: their
// sentences tell them apart, and contain the reason why they are not Ready.
func TestKnativesObjectsAreInTheLaneOfTheirDeployments(t *testing.T) {
	t.Parallel()
	service, revision := cluster.Ref{Kind: cluster.KindKnativeService}, cluster.Ref{Kind: cluster.KindRevision}
	for want, tr := range map[string]cluster.Transition{
		"Knative service Ready → NotReady: RevisionFailed: no room": {Subject: service, Change: cluster.ChangeStatus, From: "Ready", To: "NotReady",
			Is: cluster.HealthBad, Why: "RevisionFailed: no room"},
		"Knative service deleted (was Ready)": {Subject: service, Change: cluster.ChangeStatus, From: "Ready", Why: "deleted"},
		"revision Unknown → Ready":            {Subject: revision, Change: cluster.ChangeStatus, From: "Unknown", To: "Ready", Is: cluster.HealthGood},
		"traffic 100% to llm-00001 → 100% to llm-00002": {Subject: service, Change: cluster.ChangeTraffic,
			From: "100% to llm-00001", To: "100% to llm-00002"},
	} {
		if e := Transition(tr); e.Text != want || e.Lane != LaneDeployment || strings.Contains(string(e.Code), " ") {
			t.Errorf("%q in lane %s with code %s, wanted %q", e.Text, e.Lane, e.Code, want)
		}
	}
}
