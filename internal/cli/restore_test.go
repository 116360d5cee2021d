package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"lightsout/internal/restore"
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
	for few := range slices.Chunk(nodes, 3) { // the checks of each switch have a second
		for _, a := range []power.Action{power.ActionOff, power.ActionOn} {
			if err := c.do(t, c.uid, a, few...); err != nil {
				t.Fatal(err)
			}
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

// One cluster has machines of two config files: restore powers on those of its own, also one that a late
// request switched off after its operation was settled, and names the command for the other.
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
	c.File, c.dryRun = first, true
	if err := runRestore(t.Context(), c.options, nil, true); err == nil || c.state("n3") != "off" || !strings.Contains(err.Error(), "off by the journal: n3; ") {
		t.Errorf("a dry run: n3 is %s: %v", c.state("n3"), err)
	}
	c.dryRun = false
	err = runRestore(t.Context(), c.options, nil, true)
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
	c.stateCommand(t, `case $1 in late*) until [ "$(cat n3)" = on ]; do sleep 0.1; done;; esac; cat $1`)
	most := pollWithin
	pollWithin = time.Second
	defer func() { pollWithin = most }()
	if err := runRestore(t.Context(), c.options, nil, true); err != nil || c.state("n3") != "on" {
		t.Errorf("n3 is %s: %v", c.state("n3"), err)
	}
}

// restore says of each node that it leaves as it is why.
func TestRestoreSaysWhyItLeavesANode(t *testing.T) {
	c := throughATunnel(t)
	c.uid, c.annotated = "uid-a", theirs
	for _, n := range []string{"n2", "n3"} {
		c.switchOff(t, n, "uid-a")
	}
	c.switchOff(t, "n4", "uid-b")
	for _, row := range []struct {
		named []string
		says  []string
	}{
		{[]string{"n2"}, []string{"  n3  off (", "; left as it is: this call names other nodes\n", "n4 of cluster site: off; left as it is: another call restores it\n"}},
		{nil, []string{"n7: it was asked to go off by anna@other-host", "; left as it is: this call does not name it, and nobody answers a question about it\n"}},
	} {
		text, _ := c.printed(t, row.named...)
		for _, want := range row.says {
			if !strings.Contains(text, want) {
				t.Errorf("restore %v does not say %q:\n%s", row.named, want, text)
			}
		}
	}
	if c.state("n2")+c.state("n3")+c.state("n4") != "ononoff" {
		t.Errorf("n2 is %s, n3 is %s, n4 is %s", c.state("n2"), c.state("n3"), c.state("n4"))
	}
}

// restore polls the machines that count as on first, and those that were seen off last.
func TestRestorePollsMachinesThatMayBeOnFirst(t *testing.T) {
	c := throughATunnel(t)
	r := c.restorer(t, "uid-a")
	defer r.close()
	var all []power.LeftOff
	for _, stands := range []power.Standing{power.StandsOff, power.MayBeOff, power.StandsOn} {
		all = append(all, power.LeftOff{Entry: power.Entry{Node: stands.String(), Cluster: r.journal.Cluster(), Config: c.File}, Stands: stands})
	}
	if ours := r.ours(all); len(ours) != 3 || ours[0].Node != "on" || ours[1].Node != "uncertain" {
		t.Errorf("%v", ours)
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
	err := runRestore(t.Context(), c.options, nil, true)
	if err == nil || !strings.Contains(err.Error(), "off by the journal: late; ") || c.state("n3") != "on" {
		t.Errorf("n3 is %s: %v", c.state("n3"), err)
	}
	if left := c.listed(t); !slices.Equal(left, []string{"late"}) {
		t.Errorf("the journal lists %v", left)
	}
	if err := runRestore(t.Context(), c.options, nil, true); err != nil || c.state("late") != "on" {
		t.Errorf("afterwards the machine is %s: %v", c.state("late"), err)
	}
}

// The operator says yes to the machines of this journal, and ends the input at the question about
// somebody else's machine: the yes still counts.
func TestAnEndOfInputAfterTheYesLeavesNothingOut(t *testing.T) {
	const ctrlD = "\x04"
	onATerminal(t, "y\n", ctrlD)
	theirs := power.NodeNote{Node: "a2", Note: power.Note{By: "tanaka@jump-7", At: time.Now()}}
	items := planRestore(restoreFacts{off: []offMachine{{LeftOff: power.LeftOff{Entry: power.Entry{Node: "a1"}}}}, notes: []power.NodeNote{theirs}, cordoned: []string{"b2"}}, restore.Caller{Answers: true})
	chosen, leaveOff, err := newConsole(false, "").askFor(t.Context(), items)
	if err == nil || errors.Is(err, errNotDone) || !slices.Equal(leaveOff, []string{"a2"}) || !slices.Equal(chosen, []restoreItem{items[0], items[2]}) {
		t.Errorf("%+v, %v: %v", chosen, leaveOff, err)
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
		{nil, true, "others have asked n7 to go off"},
		{[]string{"n4"}, true, "lightsout power on n4"},
		{[]string{"n7"}, false, "no terminal to confirm on"},
	} {
		if err := runRestore(t.Context(), c.options, row.named, row.yes); err == nil || !strings.Contains(err.Error(), row.says) || c.state("n7") != "off" {
			t.Errorf("%v: n7 is %s: %v", row.named, c.state("n7"), err)
		}
	}
	if err := runRestore(t.Context(), c.options, []string{"n7"}, true); err != nil || c.state("n7") != "on" {
		t.Errorf("by its name: n7 is %s: %v", c.state("n7"), err)
	}
	c.annotated = power.Note{By: "anna@other-host", At: time.Now().Add(time.Minute)}.Text() // after this journal
	c.switchOff(t, "n7", "uid-a")
	if err := runRestore(t.Context(), c.options, nil, true); err == nil || c.state("n7") != "off" || !strings.Contains(err.Error(), "others have asked n7 to go off") {
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
