package outage

import (
	"cmp"
	"time"
)

// Step is how far the outage of a node has gone.
type Step int

// Steps, in their order. An outage may skip some, and goes back to StepOff if its machine goes off
// again, or is not powered on after all.
const (
	StepUp     Step = iota // nothing is known of an outage
	StepAsked              // its machine was asked to go off
	StepDown               // the node is not Ready
	StepOff                // the machine is proven off
	StepOn                 // the machine was asked to go on, or is proven on again
	StepBooted             // the node has booted since, or is Ready again and nobody can tell
	StepReady              // it is Ready again: the outage is over
	steps
)

// Cause is who has caused an outage, as far as that is known.
type Cause int

// Causes.
const (
	Nobody   Cause = iota // nobody is known
	Operator              // it was requested here, by an operator or a plan, by the journal
)

// Kind is what a Fact is about.
type Kind int

// Kinds of facts.
const (
	Listed     Kind = iota // the journal lists the machine as off, or as going off: Before
	Settled                // the journal does so no longer
	MachineOff             // the machine is proven off
	MachineOn              // the machine is proven on
	Agreed                 // the operator agreed to power the machine on
	Sent                   // its driver is asked to power it on, perhaps again
	NotSent                // no request powers it on any more
	PoweredOn              // the request to power it on has ended
	Seen                   // the node was seen: Node, Ready, Silent
)

// Fact is something that was found out about a node or its machine.
type Fact struct {
	Kind Kind
	// At is when it was so; all times are of this host.
	At time.Time
	// Before is what the journal knew when the machine was asked to go off.
	Before Before
	// Node is what is seen of the node at that time. Ready: it is Ready; Silent: its heartbeats are overdue.
	Node          Now
	Ready, Silent bool
}

const (
	// stayedOnAfter is how long after the request to power it on a machine whose node is Ready
	// with the boot of before is taken for one that had never been off.
	stayedOnAfter = 5 * time.Minute
	// settledFor is the same after the journal has settled its switch-off by another proof.
	settledFor = time.Minute
)

// Outage is the outage of one node. The zero value is StepUp. One goroutine may use it.
type Outage struct {
	Cause Cause
	// At is when each step was reached; zero if it was not, or not yet.
	At [steps]time.Time
	// boot is the boot ID of before.
	boot string
	// agreed is when the operator agreed last to power the machine on, over when that request
	// has ended, and settled when the journal has settled the switch-off; zero if they have not.
	agreed, over, settled time.Time
}

// Step is the last step that was reached.
func (o *Outage) Step() Step {
	for s := StepReady; s > StepUp; s-- {
		if !o.At[s].IsZero() {
			return s
		}
	}
	return StepUp
}

// Awaited reports whether the operator has had the machine powered on, and its node is not Ready yet.
func (o *Outage) Awaited() bool { return !o.agreed.IsZero() && o.Step() != StepReady }

// Returned reports whether the node is Ready after the operator has had its machine powered on: not
// if the machine had never been off.
func (o *Outage) Returned() bool {
	return !o.agreed.IsZero() && !o.At[StepBooted].IsZero() && o.Step() == StepReady
}

// WasDown reports whether the node was seen to be down, or to have booted since.
func (o *Outage) WasDown() bool { return !o.At[StepDown].IsZero() || !o.At[StepBooted].IsZero() }

// Apply takes a fact in, and reports whether that has led to another step.
func (o *Outage) Apply(f Fact) (changed bool) {
	was := o.Step()
	switch f.Kind {
	case Listed:
		o.listed(f.Before)
	case Settled:
		if !o.At[StepAsked].IsZero() && o.settled.IsZero() {
			o.settled = f.At
		}
	case MachineOff:
		o.off(f)
	case MachineOn:
		if was == StepOff {
			o.At[StepOn] = f.At
		}
	case Agreed:
		if was == StepUp || was == StepReady {
			*o = Outage{boot: f.Node.ID}
		}
		o.Cause, o.agreed = Operator, f.At
	case Sent:
		// Only the first counts after the operator has agreed; the later ones repeat it.
		o.agreed = cmp.Or(o.agreed, f.At)
		if o.At[StepOn].IsZero() || o.agreed.After(o.At[StepOn]) {
			o.At[StepOn], o.over = f.At, time.Time{}
		}
	case NotSent:
		if was != StepReady {
			o.back()
		}
	case PoweredOn:
		o.poweredOn(f.At, was)
	case Seen:
		o.seen(f)
	}
	return o.Step() != was
}

// listed begins the outage of a request, unless it is known.
func (o *Outage) listed(b Before) {
	if b.Asked.After(o.At[StepAsked]) {
		off := o.At[StepOff]
		*o = Outage{Cause: Operator, boot: b.ID}
		o.At[StepAsked] = b.Asked
		if off.After(b.Asked) {
			o.At[StepOff] = off
		}
	}
	o.At[StepOff] = cmp.Or(o.At[StepOff], b.Off)
	o.settled = time.Time{}
}

// off takes a proof that the machine is off. While it is being powered on, that is nothing new.
func (o *Outage) off(f Fact) {
	switch s := o.Step(); {
	case s == StepReady && f.At.After(o.At[StepReady]), s == StepUp:
		*o = Outage{boot: f.Node.ID}
	case s == StepReady, s >= StepOn && (o.over.IsZero() && !o.agreed.IsZero() || !f.At.After(o.At[s])):
		return
	case s >= StepOn:
		o.back()
		o.At[StepOff] = f.At
		if s == StepBooted { // it is that boot which has ended
			o.At[StepBooted], o.boot = time.Time{}, f.Node.ID
		}
	}
	o.At[StepOff] = cmp.Or(o.At[StepOff], f.At)
}

// poweredOn takes the end of a power-on in. A machine that was found on, and of which no outage is known,
// is not awaited.
func (o *Outage) poweredOn(at time.Time, was Step) {
	o.over = at
	switch {
	case was == StepUp:
		o.back()
	case o.At[StepOn].IsZero():
		o.At[StepOn] = at
	}
}

// back takes the power-on back.
func (o *Outage) back() { o.At[StepOn], o.agreed, o.over = time.Time{}, time.Time{}, time.Time{} }

// answer says whether the node has booted since its machine was asked to go off, or on.
func (o *Outage) answer(n Now) Answer {
	b := Before{ID: o.boot, Asked: o.At[StepAsked], Off: o.At[StepOff]}
	if !o.agreed.IsZero() && !o.At[StepOn].IsZero() {
		b.Asked = o.At[StepOn]
	}
	return b.Seen(n)
}

// seen takes a look at the node. It is back if it is Ready after a boot; if it has become Ready since
// its machine was powered on and the journal expects no switch-off any more; or if it has stayed on.
func (o *Outage) seen(f Fact) {
	s := o.Step()
	if s == StepUp || s == StepReady || f.Silent {
		return
	}
	answer := o.answer(f.Node)
	if answer == Booted && o.At[StepBooted].IsZero() {
		o.At[StepBooted] = f.At
	}
	booted := !o.At[StepBooted].IsZero()
	if !f.Ready {
		if o.At[StepDown].IsZero() && !booted {
			o.At[StepDown] = f.At
		}
		return
	}
	expected := !o.At[StepAsked].IsZero() && o.settled.IsZero()
	powered := !o.At[StepOn].IsZero() && !o.agreed.IsZero()
	switch {
	case booted:
		o.At[StepReady] = f.At
	case answer == CantTell && powered && !expected:
		o.At[StepBooted], o.At[StepReady] = f.At, f.At
	case expected:
	case powered && f.At.Sub(o.At[StepOn]) > stayedOnAfter, !powered && !o.settled.IsZero() && f.At.Sub(o.settled) > settledFor:
		o.At[StepReady] = f.At
	}
}
