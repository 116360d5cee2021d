package ipmi

import (
	"errors"
	"testing"
	"time"

	"lightsout/power"
	"lightsout/power/powertest"
)

// TestAControllerThatOthersWrote speaks to OpenIPMI's simulator.
func TestAControllerThatOthersWrote(t *testing.T) {
	sim := startSimulator(t)
	open := func(pass string) (*Driver, power.Machine) {
		d, err := New(Options{Address: sim.address, User: user, Password: powertest.Secret(pass)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Find(t.Context(), power.NodeRef{Name: "kube-node3"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return d, m
	}
	d, m := open(password)
	await := func(want power.State) {
		t.Helper()
		var r power.Reading
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if r, err = d.State(t.Context(), m); err == nil && r.State == want && r.Proof == power.Proven && sim.state() == want {
				return
			}
		}
		t.Fatalf("the state is %+v, %v, and in truth %s; want %s", r, err, sim.state(), want)
	}
	await(power.On)
	for _, step := range []struct {
		do   power.Action
		want power.State
	}{{power.ActionOff, power.Off}, {power.ActionOff, power.Off}, {power.ActionOn, power.On}, {power.ActionShutdown, power.Off}, {power.ActionOn, power.On}} {
		if err := d.Switch(t.Context(), step.do, m); err != nil {
			t.Fatal(err)
		}
		await(step.want)
	}
	wrong, m := open("wrong")
	var refused *power.RefusedError
	if err := wrong.Switch(t.Context(), power.ActionOff, m); !errors.As(err, &refused) || sim.state() != power.On {
		t.Errorf("with a wrong password: %v, the machine is %s", err, sim.state())
	}
}
