package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	if err := listRecords(options{Flags: config.Flags{State: state}}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"unreadable        " + broken + "\n", "recording         " + written + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the list lacks %q:\n%s", want, out.String())
		}
	}
}
