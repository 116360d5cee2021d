package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
)

const placePlan = `
name: place
steps:
  - off: [kube-node3]
  - wait: {for: evicted, within: 2m}
  - pause: 3s
  - on: [kube-node3]
  - wait: {for: restored, within: 3m}
expect:
  - pending: predicted
  - pending: {max: 0}
`

// TestATrialJudgesWhereItsPodsFindAPlace switches off a node whose 4 pods fit nowhere
// else: the forecast of 4 Pending pods is met, the plan's bound of none is not, and the report
// has the forecast and what was observed.
func TestATrialJudgesWhereItsPodsFindAPlace(t *testing.T) {
	testenv.Long(t, 50)
	t.Parallel()
	l := labtest.Lease(t, "mdx")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	dir := filepath.Join(t.TempDir(), "trial")
	out, errs, code := run(t, nil, args(l, config, "trial", "run", write(t, "place.yaml", placePlan), "--yes", "--record", dir)...)
	s := readSummary(t, dir)
	if code != exitFailed || s.Verdict != view.Fail {
		t.Fatalf("exit %d, %s\n%s%s", code, s.Verdict, out, errs)
	}
	predicted := slices.IndexFunc(s.Expectations, func(x view.Expectation) bool { return x.OK && x.Got == "4 (forecast 4)" })
	if predicted < 0 || s.Pending == nil || *s.Pending != 4 {
		t.Errorf("%v pending, expectations %+v", s.Pending, s.Expectations)
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !strings.Contains(string(report), "4 (forecast 4)") || !strings.Contains(string(report), "Insufficient") {
		t.Errorf("the report lacks the place of the pods: %v\n%s", err, report)
	}
}

// TestTheMixedLabDoesWhatTheQuestionForecasts shuts down a node whose GPUs no other one has
// free: the question names the pod that finds no node, in the words that the scheduler
// uses afterwards, and no other pod stays without one.
func TestTheMixedLabDoesWhatTheQuestionForecasts(t *testing.T) {
	testenv.Long(t, 60)
	t.Parallel()
	l := labtest.Lease(t, "mixed")
	config := l.ConfigWith(func(c map[string]any) { c["state"] = t.TempDir() })
	const headline = "Can spare, one at a time: node-c1; node-a2, node-b2 and node-c2 only if default/database may wait\nCan't spare: node-a1 and node-b1; zones a, b and c\n"
	if out, errs, code := run(t, nil, args(l, config, "survey")...); code != 0 || !strings.HasPrefix(strings.ReplaceAll(out, " (pods of default/batch may end)", ""), headline) { // where the scheduler put them decides
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code := run(t, nil, args(l, config, "power", "shutdown", "node-a1", "--yes")...)
	_, forecast, found := strings.Cut(out, "default/model: 1 pod Pending: ")
	forecast, _, _ = strings.Cut(forecast, "\n")
	why := []string{"0/7 nodes are available", "2 node(s) had untolerated taint(s)", "5 Insufficient nvidia.com/gpu"}
	has := func(text string) bool {
		return !slices.ContainsFunc(why, func(s string) bool { return !strings.Contains(text, s) })
	}
	if code != 0 || !found || !has(forecast) || strings.Count(out, " Pending: ") != 1 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	var observed []string
	until(t, "the scheduler refuses the pods that the question names", func() bool {
		var pods struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct{ NodeName string }
				Status   struct {
					Conditions []struct{ Type, Status, Message string }
				}
			}
		}
		l.API().Do("GET", "/api/v1/namespaces/default/pods", nil, &pods)
		observed = nil
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if p.Spec.NodeName == "" && c.Type == "PodScheduled" && c.Status == "False" {
					observed = append(observed, p.Metadata.Name+": "+c.Message)
				}
			}
		}
		return len(observed) == 1 && strings.HasPrefix(observed[0], "model-") && has(observed[0])
	})
	t.Logf("forecast: %s; observed: %s", forecast, observed)
}
