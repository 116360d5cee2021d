package exec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/internal/text"
	"lightsout/power"
	"lightsout/power/internal/program"
	"lightsout/power/powertest"
)

func TestMain(m *testing.M) {
	os.Setenv(secretName, token)
	goleak.VerifyTestMain(m)
}

const (
	secretName = "LIGHTSOUT_TEST_TOKEN"
	token      = "hunter2-planted"
)

// controller is what the operator's commands call. Its folder is its world.
const controller = `#!/bin/sh
d=${0%/*}; action=$1
for a; do echo "$a" >> "$d/got"; done
echo "$LIGHTSOUT_NODE|$LIGHTSOUT_ADDRESS|$LIGHTSOUT_MACHINE" >> "$d/env"
[ -e "$d/stall" ] && sleep 1000
[ -e "$d/unreachable" ] && { echo "no route to the power strip" >&2; exit 1; }
[ -e "$d/refuse" ] && { printf '\033]0;x\007\033[31mtoken %s is refused\r\n' "$LIGHTSOUT_TEST_TOKEN" >&2; exit 1; }
case $action in
state) cat "$d/state"; exit 0 ;;
shutdown) action=off ;;
esac
echo "$action" > "$d/new.$$" && mv "$d/new.$$" "$d/state"
[ -e "$d/lose" ] && { echo "connection lost" >&2; exit 1; }
exit 0
`

func newWorld(t *testing.T, change func(*Options)) (*powertest.World, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "power strip") // a blank, which nothing may split
	testenv.Script(t, path, controller)
	opt := Options{
		State: []string{path, "state", "{{.Machine}}"}, On: []string{path, "on", "{{.Machine}}"},
		Off: []string{path, "off", "{{.Machine}}"}, Shutdown: []string{path, "shutdown", "{{.Machine}}"},
		ProvesOff: true, SecretEnv: []string{secretName},
	}
	if change != nil {
		change(&opt)
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
	words := map[power.State]string{power.On: "on", power.Off: "off", power.Transitioning: "transitioning", power.Unknown: "unknown"}
	w := &powertest.World{
		Driver: d,
		Can: power.Abilities{
			State: opt.State != nil, ProvesOff: opt.ProvesOff, On: opt.On != nil, Off: opt.Off != nil, Shutdown: opt.Shutdown != nil,
		},
		Machine: powertest.Lookup{Node: power.NodeRef{Name: "kube-node3", Addresses: []string{"10.0.0.13"}}, Hint: "outlet3"},
		Set:     func(s power.State) { put("state", words[s]+"\n") },
		Is: func() power.State {
			b, _ := os.ReadFile(filepath.Join(dir, "state"))
			for s, word := range words {
				if strings.TrimSpace(string(b)) == word {
					return s
				}
			}
			return power.Unknown
		},
		States:      []power.State{power.Transitioning, power.Unknown},
		Unreachable: func() { put("unreachable", "") },
		Gone:        func() { os.Remove(path) },
		Stall: func() func() {
			put("stall", "")
			return func() { os.Remove(filepath.Join(dir, "stall")) }
		},
		Lose:    func() { put("lose", "") },
		Refuse:  func() { put("refuse", "") },
		Secrets: []string{token},
	}
	w.Set(power.On)
	return w, dir
}

func TestContract(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"all commands":          nil,
		"off is presumed":       func(o *Options) { o.ProvesOff = false },
		"nothing but on":        func(o *Options) { *o = Options{On: o.On, SecretEnv: o.SecretEnv} },
		"no state, no shutdown": func(o *Options) { o.State, o.ProvesOff, o.Shutdown = nil, false, nil },
	} {
		t.Run(name, func(t *testing.T) {
			powertest.Run(t, func(t *testing.T) *powertest.World {
				w, _ := newWorld(t, change)
				return w
			})
		})
	}
}

func TestArgumentsStayWhole(t *testing.T) {
	w, dir := newWorld(t, func(o *Options) {
		o.On = append(o.On[:1:1], "on", "two words; $(exit 1) `exit` *", "{{.Node}} at {{.Address}}", "")
	})
	m, err := w.Driver.Find(t.Context(), w.Machine.Node, w.Machine.Hint)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Driver.Switch(t.Context(), power.ActionOn, m); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(filepath.Join(dir, "got"))
	if want := "on\ntwo words; $(exit 1) `exit` *\nkube-node3 at 10.0.0.13\n\n"; string(got) != want {
		t.Errorf("the command got %q, want %q", got, want)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	if string(env) != "kube-node3|10.0.0.13|outlet3\n" {
		t.Errorf("its environment: %q", env)
	}
}

func TestAHostileNameIsNotFilledIn(t *testing.T) {
	w, dir := newWorld(t, nil)
	for _, hint := range []string{"$(touch x)", "a b", "--help", "a\nb", "x;y"} {
		if m, err := w.Driver.Find(t.Context(), w.Machine.Node, hint); err == nil {
			t.Errorf("%q is found: %+v", hint, m)
		}
		var refused *power.RefusedError
		if err := w.Driver.Switch(t.Context(), power.ActionOn, power.Machine{ID: hint}); !errors.As(err, &refused) {
			t.Errorf("%q, from a journal: %v", hint, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "got")); err == nil {
		t.Errorf("a command was run: %q", got)
	}
}

func TestOptionsThatCantBeMeantAreRefused(t *testing.T) {
	on := []string{"true"}
	for name, opt := range map[string]Options{
		"nothing":               {},
		"state alone":           {State: on},
		"an empty command":      {On: []string{}},
		"an empty program":      {On: []string{" "}},
		"one text":              {On: []string{"virsh start vm1"}},
		"a program by template": {On: []string{"{{.Node}}"}},
		"an unknown name":       {On: []string{"x", "{{.Name}}"}},
		"proof without state":   {On: on, ProvesOff: true},
	} {
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "power.exec") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAMissingSecretIsReportedBeforeAnythingRuns(t *testing.T) {
	w, dir := newWorld(t, nil)
	t.Setenv(secretName, "")
	err := w.Driver.Switch(t.Context(), power.ActionOn, power.Machine{ID: "x", Params: map[string]string{"node": "x"}})
	if err == nil || !strings.Contains(err.Error(), secretName) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "got")); err == nil {
		t.Error("the command was run")
	}
}

func TestWordsAndStatusesAreStates(t *testing.T) {
	for _, c := range []struct {
		r     program.Result
		state power.State
	}{
		{program.Result{Stdout: "on\n"}, power.On},
		{program.Result{Stdout: "ON\n"}, power.On},
		{program.Result{Stdout: "OFF\n"}, power.Off},
		{program.Result{Stdout: "\ufeffon\r\n"}, power.On}, // as a shell of Windows writes it
		{program.Result{Stdout: " \ufeff off"}, power.Off},
		{program.Result{Stdout: "\ufeff"}, power.Unknown},
		{program.Result{Stdout: "ON.\n"}, power.Unknown},
		{program.Result{Stdout: "off.\n"}, power.Unknown},
		{program.Result{Stdout: "!off\n"}, power.Unknown},
		{program.Result{Stdout: "off:\n"}, power.Unknown},
		{program.Result{Stdout: "ON, since yesterday\n"}, power.Unknown},
		{program.Result{Stdout: "off (cached)"}, power.Unknown},
		{program.Result{Stdout: "off\n\nerror: no answer"}, power.Unknown},
		{program.Result{Stdout: "off"}, power.Off},
		{program.Result{Stdout: "Off\n", Status: 2}, power.Off},
		{program.Result{Stdout: "transitioning"}, power.Transitioning},
		{program.Result{}, power.Unknown},
		{program.Result{Status: 2}, power.Unknown},
		{program.Result{Stdout: "on off"}, power.Unknown},
		{program.Result{Stdout: "off\non"}, power.Unknown},
		{program.Result{Status: 1}, power.Unknown},
		{program.Result{Status: 2, Stderr: "sh: 1: Syntax error"}, power.Unknown},
		{program.Result{Stdout: "off", Status: 1}, power.Unknown},
		{program.Result{Stdout: "on", Status: 2}, power.Unknown},
		{program.Result{Stdout: "office hours"}, power.Unknown},
		{program.Result{Stdout: "unknown"}, power.Unknown},
		{program.Result{Stdout: "\x1b[31moff\x1b[0m"}, power.Unknown},
		{program.Result{Stdout: "PING 10.0.0.1"}, power.Unknown},
		{program.Result{Stdout: "off", Status: -1, Signal: "killed"}, power.Unknown},
	} {
		for _, proves := range []bool{true, false} {
			got := reading(c.r, proves)
			proven := c.state == power.On || c.state == power.Transitioning || c.state == power.Off && proves
			if got.State != c.state || (got.Proof == power.Proven) != proven || got.Detail == "" || got.Detail != text.Clean(got.Detail, 1<<16) {
				t.Errorf("%+v is %+v, want %s", c.r, got, c.state)
			}
		}
	}
}

// The question shows the address that a command gets, and the judgement uses it.
func TestTheAddressThatACommandGetsIsAParameter(t *testing.T) {
	for by, want := range map[string]string{"{{.Address}}": "10.0.0.3", "{{.Machine}}": ""} {
		d, err := New(Options{State: []string{"true", by}, On: []string{"true", by}, Off: []string{"true", by}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Find(t.Context(), power.NodeRef{Name: "n3", Addresses: []string{"10.0.0.3"}}, "")
		if err != nil || m.Params[power.ParamAddress] != want {
			t.Errorf("%s: %+v, %v", by, m, err)
		}
	}
}

// A command that can't be started has switched nothing: a machine that is off or unreadable then
// is not lightsout's work.
func TestACommandThatCannotBeStartedSwitchesNothing(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "off")
	testenv.Script(t, broken, "#!/no/such/shell\n")
	for _, state := range [][]string{{"echo", "on"}, {"false"}} {
		d, err := New(Options{State: state, Off: []string{broken}, ProvesOff: true})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if powertest.Claims(t, d, power.ActionOff, power.Machine{Driver: DriverName, ID: "n1", Name: "n1"}) {
			t.Errorf("the journal lists it, with %v", state)
		}
	}
}
