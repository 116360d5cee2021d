package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lightsout/internal/config"
	"lightsout/internal/record"
	"lightsout/internal/trial/plan"
)

func TestTheExamplePlanIsValid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	var out bytes.Buffer
	if err := writeNew(path, plan.Example(), "edit it", &out); err != nil {
		t.Fatal(err)
	}
	if p, err := plan.Open(path); err != nil || len(p.Warnings()) > 0 {
		t.Errorf("%v, %v", err, p)
	}
	if err := writeNew(path, "", "", &out); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the command overwrote a file: %v", err)
	}
}

func TestTrialShowPrintsPlans(t *testing.T) {
	for _, name := range plan.Builtin() {
		var out bytes.Buffer
		if err := showPlan(name, &out); err != nil || !strings.Contains(out.String(), "name: "+name) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(plan.Example()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := showPlan("nosuch", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "there is no plan") {
		t.Errorf("for a plan that does not exist: %v", err)
	}
}

func TestRecordsNamesWhatHasNoSummary(t *testing.T) {
	state := t.TempDir()
	broken := filepath.Join(state, "mdx", "trials", "20261123-broken")
	if err := os.MkdirAll(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	written := filepath.Join(state, "mdx", "trials", "20261123-written")
	tl, err := record.NewTimeline("", time.Now)
	if err == nil {
		err = errors.Join(os.Mkdir(written, 0o700), tl.Tee(filepath.Join(written, record.EventsFile)))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tl.Untee() }()
	var out bytes.Buffer
	if err := listRecords(options{Flags: config.Flags{State: state + "/missing"}}, formatTable, &out); err == nil || !strings.Contains(err.Error(), "/missing") {
		t.Errorf("of a state folder that is not there: %v", err)
	}
	if err := listRecords(options{Flags: config.Flags{State: state}}, formatTable, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"unreadable  " + broken + "\n", "recording   " + written + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the list lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "CLUSTER") || os.MkdirAll(filepath.Join(state, "spare", "outages", "20261123-gone"), 0o700) != nil {
		t.Errorf("the records are of one cluster:\n%s", out.String())
	}
	out.Reset()
	if err := listRecords(options{Flags: config.Flags{State: state}}, formatTable, &out); err != nil || !strings.Contains(out.String(), "  CLUSTER  WHAT ") || !strings.Contains(out.String(), "  spare    outage ") {
		t.Errorf("of two clusters: %v\n%s", err, out.String())
	}
}

// Scripts read lists and comparisons as JSON, in which a duration or time that nobody knows is not there, and
// -o chooses a format everywhere.
func TestListsAndComparisonsAreJSON(t *testing.T) {
	state := t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "mdx", "trials", "20261123-broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"records -o json --state " + state: `[{"what":"trial","verdict":"unreadable","record":`,
		"trial list -o json":               `[{"name":"mdx","about":"Two of four nodes lose power`,
		"trial compare mdx mdx -o json":    `{"runs":[{"record":"mdx","summary":{"version":`,
	} {
		out, err := say(t, strings.Fields(line)...)
		var b bytes.Buffer
		if err := errors.Join(err, json.Compact(&b, []byte(out))); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %v\n%.200s", line, err, &b)
		}
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if f := cmd.Flags().ShorthandLookup("o"); f != nil && !strings.HasPrefix(f.Usage, "print as this `format`: ") {
			t.Errorf("%s: -o is no format", cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(Command("test"))
}
