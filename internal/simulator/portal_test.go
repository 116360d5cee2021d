package simulator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lightsout/power"
)

// portal is a process's driver for the power API: it proves states and has every
// ability. Its readings may be older than the answer.
type portal struct{ p *process }

func (portal) Name() string { return "portal" }

func (portal) Abilities() power.Abilities {
	return power.Abilities{State: true, ProvesOff: true, On: true, Shutdown: true, Off: true}
}

func (d portal) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }

func (d portal) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	v := d.p.w.vm(n.Name)
	if v == nil {
		return power.Machine{}, power.ErrNoMachine
	}
	return power.Machine{Driver: "portal", ID: "vm-" + v.name, Name: v.name, Address: v.address, How: power.HowAddress}, nil
}

var errPortal = errors.New("the portal does not answer")

// ask waits for an answer of the portal, which describes the state at sampled.
func (d portal) ask(ctx context.Context, what string, slow time.Duration) (sampled time.Time, err error) {
	w := d.p.w
	r := w.dice("portal " + d.p.name + what)
	first, then := between(r, time.Millisecond, slow/4), between(r, time.Millisecond, slow)
	if err := d.p.wait(ctx, first); err != nil {
		return sampled, err
	}
	sampled = time.Now()
	w.mu.Lock()
	w.settle()
	down := w.portalDown
	w.mu.Unlock()
	if down {
		return sampled, errPortal
	}
	return sampled, d.p.wait(ctx, then)
}

func (w *world) slowness() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.portalSlow
}

func (d portal) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	sampled, err := d.ask(ctx, "state "+m.Name, d.p.w.slowness()/2)
	if err != nil {
		return power.Reading{}, err
	}
	return d.p.w.told(m.Name, sampled), nil
}

// States returns the list: the portal makes it at once, and sends it page by page.
func (d portal) States(ctx context.Context, machines []power.Machine) ([]power.Reading, error) {
	sampled, err := d.ask(ctx, "list", d.p.w.slowness())
	if err != nil {
		return nil, err
	}
	var out []power.Reading
	for _, m := range machines {
		out = append(out, d.p.w.told(m.Name, sampled))
	}
	return out, nil
}

// told returns the portal's reading of a machine as of sampled.
func (w *world) told(name string, sampled time.Time) power.Reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := power.Reported(power.Off, "PowerOFF")
	if w.vm(name).at(sampled).on {
		r = power.Reported(power.On, "PowerON")
	}
	if w.saysWhen {
		r.RequestedAt = sampled
	}
	return r
}

// Switch takes the time of the credentials and of the network. The request may arrive
// even if the caller gets an error.
func (d portal) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	w := d.p.w
	r := w.dice("portal " + d.p.name + string(a) + m.Name)
	before := between(r, time.Millisecond, 200*time.Millisecond)
	if chance(r, 10) {
		before = between(r, 5*time.Second, 7*time.Second) // credentials
	}
	d.p.aboutToSend(m.Name)
	if err := d.p.wait(ctx, before); err != nil {
		return err
	}
	if err := power.BeforeSend(ctx); err != nil {
		return err
	}
	w.sent(d.p, a, m.Name)
	unheard, way := chance(r, 8), 500*time.Millisecond
	if chance(r, 10) {
		way = 20 * time.Second
	}
	err := d.p.wait(ctx, between(r, time.Millisecond, way))
	if failed := w.arrives(d.p, a, m.Name, true); err == nil && failed != nil {
		return failed
	}
	if err == nil {
		err = d.p.wait(ctx, between(r, time.Millisecond, 300*time.Millisecond))
	}
	if unheard || err != nil {
		return &power.UnconfirmedError{Why: "the portal hung up before it answered"}
	}
	return nil
}

// arrives carries out a request.
func (w *world) arrives(p *process, a power.Action, name string, byPortal bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	v := w.vm(name)
	if w.portalDown && byPortal {
		switch { // it had no effect
		case v.ours != p.name:
		case v.now().on && len(v.due) == 0:
			v.ours = ""
		case len(v.due) > 0 && !v.due[len(v.due)-1].reboot:
			v.ours = v.due[len(v.due)-1].by // another program's request switches it off
		}
		return errPortal
	}
	switch {
	case a == power.ActionOn:
		if !v.now().on {
			w.tellLocked("portal", "%s is powered on for %s", name, p.name)
		}
		v.powerOn(w, p.name)
	case !v.now().on:
	default:
		after := time.Second
		if a == power.ActionShutdown {
			after = v.slow
		}
		v.due = append(v.due, due{at: time.Now().Add(after), by: p.name})
		w.tellLocked("portal", "%s begins to go off for %s (%s), and is off in %s", name, p.name, a, after.Round(time.Second))
	}
	return nil
}

// guest is the ssh driver: it asks the guest to shut down, and proves only that the
// guest answers. A network error looks like silence.
type guest struct{ p *process }

func (guest) Name() string { return "ssh" }

func (guest) Abilities() power.Abilities { return power.Abilities{State: true, Shutdown: true} }

func (d guest) Ready(_ string, m power.Machine) (power.Machine, error) { return m, nil }

func (d guest) Find(_ context.Context, n power.NodeRef, _ string) (power.Machine, error) {
	v := d.p.w.vm(n.Name)
	if v == nil {
		return power.Machine{}, power.ErrNoMachine
	}
	return power.Machine{Driver: "ssh", ID: v.address + ":22", Name: v.name, Address: v.address, How: power.HowAddress}, nil
}

// answersAfter is how long after the start of its boot a guest answers: longer than the
// program's own lower bound.
const answersAfter = 13 * time.Second

func (d guest) State(ctx context.Context, m power.Machine) (power.Reading, error) {
	w := d.p.w
	r := w.dice("ssh " + d.p.name + m.Name)
	if err := d.p.wait(ctx, between(r, time.Millisecond, 400*time.Millisecond)); err != nil {
		return power.Reading{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if s := w.vm(m.Name).now(); s.on && time.Since(s.from) > answersAfter && !chance(r, 6) {
		return power.Reported(power.On, "ssh answers"), nil
	}
	reading := power.Reported(power.Off, "ssh is silent")
	reading.Proof = power.Presumed
	return reading, nil
}

func (d guest) Switch(ctx context.Context, a power.Action, m power.Machine) error {
	if a != power.ActionShutdown {
		return power.ErrCannot
	}
	w := d.p.w
	r := w.dice("ssh " + d.p.name + string(a) + m.Name)
	d.p.aboutToSend(m.Name)
	if err := d.p.wait(ctx, between(r, time.Millisecond, time.Second)); err != nil {
		return err
	}
	w.mu.Lock()
	w.settle()
	on := w.vm(m.Name).now().on && time.Since(w.vm(m.Name).now().from) > answersAfter
	w.mu.Unlock()
	if !on {
		return fmt.Errorf("%s does not answer", m.Name)
	}
	if err := power.BeforeSend(ctx); err != nil {
		return err
	}
	w.sent(d.p, a, m.Name)
	err := w.arrives(d.p, a, m.Name, false)
	if chance(r, 20) {
		return &power.UnconfirmedError{Why: "the connection was lost"}
	}
	if err == nil && d.p.wait(ctx, between(r, time.Millisecond, 300*time.Millisecond)) != nil {
		return &power.UnconfirmedError{Why: "the connection was lost"}
	}
	return err
}
