package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// The folders of records come from disks that others may write to.
func TestListsOfRecordsAndPlansAreHarmless(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\x1b[31m"
	state := t.TempDir()
	dir := filepath.Join(state, "lab", "trials", "20260304T140307Z"+hostile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	summary, err := json.Marshal(record.Summary{Version: record.SummaryVersion, Name: "x" + hostile, Verdict: view.Verdict("pass" + hostile)})
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	for path, body := range map[string][]byte{filepath.Join(dir, record.SummaryFile): summary, plan: []byte("name: x\n# " + hostile + "\u202e\n\tend\n")} {
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		"trial x": {"records", "--state", state}, `\tend`: {"trial", "show", plan},
	} {
		out, err := say(t, args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if !strings.Contains(out, want) {
			t.Errorf("%v shows nothing of it:\n%s", args, out)
		}
		if i := strings.IndexFunc(out, func(r rune) bool {
			return (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) && r != '\n' && r != '\t'
		}); i >= 0 {
			t.Errorf("%v prints the character %q:\n%q", args, out[i:i+1], out)
		}
	}
}
