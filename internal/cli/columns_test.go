package cli

import (
	"os"
	"path/filepath"
	"testing"

	"lightsout/internal/config"
	"lightsout/tui"
)

func TestColumnsAreKeptInTheStateFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	cfg := &config.Config{State: dir}
	if err := withKept(cfg, tui.Options{}).KeepColumns(map[string]tui.Choice{"Pods": {"NEXT": false, "AGE": true}}); err != nil {
		t.Fatal(err)
	}
	if next := withKept(cfg, tui.Options{}).Columns["Pods"]; next["NEXT"] || !next["AGE"] || len(next) != 2 {
		t.Errorf("the next session begins with %v", next)
	}
	path := filepath.Join(dir, "screen.json")
	for _, bad := range []string{"", "{", `{"columns":7}`, "\x00"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := withKept(cfg, tui.Options{}); len(o.Columns) > 0 {
			t.Errorf("%q gives %v", bad, o.Columns)
		}
	}
}
