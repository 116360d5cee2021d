package power

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Kind is a sort of driver: what the configuration may say for it, and how it
// is built of that.
type Kind struct {
	// Name is the driver's name, and that of its section below power.
	Name string
	// Needs says in one sentence what is missing when a driver that can't do
	// without its section has none; empty: it can do without.
	Needs string
	// Section makes an empty section. Nil: the driver has none and is built by
	// whoever holds what it needs; Off and On then say which sides it serves.
	Section func() Section
	// Node makes a pointer to what an entry below power.nodes may say for this
	// driver; nil: nothing. Drivers may share a field.
	Node    func() any
	Off, On bool
}

// Section is a pointer to a struct with the fields that a driver's section of
// the configuration may have, named by their json tags.
type Section interface {
	// Sides says whether such a driver can serve for switching off, and on.
	Sides() (off, on bool)
	// Build makes the driver, which connects to nothing yet. Where a field is
	// wrong, the error is a *FieldError; what is beside an error is not used. It
	// must not change the section.
	Build(Site) (Driver, error)
}

// Dial makes connections as net.Dialer.DialContext does.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Site is what a driver is built with besides its section.
type Site struct {
	// Bastion dials through the bastion.
	Bastion Dial
	// Secret checks where a secret is kept and gives what reads it, each time
	// anew, so that a changed one counts at once: nil when it is kept nowhere.
	Secret func(Secret) (func() (string, error), error)
	// Nodes holds what Kind.Node made, by node name, where there is anything.
	Nodes map[string]any
	// Lab: the machines and the network to them are the lab's, within one process.
	Lab bool
	// CheckOnly: the driver is built only to see whether it can be. No file is read.
	CheckOnly bool
}

// Secret is where a secret is kept: in a file or in an environment variable.
type Secret struct {
	// Field is its place in the configuration without _file and _env
	// ("power.ipmi.password"), Name what errors call it.
	Field, Name string
	File, Env   string
	// Must: it is an error when it is kept nowhere.
	Must bool
}

// Via gives the dialer of a driver that goes through the bastion or straight
// (nil).
func (s Site) Via(bastion bool) Dial {
	if bastion {
		return s.Bastion
	}
	return nil
}

// NodesOf gives what the configuration says of nodes for a driver whose
// Kind.Node makes a *N, by node name.
func NodesOf[N any](s Site) map[string]N {
	out := make(map[string]N, len(s.Nodes))
	for name, n := range s.Nodes {
		if n, ok := n.(*N); ok {
			out[name] = *n
		}
	}
	return out
}

// FieldError says what is wrong with a field of the configuration.
type FieldError struct {
	// Field is its path: "power.wol.broadcast".
	Field string
	// Text is the whole sentence.
	Text string
}

// Error gives the sentence.
func (e *FieldError) Error() string { return e.Text }

// Wrong makes a *FieldError: the field, and what is wrong with it.
func Wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Text: Clean(field + fmt.Sprintf(format, args...))}
}

// kinds are all kinds of drivers, in the order in which they are told. They are
// registered before main begins and never change after.
var kinds []Kind

// Register makes a kind of driver known. It is for init functions of drivers;
// it panics when two have one name.
func Register(k Kind) {
	at, twice := slices.BinarySearchFunc(kinds, k.Name, func(k Kind, name string) int { return strings.Compare(k.Name, name) })
	if twice {
		panic("two power drivers are named " + k.Name)
	}
	kinds = slices.Insert(kinds, at, k)
}

// Kinds are all kinds of drivers that the program was built with, by name.
func Kinds() []Kind { return slices.Clone(kinds) }
