package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/power"
)

func TestTheSumAndTheWarningsComeFirstAndThenTheMachines(t *testing.T) {
	old := mdxSnapshot()
	c := old.Contents()
	names := append([]string(nil), workers...)
	for i := range 6 {
		n := *c.Nodes[4]
		n.Name, n.Addresses = fmt.Sprintf("spare%d", i), []string{fmt.Sprintf("10.0.1.%d", i)}
		c.Nodes, names = append(c.Nodes, &n), append(names, n.Name)
	}
	s := cluster.NewSnapshot(c)
	s.Link, s.Access = old.Link, old.Access
	b := newBoard(names...)
	x := run(t, t.TempDir(), b, b, &still{s: s, changed: make(chan struct{})}, session.Options{}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: names[3:]})
	q := x.question(view.QuestionSwitch)
	text := questionText(q)
	if strings.Count(text, "off: board") != 8 || !strings.Contains(q.Lines[0].Text, "workers left") {
		t.Errorf("the sum does not come first, or not all machines are named:\n%s", text)
	}
	const warning, machine, other = 1, 2, 3
	last := warning
	for _, l := range q.Lines {
		now := other
		switch {
		case l.Level >= view.Warning:
			now = warning
		case l.Subject, l.Text == "Machines:":
			now = machine
		}
		if now < last {
			t.Errorf("%q comes too late:\n%s", l.Text, text)
		}
		last = now
	}
}

// Powering on does no harm: its question begins with yes, unless it warns of something.
func TestPoweringOnBeginsWithYes(t *testing.T) {
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: fullWorld(), changed: make(chan struct{})}, session.Options{DryRun: true}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	for a, want := range map[power.Action]string{power.ActionOn: view.ChoiceYes, power.ActionOff: "", power.ActionShutdown: ""} {
		q, err := x.Preview(t.Context(), view.AskPower{Action: a, Nodes: workers[3:]}, power.Assumption{})
		if err != nil || q.Default != want || q.Choices[0].ID != view.ChoiceNo {
			t.Errorf("%s: begins with %q, %v; %v", a, q.Default, q.Choices, err)
		}
	}
}

// On a small screen the reason for a typed confirmation must not stand below the fold.
func TestTheReasonForATypedConfirmationComesFirst(t *testing.T) {
	old := mdxSnapshot()
	c := old.Contents()
	for i, n := range c.Nodes {
		plain := *n
		plain.ControlPlane = false
		c.Nodes[i] = &plain
	}
	s := cluster.NewSnapshot(c)
	s.Link, s.Access = old.Link, old.Access
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: s, changed: make(chan struct{})}, session.Options{}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: workers[3:4]})
	q := x.question(view.QuestionSwitch)
	if q.Type == "" || !strings.Contains(q.Lines[0].Text, "No node of this cluster is marked as control plane") {
		t.Errorf("the question, confirmed by typing %q:\n%s", q.Type, questionText(q))
	}
}

func TestTheQuestionSaysThatTheOutageIsRecorded(t *testing.T) {
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{RecordsOutages: true}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: workers[3:]})
	if text := questionText(x.question(view.QuestionSwitch)); !strings.Contains(text, "records this outage by itself") || strings.Contains(text, "in flight now") {
		t.Errorf("the question:\n%s", text)
	}
}

// unshuttable is a board that cannot shut machines down.
type unshuttable struct{ *board }

func (unshuttable) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Off: true}
}

func TestARefusedShutdownNamesItself(t *testing.T) {
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, unshuttable{b}, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	x.Send(view.AskPower{Action: power.ActionShutdown, Nodes: workers[3:4]})
	if text := questionText(x.question(view.QuestionSwitch)); !strings.Contains(text, "kube-node3  cannot shut down: the driver board can't shut down machines") {
		t.Errorf("the question:\n%s", text)
	}
}

// The question of a later step of a plan counts the nodes as off that earlier steps switch off.
func TestAPreviewCountsTheNodesThatEarlierStepsSwitchOff(t *testing.T) {
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: fullWorld(), changed: make(chan struct{})}, session.Options{DryRun: true}, nil)
	x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
	ask := view.AskPower{Action: power.ActionOff, Nodes: workers[2:3]}
	for _, tt := range []struct {
		assumed power.Assumption
		want    []string
		refused bool
	}{
		{power.Assumption{}, []string{"3 Ready workers left", "all 4 replacements fit on the nodes left"}, false},
		{power.Assumption{Off: workers[3:4]}, []string{"2 Ready workers left", "4 pods get no node", workers[3] + " counts as down already: its pods need a place as well"}, false},
		{power.Assumption{Off: []string{"kube-node1", "kube-node3", "kube-node4"}}, []string{"This would leave no Ready worker that takes pods", "is off by an earlier step"}, true},
		{power.Assumption{Cordoned: []string{"kube-node1", "kube-node3"}}, []string{"1 Ready worker left", "2 pods get no node"}, false},
		{power.Assumption{Cordoned: workers[2:3], Drained: workers[2:3]}, []string{"0 pods stop", "all 4 replacements fit"}, false},
		{power.Assumption{Cordoned: workers[3:4], Drained: workers[3:4]}, []string{"2 Ready workers left", "4 pods get no node"}, false},
		{power.Assumption{Off: workers[3:4], Cordoned: []string{"kube-node1", "kube-node4"}}, []string{"This would leave no Ready worker that takes pods", "kube-node1 takes no pods", "kube-node4 takes no pods"}, true},
	} {
		q, err := x.Preview(t.Context(), ask, tt.assumed)
		if err != nil || q.Refused != tt.refused {
			t.Errorf("with %+v: refused %v, %v", tt.assumed, q.Refused, err)
		}
		text := questionText(&q)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("with %+v it lacks %q:\n%s", tt.assumed, want, text)
			}
		}
	}
}

// fullWorld is the cluster of the mdx article with room for two more pods on each worker.
func fullWorld() *cluster.Snapshot {
	old := mdxSnapshot()
	c := old.Contents()
	for i, p := range c.Pods {
		smaller := *p
		smaller.CPUMilli = 20_000 // each node has room for 2 more
		c.Pods[i] = &smaller
	}
	for i, n := range c.Nodes {
		if n.ControlPlane {
			tainted := *n
			tainted.Taints = []cluster.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}
			c.Nodes[i] = &tainted
		}
	}
	s := cluster.NewSnapshot(c)
	s.Link, s.Access = old.Link, old.Access
	return s
}

// While lightsout prepares a question, the screen shows that, and no other question opens; the operator may cancel it.
func TestAQuestionThatIsBeingPreparedShowsAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	prepared := make(chan struct{})
	self := func(ctx context.Context) power.Self {
		select {
		case <-prepared:
		case <-ctx.Done():
		}
		return power.Self{}
	}
	x := startEmpty(t, session.Options{Self: self})
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	q := x.question(view.QuestionWait)
	if len(q.Choices) != 1 || !strings.Contains(q.Title, "kube-node3") {
		t.Errorf("%+v", q)
	}
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	x.frame("the end of the request", func(f *view.Frame) bool { return f.Question == nil && len(f.Switching) == 0 })
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node3"}})
	x.question(view.QuestionWait)
	for _, i := range []view.Intent{view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node4"}}, view.AskTrial{}, view.NextStep{}} {
		x.Send(i)
	}
	close(prepared)
	q = x.question(view.QuestionSwitch)
	x.Send(view.Answer{Question: q.ID, Choice: view.ChoiceYes})
	f := x.frame("kube-node3 off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff })
	if f.Question != nil || f.Power["kube-node4"].LeftOff {
		t.Errorf("another question: %+v", f.Question)
	}
}

// A machine that is on needs no power-on, although its node is down: the question says what helps.
func TestPoweringOnAMachineThatIsOnChangesNothing(t *testing.T) {
	t.Parallel()
	c := mdxSnapshot().Contents()
	c.Nodes[3].Ready = cluster.TriUnknown
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: cluster.NewSnapshot(c), changed: make(chan struct{})}, session.Options{SSH: func(m power.Machine) string { return "ssh " + m.ID }}, nil)
	x.frame("the machine on, and what helps", func(f *view.Frame) bool {
		return strings.HasPrefix(f.Power["kube-node3"].SSH, "ssh ") && f.Power["kube-node3"].Reading.Proves(power.On) && slices.Contains(f.Next, "kube-node3 is on, but NotReady (:shell; or S, then o)")
	})
	x.Send(view.AskPower{Action: power.ActionOn, Nodes: []string{"kube-node3"}})
	if q := x.question(view.QuestionSwitch); !strings.Contains(questionText(q), "kube-node3's machine is on already") || q.Default != "" {
		t.Errorf("%+v", q)
	}
}
