package power

import "time"

// stateLimit is how old the state of the cluster may be when something is
// switched off.
const stateLimit = 15 * time.Second

// Node is a node of the cluster as the guards judge it.
type Node struct {
	NodeRef
	// ControlPlane: it belongs to the control plane. All other nodes are workers.
	ControlPlane bool
	// Etcd: an etcd member runs on it, whatever its role.
	Etcd bool
	// Ready and Schedulable count the workers that are left.
	Ready, Schedulable bool
	// Presence is whether the node runs, although the API server calls it Ready, and Why the
	// reason if it is not Runs ("is silent"). Only a node that Runs counts as a worker that is left.
	Presence Presence
	Why      string
	// Heard is the time of its last heartbeat; zero if unknown.
	Heard time.Time
	// Ahead is how far the API server's clock is ahead of this host's; 0 if the
	// difference is small or unknown. Notes have the server's time, which all hosts
	// share.
	Ahead time.Duration
	// Notes are the notes about who has switched its machine off.
	Notes []Note
	// owned is who has switched it off.
	owned Ownership
}

// Presence is whether a node that the API server calls Ready runs: the control plane takes
// most of a minute to notice that one does not.
type Presence int

// Presences.
const (
	Runs    Presence = iota // its heartbeats prove it, if the account may see them
	Awaited                 // its next heartbeat will prove it
	Unheard                 // no heartbeat will prove it
	Down                    // it is silent, or its machine is off, or may go off
)

// Bound is a node's binding with its known abilities.
type Bound struct {
	Binding Binding
	// Cannot is the reason why no machine can receive the request for the action (see Fleet.Can);
	// nil if exactly one can.
	Cannot error
	// Unproven is the reason why nothing proves that the machine can be powered on again (see
	// Fleet.Prove); nil if something does.
	Unproven error
	// FromJournal: it is the machine that this program switched off itself.
	FromJournal bool
}

// Self is where the program and its connections stand, as names and IPs.
type Self struct {
	// Names and Addresses belong to the machine that this program runs on, BastionNames
	// and BastionAddresses to the bastion and the jump hosts before it, and
	// APIAddresses to the API server. Addresses are IPs without a port; other values
	// match nothing.
	Names, Addresses               []string
	BastionNames, BastionAddresses []string
	APIAddresses                   []string
	// Unknown holds one sentence for each of these that could not be learnt.
	Unknown []string
}

// guardInput holds an action to judge, with all facts that the guards need.
type guardInput struct {
	Action Action
	// Targets are names of nodes.
	Targets []string
	// ClusterState has the targets among its nodes.
	ClusterState
	// Bound holds the binding of each node, by its name; all nodes' bindings,
	// so that two nodes on one machine are seen.
	Bound map[string]Bound
	// Busy are nodes with an operation under way.
	Busy             map[string]Action
	ReadOnly, DryRun bool
	// NoJournal is the reason why the journal is unreliable; empty if it is reliable. Settles is the command that
	// makes it reliable; empty if none does.
	NoJournal, Settles string
	// NoIdentity: the cluster's UID is unknown, so lightsout cannot distinguish it from others.
	NoIdentity bool
	// Trial names the program on this host that runs a trial; empty if none does.
	Trial string
	// Limits tighten the rules.
	Limits Limits
}

// Effect is the effect of a finding on the action.
type Effect int

// Severities, mildest first.
const (
	// Warn is shown.
	Warn Effect = iota
	// Override needs a typed confirmation.
	Override
	// Refuse prevents the action.
	Refuse
)

// Rules, as they are named in findings.
const (
	RuleReadOnly      = "read-only"
	RuleDryRun        = "dry-run"
	RuleNothing       = "nothing-chosen"
	RuleUnknownNode   = "unknown-node"
	RuleStaleView     = "stale-view"
	RuleControlPlane  = "control-plane"
	RuleQuorumUnknown = "quorum-unknown"
	RuleSelf          = "self"
	RuleBastion       = "bastion"
	RuleAPIServer     = "api-server"
	RuleLastWorker    = "last-ready-worker"
	RuleMachine       = "one-machine"
	RuleShared        = "shared-machine"
	RuleNoWayBack     = "no-way-back"
	RuleBusy          = "busy"
	RuleProtected     = "protected"
	RuleHeartbeats    = "no-heartbeats"
	RuleWayUnknown    = "way-unknown"
	RuleContradiction = "contradiction"
	RuleJournal       = "journal"
	RuleIdentity      = "cluster-identity"
	RuleOther         = "switched-by-other"
	RulePreflight     = "preflight"
	RuleTrial         = "trial-under-way"
)

// Finding is the result of one rule for an action.
type Finding struct {
	Rule   string
	Effect Effect
	// Node is empty when no single node is concerned.
	Node string
	// Note is the ID of the annotation that it is about (RuleOther).
	Note string
	// Text is one sentence for the operator; Command is the command in it, empty if there is none.
	Text, Command string
}
