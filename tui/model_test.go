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
	if v := plainView(m); !strings.Contains(v, "choose nodes first") {
		t.Errorf("the screen does not say what to do:\n%s", v)
	}
}

func TestMarkAllTakesWorkersOnly(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "* s")
	wantIntent(t, sent, view.AskPower{Action: power.ActionShutdown,
		Nodes: []string{"kube-node1", "kube-node2", "kube-node3", "kube-node4"}})
	typeKeys(m, "*")
	if len(m.s.marks) != 0 {
		t.Error("the second * leaves marks")
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

func TestMarksOfNodesThatAreGoneAreDropped(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "space")
	f := calm()
	c := f.Snapshot.Contents()
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n *cluster.Node) bool { return n.Name == "kube-node1" })
	f.Snapshot = cluster.NewSnapshot(c)
	m.Update(FrameMsg{f})
	if len(m.s.marks) > 0 {
		t.Error("a mark is left on a node that is gone")
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

// A key in a list may have been meant for another program: it neither stops nor changes
// the load that runs.
func TestLoadKeysOfAListDoNotTouchTheLoadThatRuns(t *testing.T) {
	f := calm()
	f.Load.Active, f.Load.Spec = true, loadgen.Spec{Shape: loadgen.Hold, N: 16}
	m, sent, now := testModel(f, 120, 36, Options{Hold: 16})
	typeKeys(m, "1 h + - c")
	if len(*sent) > 0 {
		t.Errorf("sent %v", *sent)
	}
	typeKeys(m, "c")
	wantIntent(t, sent, view.StopLoad{})
	*now = now.Add(cancelTwice + time.Second)
	typeKeys(m, "R esc") // the session asks, and the operator refuses
	*sent = nil
	typeKeys(m, "4 +")
	wantIntent(t, sent, view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Hold, N: 17}})
}

// Escape with nothing to clear leaves the cursor on its machine.
func TestEscapeLeavesTheCursor(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "1 g j j esc esc s")
	if last, ok := (*sent)[len(*sent)-1].(view.AskPower); !ok || len(last.Nodes) != 1 || last.Nodes[0] == m.s.f.Snapshot.Nodes()[0].Name {
		t.Errorf("sent %+v", *sent)
	}
}

// The timeline follows the newest events again once another pane is active.
func TestTheTimelineFollowsAgainAfterTheFocusHasLeft(t *testing.T) {
	m, _, _ := testModel(outage(), 120, 36, Options{})
	was := m.View().Content
	typeKeys(m, "5 g 1")
	if now := m.View().Content; now == "" || !strings.Contains(now, lastLine(was)) {
		t.Errorf("the newest event is out of sight:\n%s", now)
	}
}

// lastLine returns the last line of the timeline in a frame.
func lastLine(frame string) string {
	lines := strings.Split(frame, "\n")
	return lines[len(lines)-3]
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
	if v := plainView(m); !strings.Contains(v, "1 /node3: 1 of 5 shown · Nodes") {
		t.Errorf("what was pasted is not shown:\n%s", v)
	}
	if len(nodesOf(m).rows) != 1 || nodesOf(m).rows[0].Name != "kube-node3" {
		t.Errorf("%d rows while typing", len(nodesOf(m).rows))
	}
	typeKeys(m, "enter")
	if v := plainView(m); !strings.Contains(v, "1 /node3: 1 of 5 shown · Nodes") {
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
	if n := len(podsOf(m).rows); n != 4 || podsOf(m).of != "kube-node1" {
		t.Errorf("%d pods of %s for the node under the cursor", n, podsOf(m).of)
	}
	typeKeys(m, "space down space")
	if n := len(podsOf(m).rows); n != 8 {
		t.Errorf("%d pods for two marked nodes", n)
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

func TestChangesStandOutForAFewSeconds(t *testing.T) {
	f := outage()
	m, _, now := testModel(f, 120, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "▸NotReady") || !strings.Contains(v, "▸Scaling") {
		t.Errorf("changes do not stand out:\n%s", v)
	}
	*now = now.Add(freshFor)
	m.Update(tickMsg{})
	if v := plainView(m); strings.Contains(v, "▸") {
		t.Errorf("changes still stand out:\n%s", v)
	}
}

func TestWhatWasThereAtTheStartIsNoNews(t *testing.T) {
	m := New(Options{Now: func() time.Time { return t0 }})
	m.Update(FrameMsg{outage()})
	resize(m, 120, 36)
	if v := plainView(m); strings.Contains(v, "▸") {
		t.Errorf("the first frame is shown as news:\n%s", v)
	}
}

func TestAStaleScreenKeepsItsContentAndItsAge(t *testing.T) {
	m, _, _ := testModel(stale(), 120, 36, Options{})
	v := plainView(m)
	for _, want := range []string{"STALE 12s", "connection timed out", "next try in 4 s", "kube-node3", "Scaling", "serving 8 of 8"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
}

// TestABannerSaysFirstWhatIsNeededMost: of a long server's name and a narrow screen
// it is the name that goes.
func TestABannerSaysFirstWhatIsNeededMost(t *testing.T) {
	f := stale()
	c := f.Snapshot.Contents()
	c.Server = "https://the-api-server-of-a-cluster.with-a-long-name.in-a-region.example.com:6443"
	c.Link.Err = "the API server at " + strings.TrimPrefix(c.Server, "https://") + " does not answer; check that it runs and that the route to it is open"
	f.Snapshot = cluster.NewSnapshot(c)
	for w, want := range map[int]string{
		200: "STALE 12s, next try in 4 s – the API server at the-api-server-of-a-cluster.with-a-long-name.in-a-region.example.com:6443 does not answer; check",
		120: "STALE 12s, next try in 4 s – the API server does not answer; check that it runs and that the route to it is open",
		80:  "STALE 12s, next try in 4 s – the API server does not answer; check",
	} {
		m, _, _ := testModel(f, w, 30, Options{})
		if v := plainView(m); !strings.Contains(v, want) {
			t.Errorf("%d wide: %q is missing:\n%s", w, want, v)
		}
	}
}

func TestForbiddenKindsSayForbidden(t *testing.T) {
	f := calm()
	c := f.Snapshot.Contents()
	c.Nodes, c.Access = nil, map[cluster.Kind]cluster.Access{cluster.KindNode: {Forbidden: true}, cluster.KindPod: {Synced: true}}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 120, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "forbidden") || strings.Contains(v, "no nodes") {
		t.Errorf("a forbidden list is not told from an empty one:\n%s", v)
	}
}

func TestAnUnbalancedLedgerIsReportedInWords(t *testing.T) {
	f := outage()
	f.Load.Totals.OK--
	m, _, _ := testModel(f, 120, 36, Options{})
	if v := plainView(m); !strings.Contains(v, "does not balance") {
		t.Errorf("no word of it:\n%s", v)
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

// A sentence that nobody asked for has the sign of what it tells: only what
// went wrong has one that says so.
func TestANoticeHasTheSignOfItsLevel(t *testing.T) {
	for level, sign := range map[view.Level]string{view.Info: "", view.Good: "✓ ", view.Warning: "! "} {
		f := calm()
		f.Notice = view.Notice{Text: "the report is report.html", At: f.Now, Level: level}
		m, _, _ := testModel(f, 120, 36, Options{})
		if got := m.foot(60).s; got != " "+sign+"the report is report.html " {
			t.Errorf("level %d: %q", level, got)
		}
	}
}

// While "Power on, then leave" waits, the screen names what it waits for.
func TestTheScreenNamesWhatLeavingWaitsFor(t *testing.T) {
	f := calm()
	f.LeavesAfter = []string{"kube-node3", "kube-node4"}
	for _, w := range []int{80, 120} {
		m, _, _ := testModel(f, w, 36, Options{})
		if got := plainView(m); !strings.Contains(got, "leaving as soon as these are back: kube-node3, kube-node4; q asks again") {
			t.Errorf("%d cells:\n%s", w, got)
		}
	}
}
