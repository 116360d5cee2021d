package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/view"
)

// The verdict is on the timeline too, and so are the steps.
func TestLoadVerifyComparesTheVerdictWithTheTimeline(t *testing.T) {
	for verdict, want := range map[string]string{
		"pass": "", "aborted": `"aborted", but "pass" on the timeline`, "not observed": `"not observed", but "pass" on the timeline`,
		"no expectations": `"no expectations", with `, "": `"" is not a verdict`,
		`pass", "why": ["one request too many"], "restore": "`: "the reasons of the verdict (why) are",
	} {
		verifyChanged(t, verdict, want, func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"verdict": "pass"`), []byte(`"verdict": "`+verdict+`"`), 1)
		})
	}
	for want, change := range map[string]func(*record.Step){
		`"skipped" and started`: func(s *record.Step) { s.State = view.StepSkipped },
		"1 step failed, but 0":  func(s *record.Step) { s.State = view.StepFailed },
		"started at 00:00:00":   func(s *record.Step) { s.Started = time.Time{} },
		"on the timeline":       func(s *record.Step) { s.Started = s.Started.Add(-2 * time.Second) },
		"which do not follow":   func(s *record.Step) { s.Ended = s.Started.Add(-time.Second) },
		"of the step before":    func(s *record.Step) { s.Ended = s.Ended.Add(time.Hour) },
	} {
		verifyChanged(t, want, want, func(data []byte) []byte {
			var sum record.Summary
			if err := json.Unmarshal(data, &sum); err != nil {
				t.Fatal(err)
			}
			change(&sum.Steps[1])
			data, err := json.Marshal(sum)
			if err != nil {
				t.Fatal(err)
			}
			return data
		})
	}
}

// The timeline of a trial by keyboard has no steps.
func TestLoadVerifyAcceptsTheStepsOfATrialByKeyboard(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	folder := fstest.MapFS{record.EventsFile: {Data: []byte(`{"seq":1,"code":"trial_verdict","verdict":"no expectations"}` + "\n")}}
	v := &verification{recount: &recount{}, folder: folder}
	v.verdict(&record.Summary{Verdict: view.NoExpectations, Steps: []record.Step{{Name: "off k8s2", State: view.StepDone, Started: began, Ended: began}}})
	if len(v.differences) > 0 || len(v.unchecked) != 1 {
		t.Errorf("differences %q, not checked %q", v.differences, v.unchecked)
	}
}

// The operator of a trial step by step took a step, answered no, and ended the trial.
func TestLoadVerifyAcceptsAStepThatWasPutBack(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{record.EventsFile: {Data: []byte(`{"seq":1,"code":"trial_step","n":1,"of":1,"name":"off k8s2"}` + "\n" + `{"seq":2,"code":"trial_verdict","verdict":"aborted"}` + "\n")}}
	v := &verification{recount: &recount{}, folder: folder}
	v.verdict(&record.Summary{Verdict: view.Aborted, Steps: []record.Step{{Name: "off k8s2", State: view.StepSkipped}}})
	if len(v.differences) > 0 {
		t.Errorf("%q", v.differences)
	}
}

// verifyChanged verifies the example mdx with a changed summary; want is in the output. Empty: it
// finds no difference.
func verifyChanged(t *testing.T, name, want string, change func(summary []byte) []byte) {
	t.Helper()
	example, _ := examples.Open("mdx")
	dir := t.TempDir()
	for _, name := range []string{"requests.jsonl", "plan.yaml", "summary.json", "events.jsonl"} {
		data, err := fs.ReadFile(example, name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "summary.json" {
			data = change(data)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := verifyLoad(dir, &out); (err != nil) != (want != "") || !strings.Contains(out.String(), want) {
		t.Errorf("%q: %v\n%s", name, err, &out)
	}
}
