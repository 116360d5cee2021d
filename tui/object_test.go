package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// lostPod is the first pod in trouble of outage.
var lostPod = cluster.Ref{Kind: cluster.KindPod, Key: cluster.Key{Namespace: llm.Namespace, Name: llm.Name + "-7c9b7f6c9-5wd9c"}}

// looked is outage with what the API server tells of a pod and its log.
func looked(look view.Inspect) func() *view.Frame {
	return func() *view.Frame {
		f := mdxOutage()
		o := &cluster.Description{
			Conditions: []cluster.Condition{
				{Type: "PodScheduled", Status: "True", Since: t0.Add(-time.Hour)},
				{Type: "Ready", Status: "False", Reason: "NodeNotReady", Since: t0.Add(81 * time.Second)},
			},
			Containers: []cluster.Container{
				{Name: "llama", Image: "ghcr.io/ggml-org/llama.cpp:server", Ready: true, State: "running", Since: t0.Add(-time.Hour),
					Restarts: 1, Last: "OOMKilled (exit code 137) at 2026-03-04 08:00:00", Requests: "cpu 32, memory 60Gi", Limits: "memory 60Gi"},
				{Name: "queue-proxy", Image: "gcr.io/knative/queue:1", State: "waiting", Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container"},
			},
			Services: []cluster.Service{{Key: cluster.Key{Namespace: "default", Name: "llm-jp-31-13b-00001-private"}, Type: "ClusterIP", Ports: "http 80/TCP"}},
			Events:   []cluster.ObjectEvent{{At: t0.Add(82 * time.Second), Warning: true, Reason: "NodeNotReady", Message: "Node is not ready", Count: 2}},
			YAML:     strings.Split("apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    app: llm\nspec:\n  nodeName: kube-node3\n  containers:\n  - name: llama\n    args: "+strings.Repeat("--long-argument ", 30), "\n"),
		}
		f.Inspection = &view.Inspection{Inspect: look, Object: o}
		for i := 1; look.Log && i <= 60; i++ {
			f.Inspection.Stream, f.Inspection.Lines = view.StreamOpen, append(f.Inspection.Lines, fmt.Sprintf("srv  update_slots: request %d done, %d tokens", i, i*7))
		}
		return f
	}
}

func TestDetailsShowTheAPIServersAnswer(t *testing.T) {
	m, sent, _ := testModel(mdxOutage(), 120, 36, Options{})
	typeKeys(m, "3 d")
	wantIntent(t, sent, view.Inspect{Of: lostPod})
	if v := plainView(m); !strings.Contains(v, "asking the API server") {
		t.Errorf("it is not said that the server is being asked:\n%s", v)
	}
	m.Update(FrameMsg{looked(view.Inspect{Of: lostPod})()})
	for _, want := range []string{"NodeNotReady", "waiting: CrashLoopBackOff: back-off 40s", "OOMKilled (exit code 137)", "restarts 1", "requests cpu 32, memory 60Gi", "(2 times)", "ClusterIP · http 80/TCP"} {
		if v := plainView(m); !strings.Contains(v, want) {
			t.Errorf("%q is not said:\n%s", want, v)
		}
	}
	typeKeys(m, "y")
	if v := plainView(m); !strings.Contains(v, "YAML of pod") || !strings.Contains(v, "  nodeName: kube-node3") {
		t.Errorf("there is no YAML:\n%s", v)
	}
	typeKeys(m, "esc u")
	wantIntent(t, sent, view.Inspect{Of: deploymentObject(llm).ref})
	typeKeys(m, "esc esc")
	wantIntent(t, sent, view.Inspect{})
}

// The details of a node show no action under way on a machine that refused it.
func TestARefusedActionIsNotUnderWay(t *testing.T) {
	for stage, underWay := range map[power.Stage]bool{power.StageSending: true, power.StageFailed: false} {
		f := mdxOutage()
		v := f.Power["kube-node3"]
		v.Busy, v.Stage, v.Text = power.ActionShutdown, stage, "the power API refused"
		f.Power["kube-node3"] = v
		m, _, _ := testModel(f, 120, 36, Options{})
		typeKeys(m, "enter")
		if v := plainView(m); strings.Contains(v, "under way") != underWay || !strings.Contains(v, "the power API refused") {
			t.Errorf("%s:\n%s", stage, v)
		}
	}
}

// A deployment of Knative shows whether its service and its revision are Ready or why not,
// the traffic, and its bounds; in a replay as well.
func TestADeploymentShowsItsKnativeService(t *testing.T) {
	f := calm()
	c := mdxContents(f.Now)
	kn := c.Deployments[0].Knative
	kn.Traffic = []cluster.Split{{Revision: "llm-jp-31-13b-00001", Percent: 80}, {Revision: "llm-jp-31-13b-00002", Percent: 20}}
	kn.ServiceReady = cluster.Readiness{Ready: cluster.TriFalse, Reason: "RevisionFailed", Message: "no room", Since: f.Now.Add(-time.Minute)}
	c.Access = maps.Clone(c.Access)
	c.Access[cluster.KindRevision] = cluster.Access{Forbidden: true}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 120, 60, Options{})
	typeKeys(m, "2 d")
	lines := strings.Join(strings.Fields(plainView(m)), " ")
	for _, want := range []string{"service llm-jp-31-13b: not Ready for 1m00s: RevisionFailed: no room", "traffic 80% to llm-jp-31-13b-00001",
		"20% to llm-jp-31-13b-00002", "scale 16 to 16", "concurrency 1", "whether it is Ready is unknown: this account may not list"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing:\n%s", want, plainView(m))
		}
	}
}

func TestANodeShowsWhyItsPodsAreUnknown(t *testing.T) {
	f := calm()
	c := mdxContents(f.Now)
	c.Access = maps.Clone(c.Access)
	c.Access[cluster.KindPod] = cluster.Access{Forbidden: true}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 120, 60, Options{})
	typeKeys(m, "1 d G")
	if v := plainView(m); !strings.Contains(v, "forbidden: this account may not list pods") {
		t.Errorf("the reason is missing:\n%s", v)
	}
}

func TestALogIsFollowedAndItsContainerChosen(t *testing.T) {
	look := view.Inspect{Of: lostPod, Log: true}
	m, sent, _ := testModel(mdxOutage(), 80, 24, Options{})
	typeKeys(m, "3 l")
	wantIntent(t, sent, look)
	f := looked(look)()
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "Log of llama, pod") || !strings.Contains(v, "request 60 done") {
		t.Errorf("the newest line is not in sight:\n%s", v)
	}
	typeKeys(m, "g")
	f = looked(look)()
	f.Inspection.Lines = append(f.Inspection.Lines, "newer")
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "request 1 done") || strings.Contains(v, "newer") {
		t.Errorf("a new line moves what is being read:\n%s", v)
	}
	typeKeys(m, "G")
	if v := plainView(m); !strings.Contains(v, "newer") {
		t.Errorf("the end is not shown:\n%s", v)
	}
	typeKeys(m, "c")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true, Container: "queue-proxy"})
	typeKeys(m, "p")
	wantIntent(t, sent, view.Inspect{Of: lostPod, Log: true, Container: "queue-proxy", Previous: true})
	f = looked(m.inspecting)()
	f.Inspection.Lines, f.Inspection.Err = nil, "the log can't be read: forbidden; the user needs get on pods/log"
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "the user needs get on pods/log") {
		t.Errorf("the missing right is not named:\n%s", v)
	}
}

func TestDetailsAreSearched(t *testing.T) {
	m, _, _ := testModel(mdxOutage(), 80, 24, Options{})
	typeKeys(m, "3 l")
	m.Update(FrameMsg{looked(view.Inspect{Of: lostPod, Log: true})()})
	typeKeys(m, "g / r e q u e s t space 5 enter n n")
	v := plainView(m)
	if !strings.Contains(v, "request 51 done") || !strings.Contains(v, "/request 5: in 11 lines") {
		t.Errorf("what is looked for is not in sight:\n%s", v)
	}
	typeKeys(m, "/ n o n e enter")
	if v := plainView(m); !strings.Contains(v, "not found: none") {
		t.Errorf("it is not said that there is none:\n%s", v)
	}
	typeKeys(m, "esc")
	if m.dialogs.top() != nil {
		t.Error("esc does not close the log")
	}
}

// change is the event of a change of an object.
func change(kind cluster.Kind, namespace, name string) view.Event {
	return view.Transition(cluster.Transition{Subject: cluster.Ref{Kind: kind, Key: cluster.Key{Namespace: namespace, Name: name}},
		Change: cluster.ChangeStatus, From: "Running", To: "Terminating", SourceTime: t0, When: cluster.At(t0)})
}

// sameNames has objects of one name: in two namespaces, and of three kinds.
func sameNames() *view.Frame {
	f := calm()
	c := cluster.Contents{At: t0, Access: synced, Link: cluster.Link{State: cluster.LinkLive, LastContact: t0}}
	for _, name := range []string{"web", "only"} {
		c.Nodes = append(c.Nodes, &cluster.Node{Name: name, Ready: cluster.TriTrue, Renewed: t0})
	}
	for _, namespace := range []string{"blog", "shop"} {
		key := cluster.Key{Namespace: namespace, Name: "web"}
		c.Pods = append(c.Pods, &cluster.Pod{Key: key, Phase: "Running"})
		c.Deployments = append(c.Deployments, &cluster.Deployment{Key: key, Word: "Running"})
	}
	f.Snapshot, f.Focus = cluster.NewSnapshot(c), cluster.Key{}
	return f
}

// An event leads to the object of its own namespace and kind. Only an event that names no
// namespace leads to an object by the name alone.
func TestAnEventLeadsToTheObjectOfItsNamespaceAndKind(t *testing.T) {
	m, _, _ := testModel(sameNames(), 120, 36, Options{})
	for _, c := range []struct {
		event view.Event
		want  string
	}{
		{change(cluster.KindPod, "shop", "web"), "pod shop/web"},
		{change(cluster.KindPod, "blog", "web"), "pod blog/web"},
		{change(cluster.KindPod, "news", "web"), ""},
		{change(cluster.KindDeployment, "shop", "web"), "deployment shop/web"},
		{change(cluster.KindDeployment, "news", "web"), ""},
		{change(cluster.KindEndpointSlice, "shop", "web"), "deployment shop/web"},
		{change(cluster.KindStatefulSet, "shop", "web"), ""},
		{change(cluster.KindNode, "", "web"), "node web"},
		{change(cluster.KindPod, "shop", "only"), ""},
		{view.NewEvent(view.CodeRolloutRestarted, "shop/web", view.Facts{}), "deployment shop/web"},
		{view.NewEvent(view.CodeDrained, "only", view.Facts{}), "node only"},
		{view.Event{Kind: "pod", Subject: "web", Text: "from a record of an early version"}, "pod blog/web"},
	} {
		got := ""
		if ref := objectOf(&m.s, c.event).ref; ref.Kind != "" {
			got = string(ref.Kind) + " " + ref.Key.String()
		}
		if got != c.want {
			t.Errorf("the event of %s %s/%s leads to %q, not %q", c.event.Kind, c.event.Namespace, c.event.Subject, got, c.want)
		}
	}
}

// The details of an object list its own events, and none of an object of the same name.
func TestDetailsListTheEventsOfTheirObjectOnly(t *testing.T) {
	f := sameNames()
	shop, blog, node := change(cluster.KindPod, "shop", "web"), change(cluster.KindPod, "blog", "web"), change(cluster.KindNode, "", "web")
	shop.To, blog.To, node.To = "of the shop", "of the blog", "of the node"
	restarted := view.NewEvent(view.CodeRolloutRestarted, "shop/web", view.Facts{})
	f.Events = numbered(shop, blog, node, restarted)
	m, _, _ := testModel(f, 120, 36, Options{})
	key := func(namespace string) cluster.Key { return cluster.Key{Namespace: namespace, Name: "web"} }
	for what, c := range map[string]struct {
		object object
		texts  string
	}{
		"shop": {deploymentObject(key("shop")), "rollout restarted, Running → of the shop"},
		"blog": {podObject(key("blog")), "Running → of the blog"},
		"node": {nodeObject("web"), "Running → of the node"},
	} {
		d := &details{s: &m.s}
		c.object.facts(d)
		at := slices.IndexFunc(d.facts, func(f fact) bool { return f.label == "Timeline" })
		var texts []string
		for _, f := range d.facts[at+1:] {
			texts = append(texts, f.value)
		}
		if got := strings.Join(texts, ", "); got != c.texts {
			t.Errorf("the details of %s list %s, not %s", what, got, c.texts)
		}
	}
}

// What is shown of an object is copied and saved as a whole.
func TestAnObjectIsCopiedAndSaved(t *testing.T) {
	m, sent, _ := testModel(mdxOutage(), 80, 24, Options{})
	typeKeys(m, "3 y")
	m.Update(FrameMsg{looked(view.Inspect{Of: lostPod})()})
	for _, key := range []string{"Y", "c"} {
		if typeKeys(m, key); !strings.Contains(plainView(m), "clipboard: 11 lines") {
			t.Errorf("%s copies nothing:\n%s", key, plainView(m))
		}
	}
	*sent = nil
	typeKeys(m, "ctrl+s")
	if len(*sent) != 1 {
		t.Fatalf("sent %v", *sent)
	}
	saved, ok := (*sent)[0].(view.SaveText)
	if !ok || saved.Kind != "yaml" || len(saved.Lines) != 11 || saved.Lines[1] != "apiVersion: v1" || !strings.HasSuffix(saved.Lines[10], strings.Repeat("--long-argument ", 30)) {
		t.Errorf("saved %+v", saved)
	}
	typeKeys(m, "esc l")
	f := looked(view.Inspect{Of: lostPod, Log: true})()
	f.Inspection.Lines = []string{strings.Repeat("x", 100_000)}
	m.Update(FrameMsg{f})
	if typeKeys(m, "Y"); !strings.Contains(plainView(m), "ctrl+s saves") {
		t.Errorf("a long text is copied:\n%s", plainView(m))
	}
}
