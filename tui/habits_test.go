package tui

import (
	"strings"
	"testing"

	"lightsout/cluster"
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

// A key by which k9s does what has only a word here leads to the word.
func TestKeysOfK9sLeadToWords(t *testing.T) {
	for key, word := range map[string]string{"c": ":cordon", "u": ":uncordon", "e": ":delete", "ctrl+d": ":delete"} {
		m, _, _ := testModel(calm(), 80, 24, Options{})
		if typeKeys(m, "1 "+key); !strings.Contains(plainView(m), word) {
			t.Errorf("%s does not lead to %s:\n%s", key, word, plainView(m))
		}
	}
	m, _, _ := testModel(mdxOutage(), 80, 24, Options{})
	if typeKeys(m, "3 u"); !strings.Contains(plainView(m), "Deployment default/"+llm.Name) {
		t.Errorf("u does not lead from a pod to its deployment:\n%s", plainView(m))
	}
}

func TestLoadKeysAskOutsideTheirPane(t *testing.T) {
	spec := loadgen.Spec{Shape: loadgen.Hold, N: 16}
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "3 h")
	wantIntent(t, sent, view.StartLoad{Spec: spec, Ask: true})
	typeKeys(m, "4 h")
	wantIntent(t, sent, view.StartLoad{Spec: spec})
}

func TestTheKeyLShowsALog(t *testing.T) {
	m, sent, _ := testModel(mdxOutage(), 120, 36, Options{})
	typeKeys(m, "3 l")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true})
	typeKeys(m, "esc d l")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true})
	// Of a workload it is the log of a pod, first of one whose kubelet answers, and then of the next.
	m, sent, _ = testModel(withWorkloads(), 120, 36, Options{})
	for _, of := range []struct{ keys, pod string }{{": s t s enter / d b enter l", "db-0"}, {"]", "db-1"}, {"]", "db-0"}} {
		typeKeys(m, of.keys)
		wantIntent(t, sent, view.Inspect{Of: cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: "default", Name: of.pod}}, Log: true})
		f := withWorkloads()
		f.Inspection = &view.Inspection{Inspect: m.inspecting, Object: &cluster.Description{Owner: cluster.Ref{Kind: cluster.KindStatefulSet, Key: cluster.Key{Namespace: "default", Name: "db"}}}}
		m.Update(FrameMsg{f})
	}
	for _, keys := range []string{"1 l", "2 / n o s u c h enter l", "2 / n o s u c h enter : l o g s enter"} {
		m, sent, _ = testModel(calm(), 120, 36, Options{})
		typeKeys(m, keys)
		if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "pods have logs: 3 goes to the pods") {
			t.Errorf("%s sends %v, and the screen does not name the pane with logs:\n%s", keys, *sent, v)
		}
	}
}

// Before a kubelet has answered, nothing is said of what a container wrote, but why the answer may not come.
func TestAKubeletIsAskedUntilItAnswers(t *testing.T) {
	running := cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: llm.Namespace, Name: llm.Name + "-7c9b7f6c9-2xk4q"}}
	off := calm()
	node := off.Snapshot.Pod(running.Key).Node
	machine := off.Power[node]
	machine.Reading.State, machine.Reading.Proof = power.Off, power.Proven
	off.Power[node] = machine
	full := calm()
	some := full.Snapshot.Contents()
	some.Pods = []*cluster.Pod{{Key: running.Key, Phase: "Pending", Status: "Pending", Deployment: llm.Name, Unplaced: "3 Insufficient cpu"}}
	full.Snapshot = cluster.NewSnapshot(some)
	for want, c := range map[string]struct {
		f      *view.Frame
		of     cluster.Ref
		stream view.Stream
	}{
		"has not started: 3 Insufficient cpu":                           {full, running, view.StreamEnded},
		"kubelet …: kube-node3 is NotReady (silent 1m21s), machine off": {mdxOutage(), lostPod, view.StreamAsked},
		"kubelet …: " + node + " is Ready, machine off":                 {off, running, view.StreamAsked},
		"the container has written nothing yet":                         {calm(), running, view.StreamOpen},
	} {
		c.f.Inspection = &view.Inspection{Inspect: view.Inspect{Of: c.of, Log: true}, Object: &cluster.Description{}, Stream: c.stream}
		m, _, _ := testModel(c.f, 120, 36, Options{})
		typeKeys(m, "3 l")
		if v := plainView(m); strings.Contains(v, "nothing yet") != (c.stream == view.StreamOpen) || !strings.Contains(v, want) {
			t.Errorf("%q is missing in the log:\n%s", want, v)
		}
	}
}

// From what is read, : leads to the commands and leaves no dialog behind; in a text and in a question it does not.
func TestAColonLeavesADialog(t *testing.T) {
	for _, keys := range []string{"3 d", "3 d u", "3 y", "3 l", "?", "M"} {
		m, _, _ := testModel(mdxOutage(), 80, 24, Options{})
		typeKeys(m, keys+" : n o enter")
		if m.active.name != "Nodes" || m.dialogs.top() != nil {
			t.Errorf("%s and :no lead to %s:\n%s", keys, m.active.name, plainView(m))
		}
	}
	m, _, _ := testModel(mdxOutage(), 80, 24, Options{})
	typeKeys(m, "3 l / :")
	if _, is := m.dialogs.top().(*objectDialog); !is {
		t.Errorf("a colon is not searched:\n%s", plainView(m))
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

// A short name of a kind lists the kind, also where a command or an object begins so; only its
// whole name runs a command, or the choice of it.
func TestOnlyAWholeNameRunsACommand(t *testing.T) {
	for _, word := range []string{"sec", "ro", "sa", "rb", "np", "cm", "pvc", "leases", "Sa", "sen", "screensh"} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeWord(m, word)
		wantIntent(t, sent, view.Inspect{List: strings.ToLower(word)})
	}
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeWord(m, "(req") // can be no kind
	if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "↓ or tab takes a command") {
		t.Errorf("a part of a command's text sends %v:\n%s", *sent, v)
	}
	typeKeys(m, "esc : s h o t : down enter")
	wantIntent(t, sent, view.SaveScreen{})
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
	m.s.only = namespaces{}
	typeKeys(m, "esc : p o space l l m enter : p o enter")
	if f := m.active.filter(); f.text != "" {
		t.Errorf("a command still has the filter %q of the one before", f.text)
	}
	typeKeys(m, ": n s space d e f u l t enter")
	if v := plainView(m); !strings.Contains(v, "there was no namespace defult") {
		t.Errorf("an unknown namespace:\n%s", v)
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
