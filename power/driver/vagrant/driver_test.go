package vagrant

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lightsout/internal/testenv"
	"lightsout/power"
	"lightsout/power/powertest"
)

var _ power.BulkDriver = (*Driver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script speaks as the vagrant command does. Its folder is its world.
const script = `#!/bin/sh
d=${0%/*}
echo "$*" >> "$d/got"
say() { printf '1795245894,%s\n' "$1"; }
fail() {
	say ",ui,error,$2"
	say ",error-exit,Vagrant::Errors::$1,$2"
	exit 1
}
[ -e "$d/stall" ] && sleep 1000
[ -e "$d/refuse" ] && { printf '\033[2J' ; fail ProviderNotUsable "$(printf 'The provider\\n\033[31mis not usable%%!(VAGRANT_COMMA) \342\200\256really')"; }
echo "some plugin: a warning, with commas, on standard output"
[ -e "$d/stall.$2" ] && sleep 1000
case $1 in
status)
	for m in k8s1 k8s2 k8s3; do
		say "$m,metadata,provider,virtualbox"
		say "$m,provider-name,virtualbox"
		say "$m,state,$(cat "$d/state.$m")"
		say "$m,state-human-long,it is%!(VAGRANT_COMMA) well\\nthere"
	done
	exit 0 ;;
up) to=running; m=$2 ;;
halt) to=poweroff; m=$2; [ "$2" = -f ] && m=$3 ;;
esac
[ -e "$d/locked" ] && fail MachineActionLockedError "An action up was attempted on the machine $m%!(VAGRANT_COMMA)\\nbut another process is already executing an action on the machine."
mkdir "$d/busy" || { touch "$d/two at once"; exit 1; }
echo "$to" > "$d/new" && mv "$d/new" "$d/state.$m"
rmdir "$d/busy"
[ -e "$d/lose" ] && fail VMBootTimeout "Timed out while waiting for the machine to boot."
say "$m,action,$1,end"
`

func newWorld(t *testing.T) (*powertest.World, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "vagrant")
	testenv.Script(t, path, script)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("state.k8s1", "running")
	put("state.k8s3", "not_created")
	d, err := New(Options{Dir: dir, Command: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	words := map[power.State]string{power.On: "running", power.Off: "poweroff", power.Transitioning: "stopping", power.Unknown: "saved"}
	w := &powertest.World{
		Driver:  d,
		Can:     power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true},
		Machine: powertest.Lookup{Node: power.NodeRef{Name: "k8s2", Addresses: []string{"192.168.56.12"}}},
		None:    &powertest.Lookup{Node: power.NodeRef{Name: "k8s2"}, Hint: "k8s9"},
		Set:     func(s power.State) { put("state.k8s2", words[s]) },
		Is: func() power.State {
			b, _ := os.ReadFile(filepath.Join(dir, "state.k8s2"))
			return reading(strings.TrimSpace(string(b))).State
		},
		States: []power.State{power.Transitioning, power.Unknown},
		Gone:   func() { os.Remove(path) },
		Stall: func() func() {
			put("stall", "")
			return func() { os.Remove(filepath.Join(dir, "stall")) }
		},
		Lose:   func() { put("lose", "") },
		Refuse: func() { put("refuse", "") },
	}
	w.Set(power.On)
	return w, dir
}

func machine(name string) power.Machine {
	return power.Machine{Driver: DriverName, ID: name, Name: name}
}

func TestContract(t *testing.T) {
	powertest.Run(t, func(t *testing.T) *powertest.World {
		w, _ := newWorld(t)
		return w
	})
}

func TestOneMachineIsSwitchedAtATime(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t)
	var wg sync.WaitGroup
	for range 3 {
		for name, do := range map[string]func() error{
			"k8s1": func() error { return w.Driver.Switch(t.Context(), power.ActionOff, machine("k8s1")) },
			"k8s2": func() error { return w.Driver.Switch(t.Context(), power.ActionShutdown, machine("k8s2")) },
		} {
			wg.Go(func() {
				if err := do(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	wg.Wait()
	if _, err := os.Stat(filepath.Join(dir, "two at once")); err == nil {
		t.Error("vagrant was run for two machines at once")
	}
	got, _ := os.ReadFile(filepath.Join(dir, "got"))
	for _, want := range []string{"halt -f k8s1 --machine-readable\n", "halt k8s2 --machine-readable\n"} {
		if strings.Count(string(got), want) != 1 {
			t.Errorf("%q was run %d times; it got\n%s", want, strings.Count(string(got), want), got)
		}
	}
}

// An "up" that hangs keeps no other machine off.
func TestAnUpThatHangsKeepsNoOtherMachineOff(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t)
	w.Driver.(*Driver).upKept = 100 * time.Millisecond
	for _, name := range []string{"state.k8s1", "state.k8s2", "stall.k8s1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("poweroff"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Driver.Switch(ctx, power.ActionOn, machine("k8s1")) })
	for got := ""; !strings.Contains(got, "up k8s1"); time.Sleep(time.Millisecond) {
		b, _ := os.ReadFile(filepath.Join(dir, "got"))
		got = string(b)
	}
	if err := w.Driver.Switch(t.Context(), power.ActionOn, machine("k8s2")); err != nil || w.Is() != power.On {
		t.Errorf("k8s2 is %s: %v", w.Is(), err)
	}
	cancel()
	wg.Wait()
}

func TestALockedMachineCanBeAskedAgainAndAMissingOneIsNotCreated(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t)
	var refused *power.RefusedError
	var unconfirmed *power.UnconfirmedError
	if err := w.Driver.Switch(t.Context(), power.ActionOn, machine("k8s3")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "not_created") {
		t.Errorf("a machine that was not created: %v", err)
	}
	for _, name := range []string{"-f", "/k8s/", "", "k8s 1", "a;b"} {
		if err := w.Driver.Switch(t.Context(), power.ActionOff, machine(name)); !errors.As(err, &refused) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "locked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := w.Driver.Switch(t.Context(), power.ActionOff, machine("k8s2"))
	if err == nil || errors.As(err, &refused) || errors.As(err, &unconfirmed) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a locked machine: %v", err)
	}
}

func TestManyMachinesTakeOneStatus(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t)
	got, err := w.Driver.(*Driver).States(t.Context(), []power.Machine{machine("k8s2"), machine("gone"), machine("k8s3")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []power.State{power.On, power.Unknown, power.Unknown} {
		if got[i].State != want || got[i].Detail == "" {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
	if asked, _ := os.ReadFile(filepath.Join(dir, "got")); string(asked) != "status --machine-readable\n" {
		t.Errorf("vagrant was asked %q", asked)
	}
}

func TestStatesOfProviders(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]power.State{
		"running": power.On, "poweroff": power.Off, "shutoff": power.Off, "aborted": power.Off, "stopping": power.Transitioning,
		"saved": power.Unknown, "paused": power.Unknown, "suspended": power.Unknown, "not_created": power.Unknown,
		"inaccessible": power.Unknown, "gurumeditation": power.Unknown, "": power.Unknown,
		"shutting-down": power.Transitioning, "shutting_down": power.Transitioning, "pmsuspended": power.Unknown, "crashed": power.Unknown, // libvirt
		"not_running": power.Off, "stopped": power.Off, "frozen": power.Unknown, // VMware, Parallels and Docker, LXC
		"started": power.On, "pausing": power.Transitioning, // UTM
		"off": power.Off, "runningcritical": power.On, "fastsaved": power.Unknown, // Hyper-V
		"powered_off": power.Off, "powered_on": power.On, "RUNNING": power.On, "host_state_unknown": power.Unknown, "aborted-saved": power.Unknown,
	} {
		if got := reading(word); got.State != want || got.Detail == "" || (want == power.Unknown) != (got.Proof == power.ProofNone) || !strings.Contains(got.Detail, word) {
			t.Errorf("%q is %+v", word, got)
		}
	}
}

// Another vagrant switches the machine off: lightsout does not take it for its own work.
func TestAMachineThatAnotherVagrantWorksOnIsNotOurs(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t)
	if err := os.WriteFile(filepath.Join(dir, "locked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if powertest.Claims(t, w.Driver, power.ActionOff, machine("k8s2")) {
		t.Error("the journal lists it")
	}
}
