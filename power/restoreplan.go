package power

import "slices"

// RestoreKind is what there is to restore about a node.
type RestoreKind int

// Kinds.
const (
	RestoreMachine   RestoreKind = iota // its machine is off, or may be
	RestoreCordon                       // lightsout has cordoned it
	RestoreElsewhere                    // one of them, which another call restores
)

// RestoreDo is what restoring does with a node: it powers its machine on, or uncordons it.
type RestoreDo int

// What restoring does.
const (
	RestoreLeave    RestoreDo = iota // nothing
	RestoreTogether                  // it is one of all that the caller agrees to together
	RestoreAlone                     // the caller agrees to this one alone, by its name or by an answer about it
)

// RestoreCaller is who restores.
type RestoreCaller struct {
	Named   []string // the nodes that it names; none: it restores whatever it may
	Answers bool     // it answers questions about one machine alone
}

// RestoreDecision is what restoring does with a node, and if it leaves the node as it is, why.
type RestoreDecision struct {
	Node      string
	Kind      RestoreKind
	Ownership Ownership // of a machine; what lightsout has done otherwise is Ours
	Do        RestoreDo
	Reason    string
}

// Decide is the one rule about what restoring undoes, whoever restores. What lightsout did here, it undoes;
// somebody else may need the other machines off. Two things can still end otherwise: the caller says no, or the
// machine can't be powered on. A machine that is on is not asked about: see evidence.go.
func (c RestoreCaller) Decide(node string, k RestoreKind, o Ownership) RestoreDecision {
	d := RestoreDecision{Node: node, Kind: k, Ownership: o}
	named := slices.Contains(c.Named, node)
	switch {
	case k == RestoreElsewhere:
		d.Reason = "another call restores it"
	case len(c.Named) > 0 && !named:
		d.Reason = "this call names other nodes"
	case o.Owner == Ours:
		d.Do = RestoreTogether
	case named || c.Answers:
		d.Do = RestoreAlone
	default:
		d.Reason = "this call does not name it, and nobody answers a question about it"
	}
	return d
}

// DecideOwn is Decide for a caller that has asked for a node's machine to go off, or is about to, and neither names
// nodes nor answers: the machine is its own until another journal has switched it off since.
func DecideOwn(node string, o Ownership) RestoreDecision {
	if o.Owner != TakenOver { // the journal may not list it yet
		o.Owner = Ours
	}
	return RestoreCaller{}.Decide(node, RestoreMachine, o)
}
