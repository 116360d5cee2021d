package fence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/power"
	"lightsout/power/internal/program"
	"lightsout/power/powertest"
)

var _ power.Preflighter = (*Driver)(nil)

func TestMain(m *testing.M) {
	testenv.SideBySide(6) // they mostly wait
	goleak.VerifyTestMain(m)
}

const password = "hunter2-planted"

// agentScript speaks as fence agents do. Its folder is its world: state.PLUG
// holds a machine's state, and files named for faults bring them about.
const agentScript = `#!/bin/sh
d=${0%/*}; action= plug= password=
[ $# = 0 ] || exit 9 # others see arguments
while IFS= read -r line; do
	case $line in
	action=*) action=${line#action=} ;;
	plug=*) plug=${line#plug=} ;;
	password=*) password=${line#password=} ;;
	esac
	case $line in password=*) ;; *) echo "$line" >> "$d/got" ;; esac
done
[ -e "$d/stall" ] && sleep 1000
[ -e "$d/unreachable" ] && { echo "Unable to connect/login to fencing device" >&2; exit 1; }
[ -e "$d/refuse" ] && { printf '\033]0;x\007\033[31mlogin with "%s" failed\r\n' "$password" >&2; exit 1; }
[ "$password" = hunter2-planted ] || { echo "Failed: You have to set login password" >&2; exit 1; }
case $action in
metadata|monitor) exit 0 ;;
esac
[ -e "$d/state.$plug" ] || { echo "Failed: Unable to obtain correct plug status or plug is not available" >&2; exit 1; }
case $action in
status)
	seen=$(cat "$d/state.$plug")
	[ -e "$d/slow" ] && touch "$d/looked" && while [ ! -e "$d/go" ]; do sleep 0.01; done
	case $seen in
	on) echo "Status: ON"; exit 0 ;;
	off) echo "Status: OFF"; exit 2 ;;
	esac
	exit 1 ;;
on|off)
	echo "$action" > "$d/new.$$" && mv "$d/new.$$" "$d/state.$plug"
	[ -e "$d/lose" ] && { echo "Connection timed out" >&2; exit 1; }
	echo "Success: Powered $action"; exit 0 ;;
esac
exit 1
`

type world struct {
	*powertest.World
	dir string
}

func newWorld(t *testing.T, opt Options) world {
	t.Helper()
	dir := t.TempDir()
	opt.Agent = filepath.Join(dir, "fence_test")
	testenv.Script(t, opt.Agent, agentScript)
	if opt.Secrets == nil {
		opt.Secrets = map[string]power.Source{"password": powertest.Secret(password)}
	}
	d, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	w := world{dir: dir, World: &powertest.World{
		Driver:  d,
		Can:     power.Abilities{State: true, ProvesOff: true, On: true, Off: true},
		Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3"}, Hint: "vm-a"},
		None:    &powertest.Lookup{Node: power.NodeRef{Name: "kube-node9"}},
		Set:     func(s power.State) { put("state.vm-a", s.String()) },
		Is: func() power.State {
			b, _ := os.ReadFile(filepath.Join(dir, "state.vm-a"))
			switch strings.TrimSpace(string(b)) {
			case "on":
				return power.On
			case "off":
				return power.Off
			}
			return power.Unknown
		},
		States:      []power.State{power.Unknown},
		Unreachable: func() { put("unreachable", "") },
		Gone:        func() { os.Remove(opt.Agent) },
		Stall: func() func() {
			put("stall", "")
			return func() { os.Remove(filepath.Join(dir, "stall")) }
		},
		Lose:    func() { put("lose", "") },
		Refuse:  func() { put("refuse", "") },
		Secrets: []string{password},
	}}
	w.Set(power.On)
	return w
}

func (w world) got() string {
	b, _ := os.ReadFile(filepath.Join(w.dir, "got"))
	return string(b)
}

func TestContract(t *testing.T) {
	// Not side by side with real agents, which pass secrets on in arguments.
	powertest.Run(t, func(t *testing.T) *powertest.World { return newWorld(t, Options{}).World })
}

func TestParametersAreFilledInForEachNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{
		Params: map[string]string{"ip": "{{.Node}}-bmc", "lanplus": "1"},
		Nodes: map[string]Node{
			"own":  {Params: map[string]string{"ip": "10.9.9.9", "ipport": "6230"}},
			"plug": {Plug: "Web Server 1"},
		},
	})
	node := func(name string) power.NodeRef { return power.NodeRef{Name: name, Addresses: []string{"10.0.0.1"}} }
	for _, c := range []struct {
		node, hint string
		id, how    string
		params     map[string]string
	}{
		{"n1", "", "n1-bmc", "", map[string]string{"fence.ip": "n1-bmc", "fence.lanplus": "1"}},
		{"n1", "vm7", "n1-bmc", "", map[string]string{"fence.ip": "n1-bmc", "fence.lanplus": "1"}},
		{"own", "", "10.9.9.9:6230", power.HowConfig, map[string]string{"fence.ip": "10.9.9.9", "fence.ipport": "6230", "fence.lanplus": "1"}},
		{"plug", "", "Web Server 1@plug-bmc", power.HowConfig, map[string]string{"fence.ip": "plug-bmc", "fence.lanplus": "1", "fence.plug": "Web Server 1"}},
	} {
		m, err := w.Driver.Find(t.Context(), node(c.node), c.hint)
		if err != nil {
			t.Errorf("%s: %v", c.node, err)
			continue
		}
		if m.ID != c.id || m.How != c.how || fmt.Sprint(m.Params) != fmt.Sprint(c.params) {
			t.Errorf("%s: found %+v, want %+v", c.node, m, c)
		}
	}
	if got := w.got(); got != "" {
		t.Errorf("the agent was asked: %q", got)
	}
}

func TestAHintIsThePlugWhereNothingElseTellsMachinesApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Params: map[string]string{"ip": "10.0.0.1"}})
	m, err := w.Driver.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "vm-a")
	if err != nil || m.ID != "vm-a@10.0.0.1" {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := w.Driver.State(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := w.got(); got != "action=status\nip=10.0.0.1\nplug=vm-a\n" {
		t.Errorf("the agent got %q", got)
	}
}

// A machine that the journal has kept gets the parameters of now, and stays the same machine.
func TestPoweringOnTakesTheParametersOfNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Params: map[string]string{"ip": "10.0.0.2", "ssl": "1", "plug": "{{.Machine}}", "username": "ops"}})
	kept := power.Machine{Driver: DriverName, ID: "vm-a@10.0.0.1",
		Params: map[string]string{"fence.ip": "10.0.0.1", "fence.plug": "vm-a", "fence.ssl": "0", "fence.old": "1"}}
	m, err := w.Driver.Ready("n1", kept)
	want := map[string]string{"fence.ip": "10.0.0.1", "fence.plug": "vm-a", "fence.ssl": "1", "fence.username": "ops"}
	if err != nil || m.ID != kept.ID || fmt.Sprint(m.Params) != fmt.Sprint(want) || kept.Params["fence.ssl"] != "0" {
		t.Errorf("%+v, %v; want %v", m, err, want)
	}
	gone, err := New(Options{Agent: "/nowhere/fence_x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone.Close)
	if _, err := gone.Ready("n1", kept); err == nil || !strings.Contains(err.Error(), "power.fence.agent") {
		t.Errorf("without the agent: %v", err)
	}
}

func TestALineBreakNeverReachesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	bad := "vm-a\naction=off"
	if m, err := w.Driver.Find(t.Context(), power.NodeRef{Name: "n"}, bad); err == nil {
		t.Errorf("found %+v", m)
	}
	forged := power.Machine{Driver: DriverName, ID: "x", Params: map[string]string{"fence.plug": bad}}
	var refused *power.RefusedError
	if err := w.Driver.Switch(t.Context(), power.ActionOn, forged); !errors.As(err, &refused) {
		t.Errorf("a forged journal: %v", err)
	}
	forged.Params = map[string]string{"fence.action": "off"}
	if err := w.Driver.Switch(t.Context(), power.ActionOn, forged); !errors.As(err, &refused) {
		t.Errorf("a forged action: %v", err)
	}
	two := newWorld(t, Options{Secrets: map[string]power.Source{"password": powertest.Secret("a\naction=off")}})
	if err := two.Driver.Switch(t.Context(), power.ActionOn, power.Machine{ID: "x"}); !errors.As(err, &refused) || two.got() != "" {
		t.Errorf("a secret of two lines: %v", err)
	}
}

func TestOptionsThatCantBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Options{
		"no agent":              {},
		"a password in params":  {Agent: "a", Params: map[string]string{"password": "x"}},
		"a secret given twice":  {Agent: "a", Params: map[string]string{"key": "x"}, Secrets: map[string]power.Source{"key": powertest.Secret("x")}},
		"the action":            {Agent: "a", Params: map[string]string{"action": "off"}},
		"several lines":         {Agent: "a", Params: map[string]string{"ip": "1\naction=off"}},
		"an odd name":           {Agent: "a", Params: map[string]string{"a=b": "x"}},
		"no template":           {Agent: "a", Params: map[string]string{"ip": "{{.Nod}}"}},
		"a node's no template":  {Agent: "a", Nodes: map[string]Node{"n": {Params: map[string]string{"ip": "{{"}}}},
		"the action as secret":  {Agent: "a", Secrets: map[string]power.Source{"action": powertest.Secret("off")}},
		"a node's own password": {Agent: "a", Nodes: map[string]Node{"n": {Params: map[string]string{"passwd": "x"}}}},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestExitStatusesAreStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r     program.Result
		state power.State
		proof power.Proof
	}{
		{program.Result{Status: 0, Stdout: "Status: ON\n"}, power.On, power.Proven},
		{program.Result{Status: 2, Stdout: "Status: OFF\n"}, power.Off, power.Proven},
		{program.Result{Status: 2}, power.Off, power.Presumed},
		{program.Result{Status: 2, Stderr: "python3: can't open file 'fence_x'"}, power.Unknown, power.ProofNone},
		{program.Result{Status: 2, Stderr: "sh: syntax error", Stdout: "officer"}, power.Unknown, power.ProofNone},
		{program.Result{Status: 1, Stdout: "Status: OFF\n"}, power.Unknown, power.ProofNone},
		{program.Result{Status: 127, Stderr: "not found"}, power.Unknown, power.ProofNone},
		{program.Result{Status: -1, Signal: "killed"}, power.Unknown, power.ProofNone},
		{program.Result{Status: 0, Signal: "killed"}, power.Unknown, power.ProofNone},
	} {
		if got := reading(c.r); got.State != c.state || got.Proof != c.proof || got.Detail == "" {
			t.Errorf("%+v is %+v", c.r, got)
		}
	}
}

// TestAnAnswerFromBeforeIsNotGivenAfterASwitch has an agent take long to say
// what it saw before the machine was switched.
func TestAnAnswerFromBeforeIsNotGivenAfterASwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	m, err := w.Driver.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "vm-a")
	if err != nil {
		t.Fatal(err)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("slow")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		if r, err := w.Driver.State(ctx, m); err == nil {
			t.Errorf("it did not wait: %+v", r)
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, "looked")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the agent was not asked")
		}
	}
	leave()
	<-left
	os.Remove(filepath.Join(w.dir, "slow"))
	if err := w.Driver.Switch(t.Context(), power.ActionOff, m); err != nil {
		t.Fatal(err)
	}
	touch("go")
	if r, err := w.Driver.State(t.Context(), m); err != nil || r.State != power.Off {
		t.Errorf("after it was switched off, it is %+v, %v", r, err)
	}
}

func TestPreflightReportsAnUnreachableDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	m, err := w.Driver.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "vm-a")
	if err != nil {
		t.Fatal(err)
	}
	d := w.Driver.(*Driver)
	if err := d.Preflight(t.Context(), power.ActionOff, m); err != nil {
		t.Error(err)
	}
	w.Unreachable()
	if err := d.Preflight(t.Context(), power.ActionOff, m); err == nil || !strings.Contains(err.Error(), "Unable to connect") {
		t.Error(err)
	}
}
