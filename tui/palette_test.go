package tui

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// typeWord types a command into the palette.
func typeWord(m *Model, word string) {
	typeKeys(m, ": "+strings.ReplaceAll(strings.Join(strings.Split(word, ""), " "), "   ", " space ")+" enter")
}

func TestNodesAreCordonedByTheirWords(t *testing.T) {
	for _, act := range []view.NodeAct{view.ActCordon, view.ActUncordon, view.ActDrain} {
		m, sent, _ := testModel(calm(), 120, 36, Options{})
		typeKeys(m, "1")
		typeWord(m, string(act))
		wantIntent(t, sent, view.AskNodes{Act: act, Nodes: []string{"kube-node1"}})
		typeWord(m, string(act)+" kube-node3 kube-node4") // as in kubectl
		wantIntent(t, sent, view.AskNodes{Act: act, Nodes: []string{"kube-node3", "kube-node4"}})
		if typeWord(m, string(act)+" kube-node7"); len(*sent) > 2 || !strings.Contains(plainView(m), "there is no node kube-node7") {
			t.Errorf(":%s of an unknown node sends %v:\n%s", act, *sent, plainView(m))
		}
		f := calm()
		f.ReadOnly = true
		m, sent, _ = testModel(f, 120, 36, Options{})
		typeKeys(m, "1")
		if typeWord(m, string(act)); len(*sent) > 0 || !strings.Contains(plainView(m), "read-only: nothing in the cluster") {
			t.Errorf("read-only, :%s sends %v:\n%s", act, *sent, plainView(m))
		}
	}
}

// A node that fails while a command is typed does not take the cursor from the one that the command is for.
func TestACommandIsForTheNodeOfItsFirstKey(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "1 :")
	m.Update(FrameMsg{mdxOutage()})
	typeKeys(m, "c o r d o n enter")
	wantIntent(t, sent, view.AskNodes{Act: view.ActCordon, Nodes: []string{"kube-node1"}})
}

// The name of an object leads to it, and an unknown word is answered.
func TestNamesLeadToObjects(t *testing.T) {
	m, _, _ := testModel(mdxOutage(), 120, 36, Options{})
	typeWord(m, "kube-node4")
	if n := nodeUnderCursor(m); n == nil || n.Name != "kube-node4" {
		t.Errorf("the cursor is on %v", n)
	}
	typeWord(m, lostPod.Name)
	if o, _ := m.active.row(&m.s); o.ref != lostPod {
		t.Errorf("the cursor is on %v", o.ref)
	}
	typeKeys(m, "s")
	if v := plainView(m); !strings.Contains(v, "the pod is on kube-node3") {
		t.Errorf("a pod is not a node:\n%s", v)
	}
}

// The command lines for an object can be pasted into a shell, whatever the names are.
func TestCommandLinesAreSafe(t *testing.T) {
	for word, want := range map[string]string{
		"shell":  `kubectl --context 'it'\''s; rm' -n default exec -it pod/` + lostPod.Name + ` -- sh`,
		"delete": "-n default delete pod/" + lostPod.Name + " --wait=false",
		"pf":     "port-forward pod/" + lostPod.Name + " 8080:8080",
		"scale":  "scale deployment/" + llm.Name + " --replicas=16",
	} {
		f := mdxOutage()
		f.Kubectl = []string{"kubectl", "--context", "it's; rm"}
		m, _, _ := testModel(f, 160, 36, Options{})
		typeKeys(m, "3")
		typeWord(m, word)
		if d, ok := m.dialogs.top().(*handDialog); !ok || !strings.Contains(d.toCopy(), want) {
			t.Errorf(":%s shows\n%s", word, plainView(m))
		}
		v := plainView(m)
		if force := strings.Index(v, "--grace-period=0 --force"); word == "delete" && (force < strings.Index(v, "out-of-service=nodeshutdown:NoExecute") || !strings.Contains(v[force:], "is proven")) {
			t.Errorf("a pod that hangs:\n%s", v)
		}
		if slices.Contains([]string{"shell", "pf"}, word) && !strings.Contains(v, "kube-node3 is NotReady (silent 1m21s), machine off: its kubelet can't answer") {
			t.Errorf(":%s in vain:\n%s", word, v)
		}
	}
	h := handFor(&scene{f: &view.Frame{}, snap: emptySnapshot}, cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: "$(reboot)", Name: "-x`y`"}})
	if got := h.shell()[0].command; got != "kubectl -n '$(reboot)' exec -it 'pod/-x`y`' -- sh" {
		t.Errorf("of a hostile name: %s", got)
	}
	f := mdxOutage()
	if got := handFor(&scene{f: f, snap: f.Snapshot}, cluster.Ref{Kind: cluster.KindService, Key: llm}).forward()[0].command; !strings.HasSuffix(got, " 8080:80") {
		t.Errorf("of a service: %s", got)
	}
	c := f.Snapshot.Contents()
	c.Objects = append(slices.Clone(c.Objects),
		&cluster.Object{Kind: cluster.KindClaim, Key: cluster.Key{Namespace: lostPod.Namespace, Name: "data"}, Value: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}},
		&cluster.Object{Kind: cluster.KindVolume, Key: cluster.Key{Name: "pv"}, Value: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"kube-node3"}}}}}}}}}})
	h = handFor(&scene{f: f, snap: cluster.NewSnapshot(c), now: f.Now}, lostPod)
	pod := *h.pod
	pod.Spec = cluster.NewSpec(&corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}}, "StatefulSet")
	h.pod = &pod
	if got := h.remove()[0].note; got != "the pod ends once kube-node3 is back; its volume data is there: no new pod starts before" {
		t.Errorf("of a pod on a local volume: %s", got)
	}
}

// A pod that a finalizer holds names it, and ends only without it: a deletion waits.
func TestAPodThatAFinalizerHoldsSaysSo(t *testing.T) {
	f := sameNames()
	key := cluster.Key{Namespace: "shop", Name: "stuck"}
	c := cluster.Contents{At: t0, Access: synced, Link: cluster.Link{State: cluster.LinkLive, LastContact: t0}}
	c.Pods = []*cluster.Pod{{Key: key, Phase: "Running", Status: "Terminating", Deleting: t0, Finalizers: "example.com/hold"}}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 160, 36, Options{})
	typeKeys(m, "3 d")
	if v := plainView(m); !strings.Contains(v, "finalizer example.com/hold") {
		t.Errorf("the details:\n%s", v)
	}
	lines := handFor(&scene{f: f, snap: f.Snapshot, now: t0}, cluster.Ref{Kind: cluster.KindPod, Key: key}).remove()
	if len(lines) != 1 || lines[0].command != `kubectl -n shop patch pod/stuck --type=merge -p '{"metadata":{"finalizers":null}}'` ||
		!strings.HasPrefix(lines[0].note, "finalizer example.com/hold holds it") || !strings.Contains(lines[0].note, "risk: ") {
		t.Errorf("%q", lines)
	}
}

// The survey of the cluster comes from the session, in any pane, and has a command to copy; with names or marks that of
// these nodes.
func TestTheSurveyIsOnTheScreen(t *testing.T) {
	for _, x := range []struct {
		keys, typed, more string
		want              view.Inspect
	}{
		{"1", "survey", " --pairs", view.Inspect{Survey: 154, Pairs: true}},
		{"4", "spare", " --pairs", view.Inspect{Survey: 154, Pairs: true}},
		{"1", "survey kube-node1 kube-node2", " kube-node1 kube-node2", view.Inspect{Survey: 154, Together: "kube-node1 kube-node2"}},
		{"1 g space", "survey", " kube-node3", view.Inspect{Survey: 154, Together: "kube-node3"}},
	} {
		f := mdxOutage()
		f.Program = "lightsout --context lab"
		m, sent, _ := testModel(f, 160, 36, Options{})
		typeKeys(m, x.keys)
		typeWord(m, x.typed)
		if wantIntent(t, sent, x.want); !strings.Contains(plainView(m), "computing") {
			t.Errorf("before the survey:\n%s", plainView(m))
		}
		if typeKeys(m, "Y"); !strings.Contains(plainView(m), "clipboard: "+f.Program+" survey"+x.more) {
			t.Errorf("Y copies nothing:\n%s", plainView(m))
		}
		next := *f
		for _, next.Inspection = range []*view.Inspection{{Inspect: x.want, Err: "no pods"}, {Inspect: x.want, Lines: []string{"Can spare node-x", "no pods"}}} {
			if m.Update(FrameMsg{&next}); strings.Contains(plainView(m), "Can spare node-x") != (next.Inspection.Err == "") || !strings.Contains(plainView(m), "no pods") {
				t.Errorf("the answer %+v:\n%s", next.Inspection, plainView(m))
			}
		}
		typeKeys(m, "esc")
		wantIntent(t, sent, view.Inspect{})
	}
	f := mdxOutage()
	f.Program = "lightsout --context lab"
	m, _, _ := testModel(f, 160, 36, Options{})
	typeWord(m, "join")
	if typeKeys(m, "Y"); !strings.Contains(plainView(m), "clipboard: "+f.Program) {
		t.Errorf("Y does not copy how another terminal joins:\n%s", plainView(m))
	}
	if typeKeys(m, "esc ?"); !strings.Contains(plainView(m), f.Program) {
		t.Errorf("the help does not begin with another terminal:\n%s", plainView(m))
	}
	m, sent, _ := testModel(mdxOutage(), 160, 36, Options{})
	for word, want := range map[string]string{"survey kube-node9": "there is no node kube-node9", "survey --pairs": "--pairs is an option of the command line"} {
		if typeWord(m, word); len(*sent) > 0 || !strings.Contains(plainView(m), want) {
			t.Errorf("%s: sent %v\n%s", word, *sent, plainView(m))
		}
		typeKeys(m, "esc")
	}
}

// The command that restores later can be copied; a lab has none.
func TestTheCommandThatRestoresCanBeCopied(t *testing.T) {
	f := mdxOutage()
	for _, f.Restore = range []string{"lightsout restore --context mdx", ""} {
		m, _, _ := testModel(f, 160, 36, Options{})
		typeWord(m, "restore")
		if f.Restore != "" {
			typeKeys(m, "Y")
		}
		if v, want := plainView(m), "clipboard: "+f.Restore; f.Restore != "" && !strings.Contains(v, want) || f.Restore == "" && !strings.Contains(v, "end with the screen") {
			t.Errorf("%q:\n%s", f.Restore, v)
		}
	}
}

// A shell on a node warns of the kubelet only where that is silent.
func TestAShellOnANodeWarnsOfASilentKubelet(t *testing.T) {
	f := mdxOutage()
	off := f.Power["kube-node3"]
	off.SSH = "ssh -J mdxuser@bastion mdxuser@10.0.0.13"
	f.Power["kube-node3"] = off
	m, _, _ := testModel(f, 160, 36, Options{})
	for node, silent := range map[string]bool{"kube-node1": false, "kube-node3": true} {
		typeWord(m, node)
		typeWord(m, "shell")
		if v := plainView(m); strings.Contains(v, "its kubelet can't answer") != silent || !strings.Contains(v, "debug node/"+node) {
			t.Errorf("on %s:\n%s", node, v)
		} else if way := f.Power[node].SSH; !strings.Contains(v, cmp.Or(after("1  ", way, ""), "knows no way to the machine by ssh")) {
			t.Errorf("the way to %s:\n%s", node, v)
		}
		typeKeys(m, "esc")
	}
}

// A command by hand takes the words that it can use, refuses others, and leaves the pane as it was.
func TestACommandByHandRefusesWordsThatItCannotUse(t *testing.T) {
	for typed, want := range map[string]string{
		"scale 8": "--replicas=8", "scale web": "the number of replicas, not web", "scale 1 2": "not 1 2",
		"delete pod": "cannot use pod", "pf 80": "cannot use 80", "restore x": "cannot use x",
	} {
		f := mdxOutage()
		f.Restore = "lightsout restore"
		m, _, _ := testModel(f, 160, 36, Options{})
		typeKeys(m, "2")
		typeWord(m, typed)
		if v := plainView(m); !strings.Contains(v, want) || m.active.filter().text != "" {
			t.Errorf(":%s\n%s", typed, v)
		}
	}
}

// A digit copies one of several commands.
func TestADigitCopiesACommand(t *testing.T) {
	m, _, _ := testModel(mdxOutage(), 160, 36, Options{})
	typeKeys(m, "3")
	typeWord(m, "delete")
	if typeKeys(m, "2"); !strings.Contains(plainView(m), "clipboard: kubectl taint nodes kube-node3") {
		t.Errorf("2 copies nothing:\n%s", plainView(m))
	}
}

// Y copies the command of a message, without the sentence before it.
func TestTheCommandOfAMessageIsCopied(t *testing.T) {
	f := calm()
	f.Kubectl = []string{"kubectl", "--context", "it's"}
	command := `kubectl --context 'it'\''s' uncordon kube-node1`
	f.Notice = view.Notice{At: f.Now, Text: "lightsout did not cordon kube-node1, so it does not uncordon it; by hand: " + command, Level: view.Warning}
	m, _, _ := testModel(f, 160, 36, Options{})
	typeKeys(m, "M Y")
	if v := plainView(m); !strings.Contains(v, "clipboard: "+command) {
		t.Errorf("Y does not copy the command alone:\n%s", v)
	}
}
