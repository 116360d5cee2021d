package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// String gives one lower-case word: unknown, on, off, switching.
func (s State) String() string {
	return cmp.Or(map[State]string{On: "on", Off: "off", Transitioning: "switching"}[s], "unknown")
}

// Proof says how well a State is known.
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

// Reading is one look at a machine's state.
type Reading struct {
	State State
	Proof Proof
	// Detail is the driver's own word for it ("PowerOFF", "ssh answers"),
	// already harmless for a terminal.
	Detail string
	At     time.Time
	// NoAnswer says of an Unknown that nobody could be asked: neither the
	// machine nor what stands for it answered, so that nothing speaks against
	// what another driver sees. An answer without an On or Off in it
	// ("Suspended", no such machine) leaves it unset.
	NoAnswer bool `json:",omitzero"`
}

// With adds the driver's own word to a text, where there is one.
func (r Reading) With(text string) string {
	if r.Detail == "" {
		return text
	}
	return text + " (" + r.Detail + ")"
}

// Told is a reading of what a power API has just said, in words that may hold
// anything. Any State but Unknown is proven by it.
func Told(s State, detail string) Reading {
	r := Reading{State: s, Detail: Clean(detail), At: time.Now()}
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

// Wanted is the state that an action is for.
func (a Action) Wanted() State {
	if a == ActionOn {
		return On
	}
	return Off
}

// Due reports whether an API that takes an action in one state only is to be
// asked for it, by what it says of the machine now: not where that is done
// already, and not in any other state, of which the error tells. It ends with
// advice.
func Due(a Action, m Machine, now Reading, advice string) (bool, error) {
	switch {
	case now.State == a.Wanted():
		return false, nil
	case now.State == Transitioning:
		return false, fmt.Errorf("%s is busy (%s); ask again when that has ended", m.Title(), now.Detail)
	case now.State == Unknown:
		return false, &RefusedError{Why: fmt.Sprintf("%s can't be switched now: %s%s", m.Title(), now.Detail, advice)}
	}
	return true, nil
}

// Abilities says what a driver can do.
type Abilities struct {
	// State: can tell the power state. ProvesOff: its Off is proof.
	State, ProvesOff  bool
	On, Shutdown, Off bool
}

// Can reports whether a can do action.
func (a Abilities) Can(action Action) bool {
	return action == ActionShutdown && a.Shutdown || action == ActionOff && a.Off || action == ActionOn && a.On
}

// NodeRef is what is known of a Kubernetes node when its machine is looked for.
type NodeRef struct {
	Name string `json:"name"`
	// Addresses are the node's IPs, most preferred first.
	Addresses   []string          `json:"addresses,omitempty"`
	ProviderID  string            `json:"providerID,omitempty"`
	BootID      string            `json:"bootID,omitempty"`
	Annotations map[string]string `json:"-"`
	// Configured: Addresses come from the configuration and not from the node.
	Configured bool `json:"-"`
}

// Named gives the name or id of the node's machine: what the configuration says
// (hint), or else the node's annotation. Whoever controls the node can write
// the annotation, so it may choose among machines and must never choose the
// host to which a secret is sent.
func (n NodeRef) Named(hint string) string {
	if hint != "" {
		return hint
	}
	return n.Annotations[AnnotationMachine]
}

// Machine is what a driver switches. It is plain data and is kept in the
// journal, so that powering on needs neither the API server nor a look-up.
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
	// How says how it was found: "config", "annotation", "providerID",
	// "address", "name".
	How string `json:"how,omitempty"`
}

// Driver switches machines by one mechanism. Every method is safe for use by
// several goroutines and ends when its context does. An accepted call is not
// success: Fleet verifies by State.
type Driver interface {
	// Name is the driver's name in configuration files.
	Name() string
	// Abilities says what it can do.
	Abilities() Abilities
	// Find looks a node's machine up. hint is the name or id that the
	// configuration gives for it, or empty; then NodeRef.Named gives what the
	// node's annotation names. It returns ErrNoMachine when there is none and an
	// *AmbiguousError when there are several. Machine.How is left empty where one
	// of these two has led to it, or else the node's name.
	Find(ctx context.Context, node NodeRef, hint string) (Machine, error)
	// State looks once. A machine that can't be reached is a Reading with
	// State Unknown (or presumed Off), not an error; an error means that the
	// question could not be asked.
	State(ctx context.Context, m Machine) (Reading, error)
	// Switch asks for the action and returns when it is accepted. It returns
	// ErrCannot when the driver has no such ability, and an *UnconfirmedError
	// when it can't be told whether the request arrived.
	Switch(ctx context.Context, a Action, m Machine) error
}

// Errors that drivers return.
var (
	ErrNoMachine = errors.New("no machine matches")
	ErrCannot    = errors.New("this driver can't do that")
)

// AmbiguousError says that several machines match a node.
type AmbiguousError struct {
	Node    string
	Matches []string
}

// UnconfirmedError says that a request was sent and that it can't be told
// whether it was carried out: go and look, never send it again blindly.
type UnconfirmedError struct{ Why string }

// Binding is a node and the machines that stand for it: one is used for
// switching off, another perhaps for switching on.
type Binding struct {
	Node NodeRef `json:"node"`
	// Off is used for Shutdown and Off, On for switching on. Either may be
	// nil; OffErr and OnErr then say why in one sentence.
	Off    *Machine `json:"off,omitempty"`
	On     *Machine `json:"on,omitempty"`
	OffErr string   `json:"-"`
	OnErr  string   `json:"-"`
	// Contradiction says in one sentence that the node itself (by its
	// annotation or providerID) names another machine than its address or name
	// leads to; empty when it does not.
	Contradiction string `json:"-"`
}

// machines are those that are known, that for switching off first.
func (b Binding) machines() []*Machine {
	return slices.DeleteFunc([]*Machine{b.Off, b.On}, func(m *Machine) bool { return m == nil })
}

// Phase is where an operation on one machine stands.
type Phase string

// Phases of an operation.
const (
	PhaseAsking    Phase = "asking"    // the request is being sent
	PhaseAccepted  Phase = "accepted"  // accepted, not yet seen
	PhaseDone      Phase = "done"      // the wanted state was seen; Proof says how well
	PhaseFailed    Phase = "failed"    // refused, or the deadline passed
	PhaseUncertain Phase = "uncertain" // can't be told; look before doing anything else
)

// Progress is one step of an operation on one machine, told as it happens.
type Progress struct {
	Op      string // the operation's id in the journal
	Action  Action
	Node    string
	Machine Machine
	Phase   Phase
	Reading Reading
	// WasOff is when the machine was proven off last, in this operation; zero
	// when it was not.
	WasOff time.Time
	// Text is one sentence for the operator.
	Text string
	At   time.Time
}
