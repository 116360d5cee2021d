package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"lightsout/internal/testenv"
	"lightsout/power"
)

// lateMachines switches the machines of these nodes off and on again: a power API may still
// carry out the request to switch them off.
func (c *tunnelled) lateMachines(t *testing.T, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		c.set(t, n, "on\n")
	}
	for _, a := range []power.Action{power.ActionOff, power.ActionOn} {
		if err := c.do(t, c.uid, a, nodes...); err != nil {
			t.Fatal(err)
		}
	}
}

// stateCommand has the driver ask for a machine's state with this shell script, whose $1 is
// the node and whose folder has the files of the machines.
func (c *tunnelled) stateCommand(t *testing.T, script string) {
	t.Helper()
	c.set(t, "state.sh", "cd "+c.path("")+"\n"+script+"\n")
	c.edit(t, "[cat, '"+c.path("{{.Machine}}")+"']", "[sh, "+c.path("state.sh")+", '{{.Machine}}']")
}

// A power API carries out a request late, after the machine was on again: restore finds the machine
// although its operation was settled, also while others hang.
func TestRestoreFindsAMachineThatALateRequestSwitchedOff(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.lateMachines(t, "late")
	for i := range 21 { // three rounds of a driver's turns
		c.switchOff(t, fmt.Sprintf("dead%d", i), "uid-a")
	}
	c.set(t, "late", "off\n")
	c.dryRun = true
	if err := restore(t.Context(), c.options, nil, true); err == nil || c.state("late") != "off" || !strings.Contains(err.Error(), "the journal still lists as off: late, ") {
		t.Errorf("a dry run: late is %s: %v", c.state("late"), err)
	}
	c.dryRun = false
	c.stateCommand(t, `case $1 in dead*) until [ "$(cat late)" = on ] || [ "$(cat $1)" = on ]; do sleep 0.1; done;; esac; cat $1`)
	if err := restore(t.Context(), c.options, nil, true); err != nil || c.state("late") != "on" {
		t.Errorf("late is %s: %v", c.state("late"), err)
	}
}

// One cluster has machines of two config files: restore powers on those of its own, also a late one, and
// names the command for the other.
func TestRestoreFindsALateMachineBesideOneOfAnotherConfig(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.lateMachines(t, "n3")
	first := c.File
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	c.remove(t, "none")
	c.File = c.path("b.yaml")
	c.set(t, "b.yaml", string(text)+"ssh: {user: b}\n")
	c.switchOff(t, "n4", "uid-a")
	c.set(t, "n3", "off\n")
	c.File = first
	err = restore(t.Context(), c.options, nil, true)
	if err == nil || c.state("n3") != "on" || c.state("n4") != "off" || !strings.Contains(err.Error(), "n4 of cluster ") || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("n3 is %s, n4 is %s: %v", c.state("n3"), c.state("n4"), err)
	}
}

// Many machines were powered on a while ago, and their power API does not answer any more:
// restore powers on another one while they still do not answer.
func TestLateMachinesThatDoNotAnswerDelayNoOther(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	var late []string
	for i := range 21 { // three rounds of a driver's turns
		late = append(late, fmt.Sprintf("late%d", i))
	}
	c.lateMachines(t, late...)
	c.switchOff(t, "n3", "uid-a")
	c.set(t, "asked", "")
	// Each machine that is polled before n3 is on leaves a line, and answers only then.
	c.stateCommand(t, `case $1 in late*) [ "$(cat n3)" = on ] || echo $1 >> asked; until [ "$(cat n3)" = on ]; do sleep 0.1; done;; esac; cat $1`)
	most := showReadsWithin
	showReadsWithin = time.Second
	defer func() { showReadsWithin = most }()
	if err := restore(t.Context(), c.options, nil, true); err != nil || c.state("n3") != "on" {
		t.Errorf("n3 is %s: %v", c.state("n3"), err)
	}
	if asked := strings.Fields(c.state("asked")); len(asked) == 0 || len(asked) == len(late) {
		t.Errorf("lightsout polled %d of %d machines that do not answer before it powered on the other one", len(asked), len(late))
	}
}

// A machine that was on again goes off while its power API does not answer in time: restore
// finds it after it has powered on the others.
func TestRestorePollsLateMachinesOnceMoreAtItsEnd(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.lateMachines(t, "late")
	c.switchOff(t, "n3", "uid-a")
	c.set(t, "late", "off\n")
	c.stateCommand(t, `if [ $1 = late ] && [ "$(cat n3)" = off ]; then exit 1; fi; cat $1`)
	err := restore(t.Context(), c.options, nil, true)
	if err == nil || !strings.Contains(err.Error(), "the journal still lists as off: late") || c.state("n3") != "on" {
		t.Errorf("n3 is %s: %v", c.state("n3"), err)
	}
	if left := c.listed(t); !slices.Equal(left, []string{"late"}) {
		t.Errorf("the journal lists %v", left)
	}
	if err := restore(t.Context(), c.options, nil, true); err != nil || c.state("late") != "on" {
		t.Errorf("afterwards the machine is %s: %v", c.state("late"), err)
	}
}

// nodesReader is a view of a cluster with these nodes.
type nodesReader []string

func (n nodesReader) State(context.Context) (power.ClusterState, error) {
	state := power.ClusterState{At: time.Now()}
	for _, name := range n {
		state.Nodes = append(state.Nodes, power.Node{NodeRef: power.NodeRef{Name: name}})
	}
	return state, nil
}

func (n nodesReader) FreshState(ctx context.Context) (power.ClusterState, error) { return n.State(ctx) }

// A line of the journal is damaged, and many machines do not answer: lightsout does not poll
// all of them before the question.
func TestMachinesThatDoNotAnswerDelayNoQuestionAboutADamagedJournal(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.stateCommand(t, `echo $1 >> asked; until [ "$(cat n3)" = on ]; do sleep 0.1; done; echo on`)
	r := c.restorer(t, c.uid)
	defer r.close()
	var nodes nodesReader
	for i := range 21 { // three rounds of a driver's turns
		nodes = append(nodes, fmt.Sprintf("n1%02d", i))
	}
	r.reader = nodes
	most := showReadsWithin
	showReadsWithin = time.Second
	defer func() { showReadsWithin = most }()
	r.findUnnamed(t.Context(), &look{})
	if asked := strings.Fields(c.state("asked")); len(asked) == 0 || len(asked) == len(nodes) {
		t.Errorf("lightsout polled %d of %d machines that do not answer", len(asked), len(nodes))
	}
	c.set(t, "n3", "on\n") // ends the commands
}

// The notice of a wait has what lightsout does, and how long at most.
func TestAStepThatTakesLongIsReported(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stderr := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = stderr }()
	ctx, end := within(t.Context(), time.Minute, "polling 2 machines")
	line := make([]byte, 100)
	n, err := r.Read(line)
	end()
	if string(line[:n]) != "polling 2 machines, 1m0s at most\n" || err != nil || ctx.Err() == nil {
		t.Errorf("%q, %v", line[:n], err)
	}
}

// refusing is a driver of machines that are on and whose power API refuses each request.
type refusing struct{ power.Driver }

func (refusing) State(context.Context, power.Machine) (power.Reading, error) {
	return power.Reading{State: power.On, Proof: power.Proven, Detail: "on"}, nil
}

func (refusing) Switch(ctx context.Context, _ power.Action, _ power.Machine) error {
	if err := power.BeforeSend(ctx); err != nil {
		return err
	}
	return &power.RefusedError{Why: "403 Forbidden"}
}

func (refusing) Name() string { return "exec" }

func (refusing) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Off: true}
}

// refuse has a power API refuse to switch a node's machine off, which is on.
func (c *tunnelled) refuse(t *testing.T, node string) {
	t.Helper()
	j := power.OpenJournal(c.path("st"), power.Cluster{Name: "site", UID: c.uid}, c.File)
	defer j.Close()
	f, err := power.NewFleet(power.Config{Off: "exec", On: "exec", PollInterval: time.Millisecond}, j, refusing{})
	if err != nil {
		t.Fatal(err)
	}
	m := &power.Machine{Driver: "exec", ID: node, Name: node}
	if err := f.Do(t.Context(), power.ActionOff, []power.Binding{{Node: power.NodeRef{Name: node}, Off: m, On: m}}, nil, nil); err == nil {
		t.Error("the power API did not refuse")
	}
}

// A power API that refused to switch a machine off may still do it: restore ends with an error
// unless it has seen that the machine is on, also at its end.
func TestRestoreNamesAMachineThatARefusedRequestMaySwitchOff(t *testing.T) {
	const mayGoOff = "dry run"
	for name, c := range map[string]struct {
		state  string
		dryRun bool
		uid    string // to which the settings lead afterwards
		says   string // empty: the end without an error
	}{
		"going off":          {"transitioning", false, "uid-a", ""},
		"going off, dry run": {"transitioning", true, "uid-a", mayGoOff},
		"on":                 {"on", false, "uid-a", ""},
		"of another cluster": {"on", false, "uid-b", "n3 of cluster site: off"},
	} {
		w := throughATunnel(t)
		w.uid, w.dryRun = "uid-a", c.dryRun
		w.refuse(t, "n3")
		w.uid = c.uid
		w.set(t, "n3", c.state+"\n")
		text, err := w.printed(t)
		if c.state == "on" && c.uid == "uid-a" && !strings.Contains(text, "n3 is on; its power API refused the request of ") {
			t.Errorf("%s: it does not say that n3 may go off:\n%s", name, text)
		}
		if (err == nil) != (c.says == "") || (err == nil) != strings.Contains(text, "nothing is off") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if err != nil && (!strings.Contains(err.Error(), c.says) || c.dryRun && !strings.Contains(text, "refused the request (403 Forbidden")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	w := throughATunnel(t)
	w.uid = "uid-a"
	w.refuse(t, "n3")
	w.set(t, "n3", "on\n")
	r := w.restorer(t, "uid-a")
	defer r.close()
	first := r.firstLook(t.Context(), nodesWait)
	w.set(t, "n3", "off\n")
	if items := planRestore(r.lastLook(t.Context()).facts); len(planRestore(first.facts)) > 0 || len(items) != 1 || items[0].do != doPowerOn {
		t.Errorf("at first %+v, at the end %+v", planRestore(first.facts), items)
	}
}

// The operator says yes to the machines of this journal, and ends the input at the question about
// somebody else's machine: the yes still counts.
func TestAnEndOfInputAfterTheYesLeavesNothingOut(t *testing.T) {
	const ctrlD = "\x04"
	onATerminal(t, "y\n", ctrlD)
	items := []item{{"a1", doPowerOn, "", false}, {"a2", doPowerOn, "it was switched off by tanaka@jump-7", true}, {"b2", doUncordon, "", false}}
	chosen, leaveOff, agreed, err := confirm(t.Context(), items, false, false)
	if err == nil || !agreed || len(leaveOff) > 0 || !slices.Equal(chosen, []item{items[0], items[2]}) {
		t.Errorf("%+v, %v, %v: %v", chosen, leaveOff, agreed, err)
	}
}

// restore powers on a machine that another operator has switched off only by its name, or if the
// operator answers.
func TestRestorePowersOnOthersMachinesOnlyByName(t *testing.T) {
	c := throughATunnel(t)
	c.uid, c.annotated = "uid-a", theirs
	c.set(t, "n7", "off\n")
	for _, row := range []struct {
		named []string
		yes   bool
		says  string
	}{
		{nil, true, "others have switched off n7"},
		{[]string{"n4"}, true, "lightsout power on n4"},
		{[]string{"n7"}, false, "no terminal to confirm on"},
	} {
		if err := restore(t.Context(), c.options, row.named, row.yes); err == nil || !strings.Contains(err.Error(), row.says) || c.state("n7") != "off" {
			t.Errorf("%v: n7 is %s: %v", row.named, c.state("n7"), err)
		}
	}
	c.annotated = power.Note{By: "anna@other-host", At: time.Now().Add(time.Minute)}.Text() // after this journal
	c.switchOff(t, "n7", "uid-a")
	if err := restore(t.Context(), c.options, nil, true); err == nil || c.state("n7") != "off" || !strings.Contains(err.Error(), "others have switched off n7") {
		t.Errorf("switched off since by another: n7 is %s: %v", c.state("n7"), err)
	}
}

// onATerminal gives the test a terminal on which an operator types these answers, one to each
// question.
func onATerminal(t *testing.T, answers ...string) {
	t.Helper()
	operator := openTerminal(t)
	go func() {
		var shown []byte
		for b := make([]byte, 1); ; {
			if _, err := operator.Read(b); err != nil {
				return
			}
			if shown = append(shown, b...); bytes.HasSuffix(shown, []byte("? [y/N] ")) && len(answers) > 0 {
				_, _ = operator.WriteString(answers[0])
				answers = answers[1:]
			}
		}
	}()
}

// openTerminal gives the test a terminal, and returns the operator's end of it.
func openTerminal(t *testing.T) (operator *os.File) {
	t.Helper()
	operator, terminal, err := pty.Open()
	if err != nil {
		testenv.Skip(t, "there is no pseudo-terminal: "+err.Error())
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = terminal, terminal
	t.Cleanup(func() {
		os.Stdin, os.Stdout = in, out
		_ = terminal.Close()
		_ = operator.Close()
	})
	return operator
}
