package power

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// State is a machine's power state. Unknown is never Off.
type State int

// Power states.
const (
	Unknown State = iota
	On
	Off
	// Transitioning: switching on or off, deploying, or in any other state
	// that will become On or Off by itself.
	Transitioning
)

// String gives one lower-case word: unknown, on, off, transitioning.
func (s State) String() string {
	return cmp.Or(map[State]string{On: "on", Off: "off", Transitioning: "transitioning"}[s], "unknown")
}

// Proof is how certain a State is.
type Proof int

// Proofs, weakest first. Only a power API proves Off; silence on ssh presumes it.
const (
	ProofNone Proof = iota
	Presumed
	Proven
)

// String gives one lower-case word: unproven, presumed, proven.
func (p Proof) String() string {
	return cmp.Or(map[Proof]string{Presumed: "presumed", Proven: "proven"}[p], "unproven")
}

// Reading is the result of one poll of a machine's state.
type Reading struct {
	State State `json:"state"`
	Proof Proof `json:"proof"`
	// Detail is the driver's own word for it ("PowerOFF", "ssh answers"),
	// already harmless for a terminal.
	Detail string `json:"detail"`
	// RequestedAt is when the poll was sent, and Arrived when its answer arrived. A reading is evidence
	// as of RequestedAt: the answer may be older than it looks, and proves nothing about later events.
	RequestedAt time.Time `json:"-"`
	Arrived     time.Time `json:"arrived"`
	// NoAnswer: the state is Unknown because neither the machine nor the API for it
	// answered, so that another driver's reading is not contradicted. An answer without
	// On or Off ("Suspended", no such machine) leaves it unset.
	NoAnswer bool `json:"no_answer,omitzero"`
}

// Proves reports whether the machine is proven to be in that state.
func (r Reading) Proves(s State) bool { return r.State == s && r.Proof == Proven }

// With adds the driver's own word to a text, where there is one.
func (r Reading) With(text string) string {
	if r.Detail == "" {
		return text
	}
	return text + " (" + r.Detail + ")"
}

// Reported returns the reading for an answer of a power API; detail may contain any text.
// Every State but Unknown is proven. The Fleet sets the times.
func Reported(s State, detail string) Reading {
	r := Reading{State: s, Detail: Clean(detail)}
	if s != Unknown {
		r.Proof = Proven
	}
	return r
}

// Action is something that is done to a machine.
type Action string

// Actions.
const (
	// ActionShutdown asks the guest to shut itself down.
	ActionShutdown Action = "shutdown"
	// ActionOff pulls the plug.
	ActionOff Action = "off"
	// ActionOn powers on.
	ActionOn Action = "on"
)

// Verb gives the words for an action: "shut down", "switch off", "power on".
func Verb(a Action) string {
	return cmp.Or(map[Action]string{ActionShutdown: "shut down", ActionOff: "switch off", ActionOn: "power on"}[a], string(a))
}

// GoesOff reports whether the action switches a machine off.
func (a Action) GoesOff() bool { return a == ActionOff || a == ActionShutdown }

// Wanted is the state that an action is for.
func (a Action) Wanted() State {
	if a == ActionOn {
		return On
	}
	return Off
}

// Abilities lists the actions of a driver.
type Abilities struct {
	// State: can tell the power state. ProvesOff: its Off is proof.
	State, ProvesOff  bool
	On, Shutdown, Off bool
}

// Can reports whether a can do action.
func (a Abilities) Can(action Action) bool {
	return action == ActionShutdown && a.Shutdown || action == ActionOff && a.Off || action == ActionOn && a.On
}

// NodeRef holds the facts about a Kubernetes node that identify its machine.
type NodeRef struct {
	Name string `json:"name"`
	// Addresses are the node's IPs, most preferred first.
	Addresses  []string `json:"addresses,omitempty"`
	ProviderID string   `json:"providerID,omitempty"`
	BootID     string   `json:"bootID,omitempty"`
	// SystemUUID is the UUID of the machine's firmware (the kubelet's
	// nodeInfo.systemUUID), the same after each boot.
	SystemUUID  string            `json:"systemUUID,omitempty"`
	Annotations map[string]string `json:"-"`
	// Configured: Addresses come from the configuration and not from the node.
	Configured bool `json:"-"`
}

// Named returns the name or ID of the node's machine: from the configuration (hint), or
// else from the node's annotation. An attacker on the node can write the annotation, so
// it may choose among machines, but never the host that receives a secret.
func (n NodeRef) Named(hint string) string {
	return cmp.Or(hint, n.Annotations[AnnotationMachine])
}

// Machine identifies a machine for its driver. It is plain data and the journal stores
// it, so that powering on needs neither the API server nor a look-up.
type Machine struct {
	// Driver is the name of the driver that this machine belongs to.
	Driver string `json:"driver"`
	// ID is the driver's own identity for it (a VM's uuid, host:port for ssh).
	ID string `json:"id"`
	// Name is for people; Address is an IP it is known by.
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"`
	// Params are the driver's own settings for this machine, never secrets
	// (mdx: "service_level").
	Params map[string]string `json:"params,omitempty"`
	// How is how it was found: "config", "annotation", "providerID", "address", "name".
	How string `json:"how,omitempty"`
	// Contradiction describes, in one sentence, evidence among the driver's machines
	// against this match; empty if there is none.
	Contradiction string `json:"-"`
}

// Driver switches machines by one mechanism. Every method is safe for use by
// several goroutines and ends when its context does. An accepted call is not
// success: Fleet verifies by State.
type Driver interface {
	// Abilities returns the actions of the driver.
	Abilities() Abilities
	// Find looks a node's machine up. hint is the name or id that the
	// configuration gives for it, or empty; then NodeRef.Named gives what the
	// node's annotation names. It returns ErrNoMachine when there is none and an
	// *AmbiguousError when there are several. Machine.How is left empty where one
	// of these two has led to it, or else the node's name.
	Find(ctx context.Context, node NodeRef, hint string) (Machine, error)
	// Ready returns m, the machine of a node, which the journal may have kept, with everything but its
	// identity as it is configured now. It returns an error if m could not be powered on so: a
	// parameter or a secret is missing or wrong, or a program. It polls nobody and always returns m;
	// a driver that cannot power on only returns it.
	Ready(node string, m Machine) (Machine, error)
	// State polls once. An unreachable machine is a Reading with State Unknown (or
	// presumed Off), not an error; an error means that the driver could not send the
	// request. Fleet calls it only if Abilities has State.
	State(ctx context.Context, m Machine) (Reading, error)
	// Switch requests the action and returns when it is accepted. Fleet calls it only for an
	// action of Abilities. It calls BeforeSend immediately before it sends the request. It
	// returns an *UnconfirmedError if it cannot tell whether the request arrived, a
	// *NotSentError if it failed after BeforeSend and certainly did nothing, and a
	// *ConflictError if another request kept it from being carried out.
	Switch(ctx context.Context, a Action, m Machine) error
}

// Errors of Driver.Find and of Fleet.Can, which wraps them.
var (
	ErrNoMachine = errors.New("no machine matches")
	// ErrCannot: the driver lacks the ability.
	ErrCannot = errors.New("this driver can't do that")
	// ErrShared: several nodes lead to one machine.
	ErrShared = errors.New("several nodes have this machine")
)

// AmbiguousError reports that several machines match a node.
type AmbiguousError struct {
	Node    string
	Matches []string
}

// Binding is a node and the machines that stand for it: one is used for
// switching off, another perhaps for switching on.
type Binding struct {
	Node NodeRef `json:"node"`
	// Off is used for Shutdown and Off, On for switching on. Either may be
	// nil; OffErr and OnErr are then the reasons, in one sentence, and wrap the driver's error.
	Off    *Machine `json:"off,omitempty"`
	On     *Machine `json:"on,omitempty"`
	OffErr error    `json:"-"`
	OnErr  error    `json:"-"`
	// Heard is the time of the node's last heartbeat at the latest judgement; zero if
	// unknown.
	Heard time.Time `json:"-"`
	// Contradiction reports, in one sentence, that the node itself (by its annotation
	// or providerID) names another machine than its address or name leads to; empty if
	// it does not.
	Contradiction string `json:"-"`
}

// machines are those that are known, that for switching off first.
func (b Binding) machines() []*Machine {
	return slices.DeleteFunc([]*Machine{b.Off, b.On}, func(m *Machine) bool { return m == nil })
}

// Stage is where an operation on one machine stands.
type Stage string

// Stages of an operation.
const (
	StagePreparing Stage = "preparing" // lightsout prepares the question
	StageDeferred  Stage = "deferred"  // another operation on the machine must end first
	StageDraining  Stage = "draining"  // the node is drained first: nothing is asked of the machine
	StageBlocked   Stage = "blocked"   // its drain stands still
	StageWaiting   Stage = "waiting"   // nothing was sent yet
	StageSending   Stage = "sending"   // the request is being sent
	StageAccepted  Stage = "accepted"  // accepted, not yet seen
	StageDone      Stage = "done"      // lightsout saw the wanted power state; Proof is how certain it is
	StageFailed    Stage = "failed"    // refused, or the deadline passed
	StageUncertain Stage = "uncertain" // unknown; poll before doing anything else
	// StageClearing reports, beside the operations, that lightsout waits to remove the annotations
	// of a request. It changes no machine's state.
	StageClearing Stage = "clearing"
)

// Active reports whether an operation at this stage waits, or has a machine to switch.
func (s Stage) Active() bool {
	return s == StageDraining || s == StageBlocked || s == StageWaiting || s == StageSending || s == StageAccepted
}

// Progress is one step of an operation on one machine, reported as it happens.
type Progress struct {
	Action  Action
	Node    string
	Stage   Stage
	Reading Reading
	// WasOff is when the machine was proven off last, in this operation; zero
	// when it was not.
	WasOff time.Time
	// Text is one sentence for the operator.
	Text string
	At   time.Time
}
