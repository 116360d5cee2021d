package tui

import (
	"regexp"
	"strings"
	"testing"

	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// In a list, a key of k9s or kubectl sends nothing without a question, and switches
// nothing.
func TestNoKeyOfAListActsWithoutAQuestion(t *testing.T) {
	keys := "space * u a A b B c C d D e f F g G h H i I j J k K l L m esc M esc n esc N o O p p P r R s S t T T u U v V w W x X y esc Y z z Z + - = 0 9 enter esc ctrl+d ctrl+k ctrl+e"
	for _, pane := range []string{"1", "2", "3"} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, pane)
		for _, key := range strings.Fields(keys) {
			typeKeys(m, key)
			if key != "esc" {
				typeKeys(m, "esc esc esc "+pane) // close the dialogs that it opened
			}
		}
		for _, i := range *sent {
			switch i := i.(type) {
			case view.StartLoad:
				if !i.Ask {
					t.Errorf("pane %s sends %+v without a question", pane, i.Spec)
				}
			case view.Answer, view.NextStep:
				t.Errorf("pane %s: %#v", pane, i)
			}
		}
	}
}

// As in k9s, space marks the row and stays on it: the next key down goes to the next row.
func TestSpaceMarksAndStays(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "g down space down space s")
	wantIntent(t, sent, view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node1", "kube-node2"}})
}

func TestLoadKeysAskOutsideTheirPane(t *testing.T) {
	spec := loadgen.Spec{Shape: loadgen.Hold, N: 16}
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "3 h")
	wantIntent(t, sent, view.StartLoad{Spec: spec, Ask: true})
	typeKeys(m, "4 h")
	wantIntent(t, sent, view.StartLoad{Spec: spec})
}

func TestSendingNothingKeepsTheLoadChosenBefore(t *testing.T) {
	m, sent, now := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "3 R")
	f := calm()
	f.Question = &view.Question{ID: "load-1", Kind: view.QuestionLoad, Title: "Send requests?",
		Choices: []view.Choice{{ID: view.ChoiceNo, Label: "Send nothing"}, {ID: view.ChoiceYes, Label: "Send"}}}
	m.Update(FrameMsg{f})
	settleKeys(m, now)
	typeKeys(m, "esc")
	wantIntent(t, sent, view.Answer{Question: "load-1", Choice: view.ChoiceNo})
	m.Update(FrameMsg{calm()})
	typeKeys(m, "4 +")
	if v := plainView(m); !strings.Contains(v, "burst of 16") || strings.Contains(v, "a second →") {
		t.Errorf("+ changes another load than the one chosen before:\n%s", v)
	}
}

func TestTheKeyLShowsALog(t *testing.T) {
	m, sent, _ := testModel(outage(), 120, 36, Options{})
	typeKeys(m, "3 l")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true})
	typeKeys(m, "esc d l")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true})
	for _, keys := range []string{"2 l", "2 d l"} {
		m, sent, _ := testModel(outage(), 120, 36, Options{})
		typeKeys(m, keys)
		wantIntent(t, sent, view.Inspect{Of: deploymentObject(llm).ref, Log: true})
	}
	m, sent, _ = testModel(calm(), 120, 36, Options{})
	typeKeys(m, "1 l")
	if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "pods and workloads have logs") {
		t.Errorf("the key sends %v, and the screen does not name the panes with logs:\n%s", *sent, v)
	}
}

// As in k9s, :po shows all pods, whatever node is marked or selected.
func TestTheAliasOfPodsShowsAllPods(t *testing.T) {
	m, _, _ := testModel(outage(), 120, 36, Options{})
	typeKeys(m, "1 space")
	if v := plainView(m); !strings.Contains(v, "Pods of ") {
		t.Fatalf("the pods of the marked node are not shown:\n%s", v)
	}
	typeKeys(m, ": p o enter")
	if v := plainView(m); strings.Contains(v, "Pods of ") || m.active.name != "Pods" {
		t.Errorf(":po shows:\n%s", v)
	}
}

func TestAliasesLeadToPanes(t *testing.T) {
	for typed, want := range map[string]string{
		"po": "Pods", "pod": "Pods", "pods": "Pods", "no": "Nodes", "nodes": "Nodes", "nod": "Nodes", "deploy": "Deployments", "dp": "Deployments",
		"svc": "Workloads", "events": "Timeline", "ev": "Timeline", "requests": "Requests",
	} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, "4 : "+strings.Join(strings.Split(typed, ""), " ")+" enter")
		if m.active.name != want || m.dialogs.top() != nil || len(*sent) > 0 || len(m.s.marks) > 0 {
			t.Errorf(":%s leads to %s, with %v sent, %v marked", typed, m.active.name, *sent, m.s.marks)
		}
	}
	for typed, want := range map[string]view.Intent{"q": view.AskQuit{}, "quit": view.AskQuit{}, "screenshot": view.SaveScreen{}, "gif": view.RecordScreen{}} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, ": "+strings.Join(strings.Split(typed, ""), " ")+" enter")
		wantIntent(t, sent, want)
	}
	m, _, _ := testModel(calm(), 120, 36, Options{})
	if typeKeys(m, ": n s enter"); !strings.Contains(plainView(m), "ns all") {
		t.Errorf(":ns does not list the namespaces:\n%s", plainView(m))
	}
}

// A kind with a text after it filters its pane, or shows a namespace, as in k9s.
func TestAKindWithATextIsNarrowed(t *testing.T) {
	for typed, want := range map[string][2]string{"pod llm": {"llm", ""}, "po knative-serving": {"", "knative-serving"}, "no node3": {"node3", ""}} {
		m, sent, _ := testModel(places(calm()), 160, 40, Options{})
		typeKeys(m, "4 : "+strings.ReplaceAll(strings.Join(strings.Split(typed, ""), " "), "   ", " space ")+" enter")
		if f := m.active.filter(); f == nil || f.text != want[0] || m.s.only.text != want[1] || len(*sent) > 0 {
			t.Errorf(":%s filters %s by %+v and shows the namespace %q", typed, m.active.name, f, m.s.only.text)
		}
	}
	m, _, _ := testModel(places(calm()), 120, 36, Options{})
	typeKeys(m, ": n s")
	if v := plainView(m); strings.Contains(v, "suspend") || strings.Contains(v, "columns") || !strings.Contains(v, "ns NAME") {
		t.Errorf(":ns also finds the middle of words:\n%s", v)
	}
	typeKeys(m, "space d e f u l t enter")
	if v := plainView(m); !strings.Contains(v, "there was no namespace defult") {
		t.Errorf("an unknown namespace:\n%s", v)
	}
}

// Keys that edit or delete in k9s say that lightsout does neither.
func TestKeysOfK9sThatEditSaySo(t *testing.T) {
	for _, key := range []string{"e", "ctrl+d", "ctrl+k"} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, "3 "+key)
		if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "lightsout edits and deletes nothing") {
			t.Errorf("%s sends %v:\n%s", key, *sent, v)
		}
	}
}

// esc clears what the active pane has.
func TestTheTimelineDoesNotClearMarks(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	if typeKeys(m, "1 space 5 esc"); len(m.s.marks) != 1 {
		t.Errorf("marks %v", m.s.marks)
	}
	if typeKeys(m, "1 esc"); len(m.s.marks) != 0 {
		t.Errorf("marks %v", m.s.marks)
	}
	typeKeys(m, "/ x x x enter s")
	if v := plainView(m); !strings.Contains(v, "no node matches the filter") {
		t.Errorf("s without a node:\n%s", v)
	}
}

// Kinds without a pane lead to where they can be seen, and the screen says so.
func TestKindsWithoutAPaneSayWhereTheyAre(t *testing.T) {
	for typed, want := range map[string][2]string{
		"svc": {"Workloads", "Services"}, "endpoints": {"Workloads", "Services"}, "wl": {"Workloads", "Workloads"}, "workloads": {"Workloads", "Workloads"},
		"sts": {"Workloads", "StatefulSets"}, "statefulsets": {"Workloads", "StatefulSets"},
		"ds": {"Workloads", "DaemonSets"}, "jobs": {"Workloads", "Jobs"}, "cj": {"Workloads", "Jobs"},
		"rs": {"Pods", "ReplicaSets have no pane of their own"},
	} {
		m, sent, _ := testModel(calm(), 160, 40, Options{})
		typeKeys(m, "4 : "+strings.Join(strings.Split(typed, ""), " ")+" enter")
		if v := plainView(m); m.active.name != want[0] || m.dialogs.top() != nil || len(*sent) > 0 || !strings.Contains(v, want[1]) {
			t.Errorf(":%s leads to %s without %q, with %v sent:\n%s", typed, m.active.name, want[1], *sent, v)
		}
		if want[0] == "Pods" && m.s.scope != scopeAll {
			t.Errorf(":%s shows the pods of %v", typed, m.s.scope)
		}
	}
	m, _, _ := testModel(calm(), 120, 36, Options{LoadOnly: true})
	if typeKeys(m, ": s t s"); strings.Contains(plainView(m), "StatefulSets") {
		t.Error("a load without a cluster has StatefulSets")
	}
}

// The last line lists the keys of the active pane.
func TestTheKeyBarListsTheKeysOfThePane(t *testing.T) {
	for keys, want := range map[string]string{
		"1": " space mark · s shut down · o power on · enter details · / filter · S pull the plug",
		"2": " enter details · l log · y YAML · / filter · r restart",
		"3": " enter details · l log · y YAML · / filter · a all pods",
		"4": " b burst · h hold · R rate · c stop sending · n how many",
		"5": " enter details · / filter · y YAML",
	} {
		m, _, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, keys)
		lines := strings.Split(plainView(m), "\n")
		bar := lines[len(lines)-1]
		if !strings.HasPrefix(bar, want) || !strings.HasSuffix(strings.TrimSpace(bar), "? help · q quit") {
			t.Errorf("pane %s: the key bar is\n%s", keys, bar)
		}
	}
}

// In a zoomed timeline what comes next takes no third of the width for two lines.
func TestAZoomedTimelineHasTheWholeWidth(t *testing.T) {
	f := outage()
	f.Next = f.Next[:1]
	f.Events = append(f.Events, view.Event{Seq: 99, At: f.Now, Seen: f.Now, Lane: view.LaneLoad, Subject: "load", Text: "requests succeed again: 37 of 60 failed within 5.5 s"})
	m, _, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "5 z")
	if v := plainView(m); !strings.Contains(v, "next: ") || !strings.Contains(v, "37 of 60 failed within 5.5 s") {
		t.Errorf("the line of an event is cut:\n%s", v)
	}
}

// The account is that of the session: beside a burst it names itself as such.
func TestTheAccountOfSeveralBurstsIsInAll(t *testing.T) {
	f := outage()
	f.Load.Spec = loadgen.Spec{Shape: loadgen.Burst, N: 12}
	for scheduled, want := range map[int]string{12: " 12 scheduled = ", 28: " 28 scheduled in all = "} {
		f.Load.Totals = loadgen.Totals{Scheduled: scheduled, OK: scheduled}
		m, _, _ := testModel(f, 120, 36, Options{})
		if v := plainView(m); !strings.Contains(v, want) {
			t.Errorf("%d requests: no %q in\n%s", scheduled, want, v)
		}
	}
}

// The subject of an event that is its lane's is not repeated.
func TestATimelineNamesTheLoadOnce(t *testing.T) {
	f := outage()
	f.Events = []view.Event{{Seq: 1, At: f.Now, Seen: f.Now, Lane: view.LaneLoad, Subject: "load", Text: "burst of 12 started"}}
	m, _, _ := testModel(f, 120, 36, Options{})
	if v := plainView(m); !regexp.MustCompile(` load +burst of 12 started`).MatchString(v) || regexp.MustCompile(`load +load`).MatchString(v) {
		t.Errorf("the load is named twice:\n%s", v)
	}
}
