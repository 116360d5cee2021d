package tui

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

func nodesOf(m *Model) *nodesPane { return m.find("Nodes").pane.(*nodesPane) }
func podsOf(m *Model) *podsPane   { return m.find("Pods").pane.(*podsPane) }

// last gives the newest intent sent.
func last(t *testing.T, sent *[]view.Intent) view.Intent {
	t.Helper()
	if len(*sent) == 0 {
		t.Fatal("no intent was sent")
	}
	return (*sent)[len(*sent)-1]
}

func wantIntent(t *testing.T, sent *[]view.Intent, want view.Intent) {
	t.Helper()
	if got := last(t, sent); !reflect.DeepEqual(got, want) {
		t.Errorf("sent %#v, want %#v", got, want)
	}
}

func TestMarkedNodesAreSwitchedTogether(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "down down space down space s")
	nodes := []string{"kube-node3", "kube-node4"}
	wantIntent(t, sent, view.AskPower{Action: power.ActionShutdown, Nodes: nodes})
	typeKeys(m, "x")
	wantIntent(t, sent, view.AskPower{Action: power.ActionOff, Nodes: nodes})
	typeKeys(m, "4 o") // from another pane: marks hold
	wantIntent(t, sent, view.AskPower{Action: power.ActionOn, Nodes: nodes})
	typeKeys(m, "1 esc s")
	wantIntent(t, sent, view.AskPower{Action: power.ActionShutdown, Nodes: []string{"kube-node4"}})
}

func TestSwitchingNeedsAChoice(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "4 s")
	if len(*sent) > 0 {
		t.Fatalf("sent %#v without a node chosen", (*sent)[0])
	}
	if v := plainView(m); !strings.Contains(v, "no node is marked: 1 goes to the nodes") {
		t.Errorf("the screen does not say what to do:\n%s", v)
	}
}

func TestCursorStaysOnItsRowWhenRowsMove(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "down down") // kube-node3
	f := calm()
	c := f.Snapshot.Contents()
	c.Nodes = append(c.Nodes, &cluster.Node{Name: "a-new-node", Ready: cluster.TriTrue})
	f.Snapshot = cluster.NewSnapshot(c)
	m.Update(FrameMsg{f})
	if got := nodesOf(m).cursor; got != "kube-node3" {
		t.Errorf("the cursor went to %s", got)
	}
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n *cluster.Node) bool { return n.Name == "kube-node3" })
	f = calm()
	f.Snapshot = cluster.NewSnapshot(c)
	m.Update(FrameMsg{f})
	if got := nodesOf(m).cursor; got != "kube-node4" {
		t.Errorf("with its node gone the cursor went to %s", got)
	}
}

func TestLoadKeys(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{Burst: 16, Hold: 8})
	typeKeys(m, "4 b")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 16}})
	typeKeys(m, "- - b")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 14}})
	typeKeys(m, "n 1 2 enter b")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 12}})
	typeKeys(m, "n x enter esc b") // not a number: refused
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Burst, N: 12}})
	typeKeys(m, "R")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}})
	typeKeys(m, "h")
	hold := loadgen.Spec{Shape: loadgen.Hold, N: 8}
	wantIntent(t, sent, view.StartLoad{Spec: hold})

	f := calm()
	f.Load.Active, f.Load.Spec = true, hold
	m.Update(FrameMsg{f})
	typeKeys(m, "+") // a hold that runs follows
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 9}})
	typeKeys(m, "h")
	wantIntent(t, sent, view.StopLoad{})
}

func TestStopCancelsAtTheSecondPress(t *testing.T) {
	f := calm()
	f.Load.Active = true
	m, sent, now := testModel(f, 120, 36, Options{})
	typeKeys(m, "4 c")
	wantIntent(t, sent, view.StopLoad{})
	typeKeys(m, "c")
	wantIntent(t, sent, view.StopLoad{Cancel: true})
	typeKeys(m, "c")
	*now = now.Add(cancelTwice + time.Second)
	typeKeys(m, "c")
	wantIntent(t, sent, view.StopLoad{})
}

func TestLoadThatCantBeSentSaysWhy(t *testing.T) {
	f := calm()
	f.NoLoad = "no URL is set: give load.url in lightsout.yaml"
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "b h R")
	if len(*sent) > 0 {
		t.Errorf("sent %#v", (*sent)[0])
	}
	if v := plainView(m); !strings.Contains(v, f.NoLoad) {
		t.Errorf("the screen does not say why:\n%s", v)
	}
}

func TestFilterShowsMatchingRowsWhileTyped(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "/ n o")
	m.Update(tea.PasteMsg{Content: "de3"})
	if v := plainView(m); !strings.Contains(v, "1 /node3: 1 of 5 · Nodes") {
		t.Errorf("what was pasted is not shown:\n%s", v)
	}
	if len(nodesOf(m).rows) != 1 || nodesOf(m).rows[0].Name != "kube-node3" {
		t.Errorf("%d rows while typing", len(nodesOf(m).rows))
	}
	typeKeys(m, "enter")
	if v := plainView(m); !strings.Contains(v, "1 /node3: 1 of 5 · Nodes") {
		t.Errorf("the filter is not shown:\n%s", v)
	}
	typeKeys(m, "esc")
	if len(nodesOf(m).rows) != 5 {
		t.Errorf("%d rows after esc", len(nodesOf(m).rows))
	}
}

func TestPodsFollowMarksThenSelection(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	if n := len(podsOf(m).rows); n != 16 {
		t.Fatalf("%d pods of the load's deployment at first", n)
	}
	typeKeys(m, "down up")
	if n := len(podsOf(m).rows); n != 4 || podsOf(m).of != "of kube-node1" {
		t.Errorf("%d pods %s for the node under the cursor", n, podsOf(m).of)
	}
	typeKeys(m, "space down space")
	if n := len(podsOf(m).rows); n != 8 {
		t.Errorf("%d pods for two marked nodes", n)
	}
	f := calm()
	c := f.Snapshot.Contents()
	c.Pods = append(c.Pods, &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: "waits"}, Phase: "Pending", Status: "Pending"})
	f.Snapshot = cluster.NewSnapshot(c)
	m.Update(FrameMsg{f})
	if v := plainView(m); !strings.Contains(v, "Pods on no node (1) and of 2 mark") || !strings.Contains(v, "waits") {
		t.Errorf("the title does not name the pods that are on no node:\n%s", v)
	}
}

func TestQuitAsksAndCtrlCTwiceLeaves(t *testing.T) {
	m, sent, now := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "q")
	wantIntent(t, sent, view.AskQuit{})
	if _, cmd := m.Update(keyMsg("ctrl+c")); cmd != nil {
		t.Fatal("the first ctrl+c leaves")
	}
	*now = now.Add(quitTwice + time.Second)
	if _, cmd := m.Update(keyMsg("ctrl+c")); cmd != nil {
		t.Fatal("a ctrl+c long after the first leaves")
	}
	_, cmd := m.Update(keyMsg("ctrl+c"))
	if cmd == nil {
		t.Fatal("the second ctrl+c does not leave")
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("the second ctrl+c does something else")
	}
}

func TestAStaleScreenKeepsItsContentAndItsAge(t *testing.T) {
	m, _, _ := testModel(stale(), 120, 36, Options{})
	v := plainView(m)
	for _, want := range []string{"STALE 12s", "connection timed out", "next try in 4 s", "kube-node3", "Partly", "serving 8 of 8"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

func TestOnlyAProvenOffStandsWithoutAQuestionMark(t *testing.T) {
	th := newTheme(Options{NoColor: true})
	for _, c := range []struct {
		r    power.Reading
		want string
	}{
		{power.Reading{State: power.Off, Proof: power.Proven}, "off"},
		{power.Reading{State: power.Off, Proof: power.Presumed}, "off?"},
		{power.Reading{State: power.On, Proof: power.Proven}, "on"},
		{power.Reading{RequestedAt: t0, Arrived: t0}, "?"},
		{power.Reading{}, "asking…"},
	} {
		if got, _ := powerWord(th, view.MachineView{Reading: c.r}, true); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.r.State, c.r.Proof, got, c.want)
		}
	}
}

func TestIdleScreenIsNotDrawnAnew(t *testing.T) {
	f := calm()
	m, _, now := testModel(f, 120, 36, Options{})
	before := m.View().Content
	lines := m.find("Requests").drawn.lines
	same := *f
	m.Update(FrameMsg{&same})
	if m.View().Content != before || &m.find("Requests").drawn.lines[0] != &lines[0] {
		t.Error("a frame that says the same makes a pane be drawn anew")
	}
	*now = now.Add(time.Second)
	m.Update(tickMsg{})
	if got := m.View().Content; got != before {
		t.Error("a second later the idle screen is different")
	}
}

func TestTheScreenReportsUnwatchedKindsAndWrongClocks(t *testing.T) {
	look := func(change func(c *cluster.Contents, now time.Time)) string {
		f := calm()
		c := f.Snapshot.Contents()
		c.Access = maps.Clone(c.Access)
		change(&c, f.Now)
		f.Snapshot = cluster.NewSnapshot(c)
		m, _, _ := testModel(f, 120, 36, Options{})
		return plainView(m)
	}
	broken := func(d time.Duration) func(c *cluster.Contents, now time.Time) {
		return func(c *cluster.Contents, now time.Time) {
			c.Access[cluster.KindPod] = cluster.Access{Synced: true, Err: "it is overloaded", Until: now.Add(-d)}
			c.Access[cluster.KindNode] = cluster.Access{Synced: true, Err: "another", Until: now.Add(-d / 2)}
		}
	}
	for name, tc := range map[string]struct{ screen, want, not string }{
		"a watch that broke": {look(broken(12 * time.Second)), "STALE pods and 1 more 12s – it is overloaded", "live"},
		"heartbeats that are stuck": {look(func(c *cluster.Contents, now time.Time) {
			c.Access[cluster.KindLease] = cluster.Access{Synced: true, Err: "their connection is stuck", Until: now.Add(-5 * time.Second)}
		}), "STALE heartbeats 5s – their connection is stuck", "live"},
		"a watch that broke a moment ago": {look(broken(time.Second)), "live", "STALE"},
		"a clock that is behind": {look(func(c *cluster.Contents, _ time.Time) { c.Link.Ahead = -5 * time.Minute }),
			"CLOCKS – the API server's is 5m00s behind this machine's: ages and evictions are wrong by that much", "STALE"},
	} {
		if !strings.Contains(tc.screen, tc.want) || strings.Contains(tc.screen, tc.not) {
			t.Errorf("%s: wanted %q and not %q:\n%s", name, tc.want, tc.not, tc.screen)
		}
	}
}
