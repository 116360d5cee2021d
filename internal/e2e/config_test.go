package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAConfigIsMadeShownAndChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lightsout.yaml")
	if _, errs, code := run(t, nil, "config", "init", path); code != 0 {
		t.Fatalf("config init: %s", errs)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, errs, code := run(t, nil, "config", "init", path); code != 1 || !strings.Contains(errs, "already exists") {
		t.Errorf("config init, again: %d, %s", code, errs)
	}
	if out, errs, code := run(t, nil, "config", "check", path); code != 0 || !strings.Contains(out, " sets nothing: ") {
		t.Errorf("config check: %d, %s%s", code, out, errs)
	}
	if err := os.WriteFile(path, []byte("contxt: a\npower: {off_by: ssg}\nload: {url: \"https://me:planted@x/\", api_key_file: /nowhere}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, nil, "config", "check", path)
	if code != 2 || strings.Count(out, "\n") != 2 || !strings.Contains(out, `did you mean "context"?`) || !strings.Contains(out, `line 2: power.off_by: there is no power driver "ssg"; did you mean "ssh"?`) {
		t.Errorf("config check: %d, %s%s", code, out, errs)
	}
	if err := os.WriteFile(path, []byte("load: {url: \"https://me:planted@x/\", api_key_file: /nowhere}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := run(t, nil, "config", "check", path); code != 2 || !strings.Contains(out, "the API key can't be read") {
		t.Errorf("config check: %d, %s", code, out)
	}
	if out, errs, code := run(t, nil, "--config", path, "--context", "other", "config", "show"); code != 0 || strings.Contains(out, "planted") || !strings.Contains(out, "context: other\n") {
		t.Errorf("config show: %d, %s%s", code, out, errs)
	}
}
