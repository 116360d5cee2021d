package power

import "time"

// ViewLimit is how old the view of the cluster may be when something is
// switched off.
const ViewLimit = 15 * time.Second

// Role says whether a node is part of the control plane.
type Role int

// Roles. RoleUnknown is treated as the control plane.
const (
	RoleUnknown Role = iota
	RoleWorker
	RoleControlPlane
)

// Node is a node of the cluster as the guards look at it.
type Node struct {
	NodeRef
	Role Role
	// Etcd: an etcd member runs on it, whatever its role.
	Etcd bool
	// Ready and Schedulable count the workers that are left.
	Ready, Schedulable bool
	// NotLeft says why the node is no worker that is left although the API
	// server calls it Ready ("is silent", "was switched off 12 s ago"): that
	// takes the control plane most of a minute to notice. Empty: it is left.
	NotLeft string
	// Heard is when its last heartbeat came; zero when that is not known.
	Heard time.Time
	// Marks are the notes about who has switched its machine off. MarkedBy is
	// the first that is another's and not over, in words.
	Marks    []Mark
	MarkedBy string
}

// Bound is a node's binding with what is known of its abilities.
type Bound struct {
	Binding Binding
	// Can: exactly one machine can be asked to do the planned action (see
	// Fleet.Can); Why says in one sentence why not.
	Can bool
	Why string
	// OnProven: the driver that would power it on again has just told its
	// state (see Fleet.Prove).
	OnProven bool
	// FromJournal: it is the machine that this program switched off itself.
	FromJournal bool
}

// Self is where the program and its connections stand, as names and IPs.
type Self struct {
	// Names and Addresses are those of the machine that this program runs on,
	// BastionNames and BastionAddresses those of the bastion and the jump hosts
	// before it, APIAddresses those behind which the API server answers.
	// Addresses are IPs without a port; what is no IP matches nothing.
	Names, Addresses               []string
	BastionNames, BastionAddresses []string
	APIAddresses                   []string
	// Unknown holds one sentence for each of these that could not be learnt.
	Unknown []string
}

// Plan is what is about to be switched, with all that the guards need to know.
type Plan struct {
	Action Action
	// Targets are names of nodes.
	Targets []string
	// View is the cluster, with the targets among its nodes.
	View
	// Bound holds the binding of each node, by its name; all nodes' bindings,
	// so that two nodes on one machine are seen.
	Bound map[string]Bound
	// Busy are nodes with an operation under way.
	Busy             map[string]Action
	ReadOnly, DryRun bool
	// NoJournal says why the journal can't be relied on; empty when it can.
	NoJournal string
	// Limits tighten the rules.
	Limits Limits
}

// Severity says what a finding does to the plan.
type Severity int

// Severities, mildest first.
const (
	// Warn is shown.
	Warn Severity = iota
	// Override needs a typed confirmation.
	Override
	// Refuse ends it.
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
	RuleOther         = "switched-by-other"
	RulePreflight     = "preflight"
)

// Finding is what one rule has to say about a plan.
type Finding struct {
	Rule     string
	Severity Severity
	// Node is empty when it is about the whole plan.
	Node string
	// Text is one sentence for the operator.
	Text string
}
