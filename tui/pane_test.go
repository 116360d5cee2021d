package tui

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

func TestTheCursorDoesNotBeginOnAControlPlaneNode(t *testing.T) {
	m, _, _ := testModel(calm(), 120, 36, Options{})
	if got := nodesOf(m).cursor; got != "kube-node1" {
		t.Errorf("it begins on %s", got)
	}
}

func TestRowsAreSortedFilteredAndCounted(t *testing.T) {
	m, _, _ := testModel(mdxOutage(), 120, 36, Options{})
	if rows := nodesOf(m).rows; rows[0].Name != "kube-node3" || rows[1].Name != "kube-node4" {
		t.Errorf("what is in trouble does not stand first: %s, %s", rows[0].Name, rows[1].Name)
	}
	typeKeys(m, "i")
	if rows := nodesOf(m).rows; rows[0].Name != "kube-master" {
		t.Errorf("sorted by name, %s is first", rows[0].Name)
	}
	typeKeys(m, "I")
	if rows := nodesOf(m).rows; rows[0].Name != "kube-node4" {
		t.Errorf("sorted the other way round, %s is first", rows[0].Name)
	}
	typeKeys(m, "3 / l o s t")
	if v := plainView(m); !strings.Contains(v, "8 of 16") {
		t.Errorf("the filter does not count:\n%s", v)
	}
	typeKeys(m, "enter")
	if n := len(podsOf(m).rows); n != 8 {
		t.Errorf("%d pods are lost, want 8", n)
	}
	typeKeys(m, "/ home ! enter")
	if n := len(podsOf(m).rows); n != 8 || podsOf(m).rows[0].Node == "kube-node3" {
		t.Errorf("%d pods are not lost, the first on %s", n, podsOf(m).rows[0].Node)
	}
	typeKeys(m, "G")
	resize(m, 120, 24)
	if v := plainView(m); !strings.Contains(v, "–8 of 8") {
		t.Errorf("the position is not told:\n%s", v)
	}
}

// Trouble that comes up above the rows in sight is in sight, whoever has scrolled.
func TestTroubleIsInSight(t *testing.T) {
	f := mdxOutage()
	for _, keys := range []string{"1", "2", "3", "3 down down", "3 pgdn pgdn 1", "3 i i"} {
		m, _, _ := testModel(calm(), 80, 24, Options{})
		typeKeys(m, keys)
		plainView(m)
		m.Update(FrameMsg{f})
		if plainView(m); podsOf(m).top > max(0, podsOf(m).at-podsOf(m).page+1) || podsOf(m).top > 0 && !podsOf(m).moved {
			t.Errorf("%s: the pods begin at row %d, with the cursor on %d of %d", keys, podsOf(m).top, podsOf(m).at, podsOf(m).page)
		}
	}
}

// A list that is not the active pane begins with those in trouble, wherever its cursor is.
func TestOnlyTheActiveListFollowsItsCursor(t *testing.T) {
	for keys, sick := range map[string]string{"2 G 3": "model", "1 G 2": "node-a1", "3 a G 1": "-7nr0q"} {
		m, _, _ := testModel(website(0, time.Minute), 80, 22, Options{})
		typeKeys(m, keys)
		m.Update(FrameMsg{website(2, time.Minute)})
		plainView(m)
		if l := paneLines(m, m.panes[keys[0]-'1'].name); !strings.Contains(strings.Join(l[:2], ""), sick) {
			t.Errorf("%s: %s is not the first row:\n%s", keys, sick, plainView(m))
		}
	}
}

// The cursor stays on its object, whatever the filter does, as long as the object is listed; a filter that hides it begins
// at the first row.
func TestTheCursorStaysOnItsObjectUnderAnotherFilter(t *testing.T) {
	m, _, _ := testModel(website(2, time.Minute), 80, 24, Options{})
	for _, c := range []struct{ keys, on string }{
		{"1 g down down down", "node-b2"}, {"/ b 1 enter", "node-b1"}, {"esc", "node-b1"}, {"/ - c esc", "node-b1"}, {"/ n o d e - b enter down", "node-b2"}, {"/ 2 enter", "node-b2"}, {"esc", "node-b2"},
	} {
		typeKeys(m, c.keys)
		if n := nodeUnderCursor(m); n == nil || n.Name != c.on {
			t.Errorf("%s: the cursor is on %v, not %s:\n%s", c.keys, n, c.on, plainView(m))
		}
	}
	typeKeys(m, "3 a / n o d e - b enter down")
	p, _ := podsOf(m).selected()
	if typeKeys(m, "esc"); p.Key != podsOf(m).cursor || podsOf(m).at == 0 {
		t.Errorf("the cursor is on %v, not %v:\n%s", podsOf(m).cursor, p.Key, plainView(m))
	}
}

// Where the operator chooses anew what a list shows, the cursor is on its first row; on an object that they name it stays.
func TestAnotherChoiceBeginsAtTheFirstRow(t *testing.T) {
	m, _, _ := testModel(website(2, time.Minute), 80, 24, Options{})
	all := m.s.snap.Pods()
	name := all[len(all)-1].Name
	for _, c := range []struct {
		word, keys string
		first      bool
	}{{name, "esc", true}, {name, "3 /", false}, {"po", "G", false}, {"po", "", true}, {"po", "G / w e b enter", false}, {"po", "G / ! w e b enter", true}, {"po web", "G esc", false}, {"po", "G 2 up down 3", true}} {
		typeWord(m, c.word)
		if p, _ := podsOf(m).selected(); c.word == name && p.Name != name {
			t.Errorf(":%s leads to %s", name, p.Name)
		}
		typeKeys(m, c.keys)
		if v := plainView(m); (podsOf(m).at == 0) != c.first || !strings.Contains(v, cmp.Or(podsOf(m).of, fmt.Sprintf(" of %d ─", len(podsOf(m).rows)))) {
			t.Errorf(":%s %s: the cursor is on row %d, or the title neither counts the rows in sight nor names whose they are:\n%s", c.word, c.keys, podsOf(m).at, v)
		}
		typeKeys(m, "esc")
	}
}

// Rows are sorted by the columns that are shown; without any there is nothing to sort by.
func TestRowsAreSortedByShownColumns(t *testing.T) {
	for _, w := range []int{80, 200} {
		m, _, _ := testModel(website(2, time.Minute), w, 24, Options{})
		typeKeys(m, "3 a")
		for range 12 {
			typeKeys(m, "i")
			if v := plainView(m); strings.Contains(v, "problems first") == strings.Contains(strings.Join(paneLines(m, "Pods"), ""), m.s.t.sortedUp) {
				t.Errorf("the column that the rows are sorted by is not marked:\n%s", v)
			}
		}
		if typeKeys(m, "/ n o n e enter i"); !strings.Contains(plainView(m), "problems first") {
			t.Errorf("nothing is sorted:\n%s", plainView(m))
		}
	}
}

func TestTheTimelineIsInTheOrderOfItsOwnTimes(t *testing.T) {
	f := mdxOutage()
	early := f.Events[len(f.Events)-1]
	early.Seq, early.At, early.Text, early.Lane = 99, t0.Add(30*time.Second), "told late", view.LaneEvent
	f.Events = append(f.Events, early)
	m, _, _ := testModel(f, 120, 60, Options{})
	typeKeys(m, "5")
	v := plainView(m)
	late, silent, notReady := strings.Index(v, "told late"), strings.Index(v, "T+00:21.0"), strings.Index(v, "T+01:20.4")
	if late < silent || late > notReady {
		t.Errorf("an event stands where it arrived and not where it happened:\n%s", v)
	}
	typeKeys(m, "up up up enter")
	if v := plainView(m); !strings.Contains(v, "happened") || !strings.Contains(v, "Kubelet stopped posting") {
		t.Errorf("enter does not open the line with its object:\n%s", v)
	}
}

func TestRefusalsSayWhyFirst(t *testing.T) {
	f := asked()
	f.Question.Refused, f.Question.Title = true, "154 nodes can't be shut down"
	for range 160 {
		f.Question.Lines = append(f.Question.Lines, view.Line{Text: "one more node"})
	}
	f.Question.Lines = append(f.Question.Lines, view.Line{Level: view.Bad, Text: "kube-master runs the control plane"})
	m, _, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	if v := plainView(m); !strings.Contains(v, "kube-master runs the control plane") || !strings.Contains(v, "154 nodes can't be shut down ") {
		t.Errorf("the reason is out of sight:\n%s", v)
	}
}

// A message that a newer one has covered does not come back; a warning does, while it stands.
func TestOnlyAWarningStandsBesideANewerMessage(t *testing.T) {
	for level, back := range map[view.Level]bool{view.Info: false, view.Good: false, view.Warning: true, view.Bad: true} {
		f := calm()
		f.Notice = view.Notice{At: f.Now, Text: "asked to uncordon node-a1", Level: level}
		m, _, now := testModel(f, 80, 24, Options{})
		if typeKeys(m, "1 i"); strings.Contains(plainView(m), "asked to") {
			t.Errorf("the newer message is not on the screen:\n%s", plainView(m))
		}
		*now = now.Add(answerFor)
		if m.Update(tickMsg{}); strings.Contains(plainView(m), "asked to") != back {
			t.Errorf("a message of the level %v comes back: %t:\n%s", level, !back, plainView(m))
		}
	}
}

func TestKeysAreAlwaysOnTheScreen(t *testing.T) {
	for _, s := range []size{{40, 10}, {60, 15}, {80, 24}, {120, 36}} {
		m, _, _ := testModel(calm(), s.w, s.h, Options{})
		m.Update(SayMsg{Text: "a notice"})
		v := strings.Split(plainView(m), "\n")
		if last := v[s.h-1]; !strings.Contains(last, "? help") || !strings.Contains(last, "q quit") {
			t.Errorf("%v: how to get help and how to leave is not on the last line: %q", s, last)
		}
		if !strings.Contains(v[s.h-2], "a notice") {
			t.Errorf("%v: the notice is not above it: %q", s, v[s.h-2])
		}
		typeKeys(m, "M")
		if v := plainView(m); !strings.Contains(v, "a notice") || !strings.Contains(v, "esc close") {
			t.Errorf("%v: the notice is not in the history, or the keys are not the dialog's:\n%s", s, v)
		}
	}
}

// A machine that lightsout left off keeps its row when the cluster deletes its node, and o
// asks to power it on.
func TestAMachineLeftOffKeepsItsRowWithoutItsNode(t *testing.T) {
	f := calm()
	c := f.Snapshot.Contents()
	c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n *cluster.Node) bool { return n.Name == "kube-node4" })
	f.Snapshot = cluster.NewSnapshot(c)
	m4 := f.Power["kube-node4"]
	m4.LeftOff, m4.Reading.State = true, power.Off
	f.Power["kube-node4"] = m4
	m, sent, _ := testModel(f, 120, 36, Options{})
	typeKeys(m, "1 g")
	if v := plainView(m); !regexp.MustCompile(`kube-node4\s+gone\s+off`).MatchString(v) {
		t.Errorf("its row is not there:\n%s", v)
	}
	typeKeys(m, "o")
	if ask, ok := (*sent)[len(*sent)-1].(view.AskPower); !ok || !slices.Equal(ask.Nodes, []string{"kube-node4"}) {
		t.Errorf("sent %+v", *sent)
	}
	typeKeys(m, "enter")
	if v := plainView(m); !strings.Contains(v, "the cluster has deleted it") || !strings.Contains(v, "left off") {
		t.Errorf("its details are not there:\n%s", v)
	}
}
