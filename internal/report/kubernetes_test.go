package report

import (
	"strings"
	"testing"

	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/view"
)

func example(t *testing.T, name string) *record.Record {
	t.Helper()
	files, _ := examples.Open(name)
	r, err := record.OpenFS(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of a phase that a blind span hid, nobody knows how long Kubernetes waited.
func TestAHiddenPhaseHasNoWait(t *testing.T) {
	for _, hidden := range []string{view.PhaseReady, view.PhaseRestored} {
		r := example(t, "mdx")
		found := false
		for i := range r.Summary.Phases {
			if x := &r.Summary.Phases[i]; x.Name == hidden {
				x.HiddenFrom = x.Observed
			}
		}
		for _, row := range kube(r).Rows {
			if strings.HasPrefix(row[1].Text, "has all pods of") {
				found = true
				if before := strings.HasSuffix(row[0].Text, " or before"); row[2].Text != "unknown" || before != (hidden == view.PhaseRestored) {
					t.Errorf("%s is hidden: %+v", hidden, row)
				}
			}
		}
		if !found {
			t.Error("the pods did not return")
		}
	}
}

func TestAnswersHaveTheirPercentiles(t *testing.T) {
	s := answersOf(example(t, "mdx"))
	if len(s.Rows) != 3 || s.Rows[1][0].Text != "two nodes off" || s.Rows[1][1].Text != "12" || len(s.Head) != 11 {
		t.Fatalf("%+v %+v", s.Head, s.Rows)
	}
	for _, row := range s.Rows {
		for _, c := range row {
			if c.Text == none {
				t.Errorf("something is missing in %+v", row)
			}
		}
	}
}
