// Package restore decides what restoring does with a node whose machine is off, or that is cordoned (plan.go),
// and powers on the machines that nobody has chosen one by one (own.go). It is the one rule for the command,
// the screen and trials; package power says who has switched a machine off, and switches it.
package restore

import (
	"slices"

	"lightsout/power"
)

// Kind is what there is to restore about a node.
type Kind int

// Kinds.
const (
	Machine   Kind = iota // its machine is off, or may be
	Cordon                // lightsout has cordoned it
	Elsewhere             // one of them, which another call restores
)

// Do is what restoring does with a node: it powers its machine on, or uncordons it.
type Do int

// What restoring does.
const (
	Leave    Do = iota // nothing
	Together           // it is one of all that the caller agrees to together
	Alone              // the caller agrees to this one alone, by its name or by an answer about it
)

// Caller is who restores.
type Caller struct {
	Named   []string // the nodes that it names; none: it restores whatever it may
	Answers bool     // it answers questions about one machine alone
}

// Decision is what restoring does with a node, and if it leaves the node as it is, why.
type Decision struct {
	Node      string
	Kind      Kind
	Ownership power.Ownership // of a machine; what lightsout has done otherwise is Ours
	Do        Do
	Reason    string
}

// Decide is the one rule about what restoring undoes, whoever restores. What lightsout did here, it undoes;
// somebody else may need the other machines off. Two things can still end otherwise: the caller says no, or the
// machine can't be powered on. A machine that is on is not asked about: see power/evidence.go.
func (c Caller) Decide(node string, k Kind, o power.Ownership) Decision {
	d := Decision{Node: node, Kind: k, Ownership: o}
	named := slices.Contains(c.Named, node)
	switch {
	case k == Elsewhere:
		d.Reason = "another call restores it"
	case len(c.Named) > 0 && !named:
		d.Reason = "this call names other nodes"
	case o.Owner == power.Ours:
		d.Do = Together
	case named || c.Answers:
		d.Do = Alone
	default:
		d.Reason = "this call does not name it, and nobody answers a question about it"
	}
	return d
}

// DecideOwn is Decide for a caller that has asked for a node's machine to go off, or is about to, and neither names
// nodes nor answers: the machine is its own until another journal has switched it off since.
func DecideOwn(node string, o power.Ownership) Decision {
	if o.Owner != power.TakenOver { // the journal may not list it yet
		o.Owner = power.Ours
	}
	return Caller{}.Decide(node, Machine, o)
}
