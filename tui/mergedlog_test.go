package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// mergedLogs is outage with the logs of the deployment's pods.
func mergedLogs() *view.Frame {
	look := view.Inspect{Of: deploymentObject(llm).ref, Log: true}
	f := looked(look)()
	f.Inspection.Lines = nil
	pod := func(end string) string { return llm.Name + "-7c9b7f6c9-" + end }
	for i := range 30 {
		at := t0.Add(time.Duration(i)*time.Second - 5*time.Second)
		f.Inspection.Merged = append(f.Inspection.Merged, view.LogLine{At: at, Pod: pod([]string{"2xk4q", "5wd9c"}[i%2]), Text: fmt.Sprintf("request %d done", i)})
	}
	f.Inspection.Merged = append(f.Inspection.Merged,
		view.LogLine{At: t0.Add(26 * time.Second), Pod: pod("5wd9c"), Text: "kube-node3 is silent: nothing more until it is back", Note: true},
		view.LogLine{At: t0.Add(82 * time.Second), Pod: pod("2xk4q"), Text: "request 30 done"})
	return f
}

func TestTheLogsOfAWorkloadHaveTimesAndPods(t *testing.T) {
	m, _, _ := testModel(mergedLogs(), 120, 36, Options{})
	typeKeys(m, "2 l")
	v := plainView(m)
	for _, want := range []string{"Logs of 16 pods, llama, deployment default/llm-jp-31-13b", "T+00:24.0 5wd9c request 29 done",
		"T+00:26.0 5wd9c (kube-node3 is silent: nothing more until it is back)", "T+01:22.0 2xk4q request 30 done"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is not on the screen:\n%s", want, v)
		}
	}
	if got := shortPod(cluster.Ref{Kind: cluster.KindStatefulSet}, "db-0"); got != "db-0" {
		t.Errorf("the pod of a stateful set is called %q", got)
	}
}
