package power

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// What the driver lacks for powering on is known before the machine goes off, however well its state
// can be read.
func TestWhatPoweringOnLacksIsKnownBefore(t *testing.T) {
	d := newFake("mdx", allAbilities, "n1")
	d.machines["n1"].notReady = errors.New("its password is gone")
	f, _ := testFleet(t, Config{}, d)
	targets, bound := bind("ssh", "mdx", "n1"), map[string]Bound{}
	(&Switcher{Fleet: f}).tryOut(t.Context(), ActionOff, targets, bound)
	in := guardInput{Action: ActionOff, Targets: []string{"n1"}, Bound: map[string]Bound{"n1": {Binding: targets[0], Unproven: bound["n1"].Unproven}}}
	for _, found := range judge(in) {
		if found.Rule == RuleNoWayBack && found.Effect == Override && strings.Contains(found.Text, "its password is gone") {
			return
		}
	}
	t.Errorf("%+v", judge(in))
}

// The journal tells which machine was switched off; driver and settings are those of now.
func TestPoweringOnFollowsTheConfigurationOfNow(t *testing.T) {
	level := func(l string) map[string]string { return map[string]string{ParamServiceLevel: l} }
	for name, c := range map[string]struct {
		off, was, now string // drivers
		want          Machine
	}{
		"a setting":             {"mdx", "mdx", "mdx", Machine{Driver: "mdx", ID: "n1"}},
		"another driver":        {"ssh", "wol", "mdx", Machine{Driver: "mdx", ID: "n1"}},
		"not of what went off":  {"mdx", "mdx", "wol", Machine{Driver: "mdx", ID: "n1"}},
		"a driver without it":   {"ssh", "mdx", "wol", Machine{Driver: "mdx", ID: "n1"}},
		"a driver that is gone": {"ssh", "gone", "mdx", Machine{Driver: "mdx", ID: "n1"}},
	} {
		mdx := newFake("mdx", allAbilities, "n1")
		mdx.machines["n1"].Params = level("guarantee")
		f, _ := testFleet(t, Config{On: c.now}, mdx, newFake("wol", Abilities{On: true}), newFake("ssh", Abilities{Shutdown: true, State: true}, "n1"))
		b := bind(c.off, c.was, "n1")[0]
		b.On.Params = level("best")
		got := f.wayBack(context.Background(), b).On
		if !sameMachine(got, &c.want) || got.Params[ParamServiceLevel] != "guarantee" {
			t.Errorf("%s: powered on by %+v", name, got)
		}
		if b.On.Params[ParamServiceLevel] != "best" {
			t.Errorf("%s: the journal's copy was changed", name)
		}
	}
}
