package report

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/record/examples"
	"lightsout/internal/view"
	"lightsout/power"
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

func TestMomentsShowTheOutageAndTheReturn(t *testing.T) {
	s := momentsSection(example(t, "mdx"))
	var rows []string
	for _, row := range s.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	want := []string{
		"at zero|T+00:00.0|5/5|0|17/17|16/16|0|0",
		"detected|T+00:04.6|3/5|2|9/17|8/16|0|0",
		"evicted|T+00:25.3|3/5|2|9/23|8/16|4|0",
		"nodes Ready again|T+00:38.4|5/5|0|9/17|8/16|0|0",
		"restored|T+00:39.8|5/5|0|17/17|16/16|0|0",
		"at the end|T+00:59.8|5/5|0|17/17|16/16|0|0",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the moments are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if svg := string(s.Pictures[1].SVG); !strings.Contains(svg, "kube-node3 (NotReady (silent 6s), machine off): 4 lost") && !strings.Contains(svg, "machine off): 4 lost") {
		t.Errorf("nothing of lost pods in\n%s", svg)
	}
	if svg := string(s.Pictures[2].SVG); !strings.Contains(svg, "no node (of no node): ") {
		t.Errorf("nothing of pods without a node in\n%s", svg)
	}
}

// The samples do not show the cluster at a time that a source dates into a blind span.
func TestNoMomentShowsWhatNobodySaw(t *testing.T) {
	r := example(t, "mdx")
	r.Summary.Blind = []record.Blind{{From: 2, To: 30, Why: "timeout"}}
	var names []string
	for _, row := range momentsSection(r).Rows {
		names = append(names, row[0].Text)
	}
	if got := strings.Join(names, ", "); got != "at zero, nodes Ready again, restored, at the end" {
		t.Error(got)
	}
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

// That no pod was left to evict does not mean that none was evicted.
func TestPodsThatWereBeingDeletedAreNotUnevicted(t *testing.T) {
	for before, want := range map[bool]string{
		false: "No pod of kube-node4 was evicted: no pod on kube-node4 is subject to eviction.",
		true:  "Pods of kube-node4 were being deleted before lightsout noticed that it was down.",
	} {
		p := view.Phase{Name: view.PhaseEvicted, Subject: "kube-node4", Note: "no pod on kube-node4 is subject to eviction", Before: before}
		if got := notDone(p); got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestManyNodesAreTilesAndHostileNamesStayText(t *testing.T) {
	c := &record.Cluster{}
	x := record.Sample{At: at(-1), Key: true, Cluster: c, Machines: map[string]*view.MachineView{}}
	for i := range 40 {
		n := &cluster.Node{Name: strings.Repeat("n", i+1), Ready: cluster.TriTrue}
		if i < 3 {
			n.Name += "</title><script>"
			x.Machines[n.Name] = &view.MachineView{Reading: power.Reading{State: power.Off, RequestedAt: at(-1), Arrived: at(-1)}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	r := &record.Record{Samples: []record.Sample{x}, Start: at(-1), Zero: at(0), End: at(0).Add(time.Minute)}
	s := momentsSection(r)
	if len(s.Rows) != 2 || s.Rows[0][2].Text != "37/40" || s.Rows[0][3].Text != "3" {
		t.Fatalf("the moments are %+v", s.Rows)
	}
	svg := string(s.Pictures[0].SVG)
	if n := strings.Count(svg, `class="off"`); n != 3 || !strings.Contains(svg, "40 nodes, a tile each") || strings.Contains(svg, "<script") {
		t.Errorf("%d nodes are off in\n%s", n, svg)
	}
	c.Nodes = c.Nodes[:6]
	if svg := string(momentsSection(r).Pictures[0].SVG); strings.Contains(svg, "<script") || strings.Count(svg, "rack-off") != 3 {
		t.Errorf("racks of hostile names:\n%s", svg)
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
