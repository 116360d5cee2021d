package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/terminal"
	"lightsout/internal/view"
)

func TestAnotherPlaceIsMadeOfTheSameFlags(t *testing.T) {
	var o options
	o.File = filepath.Join(t.TempDir(), "lightsout.yaml")
	if err := os.WriteFile(o.File, []byte("context: here\nnamespaces: [shop, db]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.beside = func(context.Context, terminal.Beside) {}
	if o.at(view.Scope{}).beside != nil {
		t.Error("the demo that runs by itself begins anew in another place")
	}
	for _, c := range []struct {
		to         view.Scope
		context    string
		namespaces []string
	}{
		{view.Scope{}, "here", nil},
		{view.Scope{Namespaces: []string{"web"}}, "here", []string{"web"}},
		{view.Scope{Context: "there"}, "there", []string{"shop", "db"}},
	} {
		cfg, err := o.at(c.to).Read()
		if err != nil || cfg.Context != c.context || !slices.Equal(cfg.Namespaces, c.namespaces) {
			t.Errorf("%+v leads to context %s, namespaces %v, %v", c.to, cfg.Context, cfg.Namespaces, err)
		}
	}
	o.Kubeconfig = filepath.Join(t.TempDir(), "none")
	if err := (around{opt: o}).Check(view.Scope{Context: "there"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a place without a kubeconfig: %v", err)
	}
}
