package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/power"
)

// lateMachines switches the machines of these nodes off and on again: a power API may still
// carry out the request to switch them off.
func (c *tunnelled) lateMachines(t *testing.T, nodes ...string) {
	t.Helper()
	r, err := newRestoration(c.options, c.path("st"), power.Cluster{Name: "site", UID: c.uid}, c.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var bindings []power.Binding
	for _, n := range nodes {
		c.set(t, n, "on\n")
		m := &power.Machine{Driver: "exec", ID: n, Name: n}
		bindings = append(bindings, power.Binding{Node: power.NodeRef{Name: n}, Off: m, On: m})
	}
	for _, a := range []power.Action{power.ActionOff, power.ActionOn} {
		if err := r.machines.fleet.Do(t.Context(), a, bindings, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// stateCommand has the driver ask for a machine's state with this shell script, whose $1 is
// the node and whose folder has the files of the machines.
func (c *tunnelled) stateCommand(t *testing.T, script string) {
	t.Helper()
	c.set(t, "state.sh", "cd "+c.path("")+"\n"+script+"\n")
	settings, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	c.set(t, "lightsout.yaml", strings.Replace(string(settings), "[cat, '"+c.path("{{.Machine}}")+"']", "[sh, "+c.path("state.sh")+", '{{.Machine}}']", 1))
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
	r, err := newRestoration(c.options, c.path("st"), power.Cluster{Name: "site", UID: c.uid}, c.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var nodes nodesReader
	for i := range 21 { // three rounds of a driver's turns
		nodes = append(nodes, fmt.Sprintf("n1%02d", i))
	}
	r.damaged, r.reader = []power.Entry{{Op: "damaged-1"}}, nodes
	most := showReadsWithin
	showReadsWithin = time.Second
	defer func() { showReadsWithin = most }()
	r.findForeign(t.Context())
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
// unless it has seen that the machine is on.
func TestRestoreNamesAMachineThatARefusedRequestMaySwitchOff(t *testing.T) {
	const mayGoOff = "n3 may be off or go off until"
	for name, c := range map[string]struct {
		state  string
		dryRun bool
		uid    string // to which the settings lead afterwards
		says   string // empty: the end without an error
	}{
		"going off":          {"transitioning", false, "uid-a", mayGoOff},
		"unreadable":         {"", false, "uid-a", mayGoOff},
		"going off, dry run": {"transitioning", true, "uid-a", mayGoOff},
		"on":                 {"on", false, "uid-a", ""},
		"of another cluster": {"on", false, "uid-b", "lightsout did not poll n3, which may be off by a request that the power API refused"},
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
		if err != nil && (!strings.Contains(err.Error(), c.says) || c.says == mayGoOff && !strings.Contains(err.Error(), "(403 Forbidden)")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A machine whose power API refused to switch it off may go off while restore asks, or powers on
// others: restore polls it again at its end.
func TestRestorePollsARefusedMachineAgainAtItsEnd(t *testing.T) {
	c := throughATunnel(t)
	c.uid = "uid-a"
	c.refuse(t, "n3")
	c.set(t, "n3", "on\n")
	r, err := newRestoration(c.options, c.path("st"), power.Cluster{Name: "site", UID: c.uid}, c.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.late = r.journal.LateAll()
	r.poll(t.Context(), false)
	r.findLate(false)
	if len(r.late) != 1 || !r.isOn(r.late[0]) {
		t.Fatalf("at first: %+v", r.late)
	}
	c.set(t, "n3", "off\n")
	lateAgain(t.Context(), []*restoration{r})
	if still := r.stillOff(false, nil); !slices.Equal(still, []string{"n3"}) {
		t.Errorf("at the end, still off: %v", still)
	}
}
