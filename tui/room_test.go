package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// website is a cluster of six workers with four deployments: nothing was sent, and the
// first workers have been off for this long; 0: none is.
func website(off int, since time.Duration) *view.Frame {
	f := calm()
	f.Now, f.Load = t0.Add(since), loadgen.Run{URL: "http://10.0.0.11:31080/"}
	c := mdxContents(f.Now)
	c.Nodes, c.Pods, c.Deployments = nil, nil, nil
	node := func(i int) string { return fmt.Sprintf("node-%c%d", 'a'+i/2, i%2+1) }
	for i := range 6 {
		n := &cluster.Node{Name: node(i), Ready: cluster.TriTrue, Renewed: f.Now, RenewSeen: f.Now, LeaseDuration: 40 * time.Second, MaxPods: 110}
		if i < off {
			f.Zero = t0
			n.Ready, n.Renewed, n.RenewSeen, n.ReadySince = cluster.TriUnknown, t0, t0, t0.Add(40*time.Second)
			n.Taints = []cluster.Taint{{Key: cluster.TaintUnreachable, Effect: "NoExecute", TimeAdded: n.ReadySince}}
			f.Outages = append(f.Outages, outage.Span{Node: n.Name, From: t0, Kind: outage.SpanOff})
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, d := range []struct {
		name, set string
		nodes     []int
	}{{"batch", "84d8d846d", []int{0, 2, 3, 4, 5}}, {"cache", "644bd4f5c9", []int{2, 3, 4}}, {"model", "bf5cfb7d8", []int{0, 0, 1}}, {"web", "6bbf578bcd", []int{1, 2, 3, 4, 5, 5}}} {
		ready := 0
		for i, on := range d.nodes {
			p := &cluster.Pod{Key: cluster.Key{Namespace: "default", Name: fmt.Sprintf("%s-%s-7nr%d%c", d.name, d.set, i, 'q'+i)}, Node: node(on), Phase: "Running", Status: "Running",
				Containers: 1, ReadyContainers: 1, Ready: on >= off, Deployment: d.name, UnreachableFor: 300 * time.Second}
			ready += btoi(p.Ready)
			c.Pods = append(c.Pods, p)
		}
		all, word := len(d.nodes), cluster.WordRunning
		switch {
		case ready == 0:
			word = wordDown
		case ready < all:
			word = "Partly"
		}
		c.Deployments = append(c.Deployments, &cluster.Deployment{Key: cluster.Key{Namespace: "default", Name: d.name}, Replicas: all, Total: all, Updated: all, ReadyReplicas: ready, Available: ready, Word: word})
	}
	f.Focus = cluster.Key{Namespace: "default", Name: "web"}
	f.Snapshot = cluster.NewSnapshot(c)
	return f
}

// TestNamesOfPodsAreWhole: other columns make room for them.
func TestNamesOfPodsAreWhole(t *testing.T) {
	for _, off := range []int{0, 2} {
		m, _, _ := testModel(website(off, time.Minute), 120, 36, Options{})
		typeKeys(m, "3 a")
		text := plainView(m)
		for _, p := range m.s.snap.Pods() {
			if len(podsOf(m).rows) == m.s.snap.PodCount() && slices.Index(podsOf(m).rows, p) < podsOf(m).page && !strings.Contains(text, p.Name) {
				t.Errorf("%d nodes off: %s is not whole:\n%s", off, p.Name, text)
			}
		}
		if next := strings.Contains(text, "NEXT"); next != (off > 0) {
			t.Errorf("%d nodes off: a column NEXT is shown: %v\n%s", off, next, text)
		}
	}
}

// twoNamespaces is the website, whose pods of one deployment are in a namespace with a long name.
func twoNamespaces(off int) *view.Frame {
	f := website(off, time.Minute)
	c := f.Snapshot.Contents()
	for i, p := range c.Pods {
		if p.Deployment == "batch" {
			moved := *p
			moved.Namespace, c.Pods[i] = "kube-system", &moved
		}
	}
	f.Snapshot = cluster.NewSnapshot(c)
	return f
}

// TestANamespaceGivesWayBeforeAName: of several namespaces, too; one of which hardly a
// letter would be left is not there.
func TestANamespaceGivesWayBeforeAName(t *testing.T) {
	for _, off := range []int{0, 2} {
		m, _, _ := testModel(twoNamespaces(off), 120, 36, Options{})
		typeKeys(m, "3 a")
		text := plainView(m)
		if rows := podsOf(m).rows[:podsOf(m).page]; slices.ContainsFunc(rows, func(p *cluster.Pod) bool { return !strings.Contains(text, "/"+p.Name) }) {
			t.Errorf("%d nodes off: names are shortened:\n%s", off, text)
		}
		m, _, _ = testModel(twoNamespaces(off), 80, 24, Options{})
		typeKeys(m, "3 a")
		if text, want := plainView(m), []string{" cache-644…-7nr0q", "", " mode…-7nr0q"}[off]; !strings.Contains(text, want) || strings.Contains(text, "d…/") {
			t.Errorf("%d nodes off: %s is not on the screen, or a namespace of one letter is:\n%s", off, want, text)
		}
	}
}

// TestAFilterKeepsTheNamespaces: what it leaves may be of one.
func TestAFilterKeepsTheNamespaces(t *testing.T) {
	m, _, _ := testModel(twoNamespaces(0), 120, 36, Options{})
	typeKeys(m, "3 a / b a t c h enter")
	if v := plainView(m); !strings.Contains(v, "…/batch-") {
		t.Errorf("no namespace is shown:\n%s", v)
	}
}

// TestACountdownMovesNoColumn: its text becomes shorter, and its column stays.
func TestACountdownMovesNoColumn(t *testing.T) {
	m, _, _ := testModel(website(2, 41*time.Second), 120, 36, Options{})
	typeKeys(m, "3 a")
	head := func() string {
		lines := strings.Split(plainView(m), "\n")
		return lines[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "POD ") })]
	}
	before := head()
	for _, since := range []time.Duration{280 * time.Second, 330 * time.Second, 339 * time.Second} {
		m.Update(FrameMsg{website(2, since)})
		if now := head(); now != before {
			t.Errorf("after %v the columns have moved:\n%s\n%s", since, before, now)
		}
	}
}

// paneLines are the lines of a pane on the screen, without its title.
func paneLines(m *Model, name string) []string {
	return strings.Split(stripped(strings.Join(m.find(name).drawn.lines, "\n")), "\n")
}

// TestRoomWhileNothingIsSent: the requests are one line and the nodes that are down, on a low screen their title alone, and
// the other panes have the room.
func TestRoomWhileNothingIsSent(t *testing.T) {
	for _, c := range []struct{ w, h, off, requests, timeline int }{{80, 24, 0, 0, 6}, {80, 24, 2, 0, 6}, {120, 36, 0, 1, 10}, {120, 36, 2, 4, 10}, {200, 50, 2, 4, 16}} {
		m, _, _ := testModel(website(c.off, time.Minute), c.w, c.h, Options{})
		requests, text := len(m.find("Requests").drawn.lines), plainView(m)
		if requests != c.requests || !strings.Contains(text, "nothing sent yet") {
			t.Errorf("%dx%d, %d nodes off: the requests are %d lines, not %d:\n%s", c.w, c.h, c.off, requests, c.requests, text)
		}
		if n := len(paneLines(m, "Timeline")); n < c.timeline {
			t.Errorf("%dx%d, %d nodes off: the timeline has %d lines, fewer than %d:\n%s", c.w, c.h, c.off, n, c.timeline, text)
		}
		deployments := paneLines(m, "Deployments")
		if !strings.Contains(deployments[0], "AVAIL") {
			t.Errorf("%dx%d, %d nodes off: the deployments have no header:\n%s", c.w, c.h, c.off, text)
		}
		if first := strings.Fields(deployments[1])[0]; c.off > 0 && first != "model" {
			t.Errorf("%dx%d: the first deployment is %s, not the one that is down:\n%s", c.w, c.h, first, text)
		}
	}
}

// TestTheChartComesBackAtOnce: when a load starts, the panes change their sizes once.
func TestTheChartComesBackAtOnce(t *testing.T) {
	f := website(2, time.Minute)
	m, _, now := testModel(f, 80, 24, Options{})
	sizes := func() (titles []int) { // the lines in which panes begin
		for y, l := range strings.Split(plainView(m), "\n") {
			if strings.ContainsAny(l, "╭├") {
				titles = append(titles, y)
			}
		}
		return titles
	}
	var seen [][]int
	for i := range 120 {
		g := *f
		g.Now = f.Now.Add(time.Duration(i) * time.Second)
		if i > 0 {
			g.Load.Active, g.Load.Totals.Scheduled, g.Load.Spec = i < 5, 8*min(i, 5), loadgen.Spec{Shape: loadgen.Rate, PerSecond: 8}
			g.Load.Totals.OK = g.Load.Totals.Scheduled
			g.Load.Seconds = append(slices.Clone(f.Load.Seconds), loadgen.Second{At: g.Now.Truncate(time.Second), Sent: 8 * btoi(i < 5), OK: 8 * btoi(i < 5)})
			f.Load.Seconds = g.Load.Seconds
		}
		*now = g.Now
		m.Update(FrameMsg{&g})
		if s := sizes(); len(seen) == 0 || !slices.Equal(seen[len(seen)-1], s) {
			seen = append(seen, s)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the panes changed their sizes other than once when the load began, and once when the chart showed it no more:\n%v", seen)
	}
}

// TestReadyIsUnknownOnALostNode: also of a pod that is being deleted.
func TestReadyIsUnknownOnALostNode(t *testing.T) {
	f := website(2, time.Minute)
	c := f.Snapshot.Contents()
	for _, p := range c.Pods {
		if p.Node == "node-a1" {
			p.Deleting, p.Status = f.Now, "Terminating"
		}
	}
	f.Snapshot = cluster.NewSnapshot(c)
	m, _, _ := testModel(f, 200, 50, Options{})
	typeKeys(m, "3 a")
	for _, l := range paneLines(m, "Pods") {
		lost := strings.Contains(l, "node-a1") || strings.Contains(l, "node-a2")
		if lost && !strings.Contains(l, "?/1") || strings.Contains(l, "?/1") && !lost {
			t.Errorf("READY is not right: %s", l)
		}
	}
}

// TestTheBarNamesAKeyOnce also where a pane names a key that every pane has.
func TestTheBarNamesAKeyOnce(t *testing.T) {
	m, _, _ := testModel(calm(), 250, 50, Options{})
	typeKeys(m, "4")
	lines := strings.Split(plainView(m), "\n")
	if bar := lines[len(lines)-1]; strings.Count(bar, "w span") != 1 {
		t.Errorf("the bar is %q", bar)
	}
}

// TestRefreshingRecordsNothing: ctrl+r is k9s' key to refresh.
func TestRefreshingRecordsNothing(t *testing.T) {
	m, sent, _ := testModel(calm(), 120, 36, Options{})
	typeKeys(m, "ctrl+r")
	if len(*sent) > 0 {
		t.Errorf("ctrl+r sends %v", *sent)
	}
	typeKeys(m, "V")
	wantIntent(t, sent, view.RecordScreen{})
}

// TestALongMessageSaysWhereItIsWhole when the line has no room for it.
func TestALongMessageSaysWhereItIsWhole(t *testing.T) {
	f := calm()
	f.Notice = view.Notice{At: f.Now, Text: strings.Repeat("node-c2 fell silent; ", 9) + "no place for 3 pods"}
	m, _, _ := testModel(f, 120, 36, Options{})
	if !strings.Contains(plainView(m), "M: all of it") {
		t.Errorf("the foot does not lead to the whole message:\n%s", plainView(m))
	}
	typeKeys(m, "M")
	if text := strings.Join(strings.Fields(plainView(m)), " "); !strings.Contains(text, "no place for 3") {
		t.Errorf("the messages do not have it:\n%s", text)
	}
}

// TestAWordThatIsGoneTakesNoRoom: what a table had to make room for before costs it no column when there is little room.
func TestAWordThatIsGoneTakesNoRoom(t *testing.T) {
	f := website(2, time.Minute)
	c := f.Snapshot.Contents()
	for i, n := range c.Nodes {
		cordoned := *n
		cordoned.Unschedulable, c.Nodes[i] = true, &cordoned
	}
	f.Snapshot = cluster.NewSnapshot(c)
	f.Power = map[string]view.MachineView{"node-a1": {Busy: power.ActionOff, Stage: power.StageDraining}}
	m, _, _ := testModel(f, 80, 24, Options{})
	plainView(m)
	off := *f
	off.Power = map[string]view.MachineView{"node-a1": {Reading: power.Reading{State: power.Off, Proof: power.Proven, Arrived: f.Now}}}
	m.Update(FrameMsg{&off})
	if v := plainView(m); !strings.Contains(v, "1m00s co… off") {
		t.Errorf("the power of node-a1 is not on the screen:\n%s", v)
	}
}
