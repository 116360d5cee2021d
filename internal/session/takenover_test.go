package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/session"
	"lightsout/internal/testenv"
	"lightsout/internal/view"
	"lightsout/power"
)

// tanakas is the snapshot in which another operator has switched kube-node3 off since this
// journal did.
func tanakas() *cluster.Snapshot {
	s := mdxSnapshot()
	note := power.Note{By: "tanaka@jump-7", ID: "x", At: time.Now().Add(time.Second), Back: "lightsout restore --state /theirs, by tanaka@jump-7"}
	n := s.Node("kube-node3")
	n.Annotations = map[string]string{power.AnnotationSwitchedOff: note.Text()}
	n.Ready = cluster.TriFalse
	return s
}

// leave switches nodes off in a session, and ends it with the machines off.
func leave(t *testing.T, dir string, b *board, nodes ...string) {
	x := startSession(t, dir, b, session.Options{})
	x.press(power.ActionOff, "yes", nodes...)
	x.frame("they are off", func(f *view.Frame) bool {
		return !slices.ContainsFunc(nodes, func(n string) bool { return !f.Power[n].LeftOff || f.Power[n].Busy != "" })
	})
	x.Send(view.AskQuit{})
	x.answer("quit", "leave")
	x.waitEnd()
}

// This journal switched two machines off. Meanwhile another operator has powered one of
// them on, and switched it off again.
func TestTheScreenLeavesWhatAnotherJournalHasSwitchedOffSince(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	leave(t, dir, b, "kube-node3", "kube-node4")
	y := run(t, dir, b, b, &still{s: tanakas(), changed: make(chan struct{})}, session.Options{}, nil)
	f := y.frame("the question with the other operator", func(f *view.Frame) bool {
		return f.Question != nil && f.Question.Kind == "restore" && strings.Contains(questionText(f.Question), "tanaka@jump-7") && strings.Contains(questionText(f.Question), "kube-node4: still off")
	})
	if text := questionText(f.Question); !strings.Contains(text, "kube-node4") || strings.Index(text, "kube-node4") > strings.Index(text, "lightsout leaves these") || strings.Index(text, "kube-node3") < strings.Index(text, "lightsout leaves these") {
		t.Errorf("%s", text)
	}
	y.Send(view.Answer{Question: f.Question.ID, Choice: "yes"})
	y.frame("kube-node4 is on", func(f *view.Frame) bool { return !f.Power["kube-node4"].LeftOff && f.Power["kube-node4"].Busy == "" })
	y.Send(view.AskQuit{}) // nothing of ours is off
	y.waitEnd()
	if b.is("kube-node3", power.On) || !b.is("kube-node4", power.On) || slices.ContainsFunc(b.calls(), func(c string) bool { return strings.Contains(c, "on kube-node3") }) {
		t.Errorf("%v", b.calls())
	}
}

// If nothing of ours is off, lightsout names the machine and asks nothing. The question before another
// switch names it, too.
func TestTheScreenOffersNothingThatOthersHaveSwitchedOffSince(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	leave(t, dir, b, "kube-node3")
	y := run(t, dir, b, b, &still{s: tanakas(), changed: make(chan struct{})}, session.Options{}, nil)
	y.frame("who switched it off", func(f *view.Frame) bool {
		return f.Question == nil && strings.Contains(f.Notice.Text, "kube-node3 was asked to go off since by tanaka@jump-7")
	})
	y.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node4"}})
	if text := questionText(y.question("switch")); !strings.Contains(text, "kube-node3 was asked to go off since by tanaka@jump-7 at ") {
		t.Errorf("%s", text)
	}
	y.answer("switch", "no")
	y.Send(view.AskQuit{})
	y.waitEnd()
	if b.is("kube-node3", power.On) {
		t.Errorf("%v", b.calls())
	}
}

// The question before a switch names nobody whose annotation is out of date: that node has been Ready for long since.
func TestTheQuestionNamesNoOutageOfOthersThatIsOver(t *testing.T) {
	t.Parallel()
	s := mdxSnapshot()
	for node, before := range map[string]time.Duration{"kube-node2": 0, "kube-node3": 24 * time.Hour} {
		n := s.Node(node)
		n.Renewed = n.RenewSeen
		note := power.Note{By: "tanaka@jump-7", ID: node, At: time.Now().Add(-before), Back: "lightsout restore, by tanaka@jump-7"}
		if before == 0 {
			note.At = n.Renewed
		}
		n.Annotations = map[string]string{power.AnnotationSwitchedOff: note.Text()}
	}
	b := newBoard(workers...)
	x := run(t, t.TempDir(), b, b, &still{s: s, changed: make(chan struct{})}, session.Options{}, nil)
	x.Send(view.AskPower{Action: power.ActionOff, Nodes: []string{"kube-node4"}})
	text := questionText(x.question("switch"))
	if !strings.Contains(text, "kube-node2 was asked to go off by tanaka@jump-7") || strings.Contains(text, "kube-node3 was asked to go off by") {
		t.Errorf("%s", text)
	}
	x.answer("switch", "no")
	x.Send(view.AskQuit{})
	x.waitEnd()
}

// A screen that opens in an outage dates it by its sources. If it may not restore, it asks nothing.
func TestTheScreenDatesAnOutageThatBeganBefore(t *testing.T) {
	t.Parallel()
	dir, b, opened := t.TempDir(), newBoard(workers...), time.Now()
	leave(t, dir, b, "kube-node3")
	left := time.Now()
	s := tanakas()
	n := s.Node("kube-node3")
	n.ReadySince, n.Renewed, n.RenewSeen = opened.Add(-time.Minute), opened.Add(-2*time.Minute), opened.Add(-2*time.Minute)
	y := run(t, dir, b, b, &still{s: s, changed: make(chan struct{})}, session.Options{ReadOnly: true}, nil)
	f := y.frame("the machine off", func(f *view.Frame) bool {
		return slices.ContainsFunc(f.Outages, func(o outage.Span) bool { return o.Kind == outage.SpanOff })
	})
	i := slices.IndexFunc(f.Events, func(e view.Event) bool { return strings.Contains(e.Reported, "before this screen opened") })
	if i < 0 || f.Question != nil {
		t.Fatalf("%v, %+v", f.Question, f.Events)
	}
	for _, want := range []string{"kube-node3 was down before this screen opened: silent since ", ", not Ready since ", ". By the journal it is listed as off after a request of ", "by tanaka@jump-7"} {
		if !strings.Contains(f.Events[i].Reported, want) {
			t.Errorf("%s lacks %q", f.Events[i].Reported, want)
		}
	}
	for _, o := range f.Outages {
		if o.Kind == outage.SpanOff && (o.From.Before(opened) || o.From.After(left)) {
			t.Errorf("off since %s", o.From)
		}
	}
	y.Send(view.AskQuit{})
	y.waitEnd()
}

// One message names all nodes that the screen finds down.
func TestTheScreenNamesAllNodesThatItFindsDown(t *testing.T) {
	t.Parallel()
	b, s := newBoard(workers...), mdxSnapshot()
	for _, node := range []string{"kube-node3", "kube-node4"} {
		s.Node(node).Ready, s.Node(node).ReadySince = cluster.TriFalse, time.Now().Add(-time.Minute)
	}
	x := run(t, t.TempDir(), b, b, &still{s: s, changed: make(chan struct{})}, session.Options{}, nil)
	x.frame("both", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "kube-node3 was down before") && strings.Contains(f.Notice.Text, ". kube-node4 was down before")
	})
	x.Send(view.AskQuit{})
	x.waitEnd()
}

// Another program with the same journal may see a machine on first: the screen does not list it as off, and
// the question about leaving, which nobody has answered, goes without an end.
func TestTheScreenReadsWhatAnotherProgramHasSettled(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	x := startSession(t, dir, b, session.Options{})
	x.press(power.ActionOff, "yes", "kube-node3")
	x.frame("it is off", func(f *view.Frame) bool { return f.Power["kube-node3"].LeftOff && f.Power["kube-node3"].Busy == "" })
	x.Send(view.AskQuit{})
	x.question("quit")
	b.mu.Lock() // no poll is answered meanwhile
	other := power.OpenJournal(dir, power.Cluster{Name: "mdx"}, "")
	defer other.Close()
	on := power.Machine{Driver: "board", ID: "switch-kube-node3", Name: "kube-node3"}
	if changed, err := other.Saw(power.Seen{Node: power.NodeRef{Name: "kube-node3"}, Machine: &on, State: power.On, Proof: power.Proven, RequestedAt: time.Now()}); err != nil || !changed {
		t.Errorf("changed %v, %v", changed, err)
	}
	b.state["kube-node3"] = power.On
	b.mu.Unlock()
	x.frame("it is on", func(f *view.Frame) bool {
		return !f.Power["kube-node3"].LeftOff && f.Question == nil && strings.HasSuffix(f.Notice.Text, "q leaves")
	})
	x.Send(view.AskQuit{})
	x.waitEnd()
}

// unanswered is a board whose readings wait until the channel is closed.
type unanswered struct {
	*board
	until chan struct{}
}

func (u unanswered) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	select {
	case <-u.until:
	case <-ctx.Done():
		return power.Reading{}, ctx.Err()
	}
	return u.board.State(ctx, m)
}

// Before a machine is polled, the question at the start says what the journal says.
func TestTheNextStartCallsNoMachineOffBeforeItIsPolled(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	leave(t, dir, b, "kube-node3")
	u := unanswered{b, make(chan struct{})}
	y := run(t, dir, b, u, &still{s: mdxSnapshot(), changed: make(chan struct{})}, session.Options{}, nil)
	q := y.question("restore")
	if text := questionText(q); strings.Contains(q.Title+text, "still off") || !strings.Contains(text, "kube-node3: listed as off after a request of ") || !strings.Contains(text, "not polled yet") {
		t.Errorf("%s\n%s", q.Title, text)
	}
	close(u.until)
	y.frame("it is polled", func(f *view.Frame) bool {
		return f.Question != nil && strings.Contains(questionText(f.Question), "kube-node3: still off")
	})
	y.stop()
	silent := mdxSnapshot().Contents()
	silent.Link.State = cluster.LinkDisconnected
	z := run(t, dir, b, b, &still{s: cluster.NewSnapshot(silent), changed: make(chan struct{})}, session.Options{}, nil)
	z.frame("the API server is silent", func(f *view.Frame) bool {
		return f.Question != nil && strings.Contains(questionText(f.Question), "kube-node3: last seen off")
	})
	z.stop()
	y.waitEnd()
}

// offIn switches nodes off in a session.
func offIn(x *bench, nodes ...string) {
	x.t.Helper()
	x.press(power.ActionOff, "yes", nodes...)
	x.off(nodes...)
}

// leaveBesidePowerOn answers "Power on, then leave" while an earlier request powers kube-node3
// on, and waits until the power-on of kube-node4 is under way.
func leaveBesidePowerOn(t *testing.T) (x *bench, release func(node string)) {
	b := newBoard(workers...)
	nodes, on := []string{"kube-node3", "kube-node4"}, map[string]func(){}
	b.slowOn = map[string]chan struct{}{}
	x = startSession(t, t.TempDir(), b, session.Options{})
	for _, n := range nodes {
		slow := make(chan struct{})
		b.slowOn[n], on[n] = slow, sync.OnceFunc(func() { close(slow) })
		t.Cleanup(on[n])
	}
	offIn(x, nodes...)
	sending := func(n string) {
		t.Helper()
		x.frame(n+" is being powered on", func(f *view.Frame) bool { return f.Power[n].Stage == power.StageSending })
	}
	x.press(power.ActionOn, "yes", "kube-node3")
	sending("kube-node3")
	x.Send(view.AskQuit{})
	x.answer("quit", "on")
	sending("kube-node4")
	return x, func(node string) { on[node]() }
}

// The end of an earlier power-on does not cancel "Power on, then leave".
func TestLeavingOutlastsAnEarlierPowerOn(t *testing.T) {
	t.Parallel()
	x, release := leaveBesidePowerOn(t)
	release("kube-node3")
	x.frame("the earlier request has ended, and lightsout waits for kube-node4", func(f *view.Frame) bool {
		return !f.Power["kube-node3"].LeftOff && len(f.Switching) == 1 && slices.Contains(f.LeavesAfter, "kube-node4")
	})
	release("kube-node4")
	x.waitEnd()
}

// When "Power on, then leave" has failed for a machine, the screen says that lightsout stays,
// and why.
func TestLightsoutSaysThatItDoesNotLeave(t *testing.T) {
	t.Parallel()
	x, release := leaveBesidePowerOn(t)
	x.board.forget("kube-node4")
	release("kube-node4")
	release("kube-node3")
	x.frame("the reason", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "lightsout does not leave: kube-node4 is still off; ") && strings.Contains(f.Notice.Text, "out of service") && len(f.LeavesAfter) == 0
	})
	x.Send(view.AskQuit{})
	x.answer("quit", "leave")
	x.waitEnd()
}

// A request that still powers on one machine does not keep lightsout from powering on another one of it
// that has gone off again.
func TestLeavingPowersOnAMachineThatAnEarlierRequestHasPoweredOnBefore(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	slow := make(chan struct{})
	release := sync.OnceFunc(func() { close(slow) })
	b.slowOn = map[string]chan struct{}{"kube-node3": slow}
	t.Cleanup(release)
	x := startSession(t, t.TempDir(), b, session.Options{})
	offIn(x, "kube-node3", "kube-node4")
	x.press(power.ActionOn, "yes", "kube-node3", "kube-node4")
	x.frame("kube-node4 is on, kube-node3 is being powered on", func(f *view.Frame) bool {
		return f.Power["kube-node3"].Stage == power.StageSending && !f.Power["kube-node4"].LeftOff
	})
	offIn(x, "kube-node4")
	x.Send(view.AskQuit{})
	x.answer("quit", "on")
	x.frame("kube-node4 is on again", func(f *view.Frame) bool { return !f.Power["kube-node4"].LeftOff })
	release()
	x.waitEnd()
}

// Another screen that shares the journal may switch machines off while lightsout powers on those that it has
// named in order to leave.
func TestLeavingPowersOnNoMachineThatItsQuestionDidNotName(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	slow := make(chan struct{})
	release := sync.OnceFunc(func() { close(slow) })
	b.slowOn = map[string]chan struct{}{"kube-node3": slow}
	t.Cleanup(release)
	x := startSession(t, dir, b, session.Options{})
	y := startSession(t, dir, b, session.Options{})
	offIn(x, "kube-node3")
	x.Send(view.AskQuit{})
	x.answer("quit", "on")
	x.frame("kube-node3 is being powered on", func(f *view.Frame) bool { return f.Power["kube-node3"].Stage == power.StageSending })
	offIn(y, "kube-node4")
	release()
	x.frame("why it stays", func(f *view.Frame) bool {
		return strings.Contains(f.Notice.Text, "lightsout does not leave: kube-node4 is still off")
	})
	if slices.Contains(b.calls(), "on kube-node4") {
		t.Errorf("%v", b.calls())
	}
	for _, s := range []*bench{x, y} {
		s.Send(view.AskQuit{})
		s.answer("quit", "leave")
		s.waitEnd()
	}
}

// The timeline says who else switches a machine off by plan; of the operator's own it has the request.
func TestTheTimelineSaysWhoElseSwitchesAMachineOff(t *testing.T) {
	t.Parallel()
	b := newBoard(workers...)
	w := &still{s: mdxSnapshot(), changed: make(chan struct{}, 1)}
	x := run(t, t.TempDir(), b, b, w, session.Options{}, nil)
	x.press(power.ActionOff, "yes", "kube-node3")
	x.off("kube-node3")
	for _, down := range []cluster.Tri{cluster.TriTrue, cluster.TriFalse} {
		s := mdxSnapshot()
		for _, name := range []string{"kube-node3", "kube-node4"} {
			n := s.Node(name)
			n.Annotations = map[string]string{power.AnnotationSwitchedOff: power.Note{By: "tanaka@jump-7", ID: name, At: time.Now()}.Text()}
			n.Ready = down
		}
		w.show(s)
		x.frame("the nodes of the snapshot", func(f *view.Frame) bool { return f.Snapshot == s })
	}
	f := x.frame("who switched kube-node4 off", func(f *view.Frame) bool { return hasCode(f, view.CodePlannedOff, "kube-node4") })
	if hasCode(f, view.CodePlannedOff, "kube-node3") {
		t.Errorf("%+v", f.Events)
	}
	x.stop()
	x.waitEnd()
}

// Another program with this journal, which runs, has asked kube-node3 to go off: each question names it, and powers
// nothing on by default.
func TestTheScreenNamesTheOtherProgramThatRuns(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), newBoard(workers...)
	leave(t, dir, b, "kube-node3")
	j := power.OpenJournal(dir, power.Cluster{Name: "mdx"}, "")
	if err := j.Cordoned("kube-node2", power.ActionShutdown, "by the other program"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	path := filepath.Join(dir, power.JournalName)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(written)) {
		line = line[:strings.LastIndex(line, `,"sum":`)]
		line = strings.Replace(line, fmt.Sprintf(`"pid":%d`, os.Getpid()), fmt.Sprintf(`"pid":%d`, os.Getppid()), 1)
		lines.WriteString(testenv.JournalLine([]byte(line + "}")))
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	y := startSession(t, dir, b, session.Options{})
	want := fmt.Sprintf(" by pid %d, another lightsout, which is running: powering on ends its trial, if it runs one", os.Getppid())
	named := func(q *view.Question) {
		t.Helper()
		if text := questionText(q); !strings.Contains(text, "kube-node3") || !strings.Contains(text, want) || q.Default == view.ChoiceYes {
			t.Errorf("by default %q of:\n%s", q.Default, text)
		}
		y.Send(view.Answer{Question: q.ID, Choice: view.ChoiceNo})
	}
	q := y.leftOff()
	if text := questionText(q); !strings.Contains(text, fmt.Sprintf(" by pid %d, another lightsout, which is running: it may be draining the node)", os.Getppid())) {
		t.Errorf("who cordoned kube-node2:\n%s", text)
	}
	named(q)
	for action, node := range map[power.Action]string{power.ActionOn: "kube-node3", power.ActionShutdown: "kube-node4"} {
		y.Send(view.AskPower{Action: action, Nodes: []string{node}})
		named(y.question(view.QuestionSwitch))
	}
	y.Send(view.AskQuit{})
	y.answer(view.QuestionQuit, "leave")
	y.waitEnd()
}
