package power

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// DriverSpec is a kind of driver: its section in the configuration, and the function that
// builds it.
type DriverSpec struct {
	// Name is the driver's name, and that of its section below power.
	Name string
	// Needs is the error, in one sentence, when a driver that requires its section has
	// none; empty if the driver works without one.
	Needs string
	// Section returns an empty section. If nil, the driver has no section, and another
	// package builds it.
	Section func() Section
	// Node makes a pointer to what an entry below power.nodes may say for this
	// driver; nil: nothing. Drivers may share a field.
	Node func() any
	// Off and On report whether such a driver can switch off, and on; a section that is Sided
	// says it itself.
	Off, On bool
}

// Section is a pointer to a struct with the fields that a driver's section of
// the configuration may have, named by their json tags.
type Section interface {
	// Build builds the driver, which opens no connection yet. If a field is wrong, the
	// error is a *FieldError, and the caller ignores the driver. Build must not change
	// the section.
	Build(Site) (Driver, error)
}

// Sided is a Section that says which sides such a driver serves.
type Sided interface{ Sides() (off, on bool) }

// Dial makes connections as net.Dialer.DialContext does.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Site holds the input for building a driver besides its section.
type Site struct {
	// Bastion dials through the bastion.
	Bastion Dial
	// Secret checks where a secret is kept, and returns a function that reads it each
	// time, so that a changed secret counts at once; nil if none is configured.
	Secret func(Secret) (Source, error)
	// Nodes holds what DriverSpec.Node made, by node name, where there is anything.
	Nodes map[string]any
	// CheckOnly: the driver is built only to see whether it can be. No file is read.
	CheckOnly bool
}

// Source gives a secret as it now stands where it is kept. Its errors are one
// sentence and do not hold the secret.
type Source = func() (string, error)

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

// NodesOf returns the configuration of each node, by name, for a driver whose DriverSpec.Node
// returns a *N.
func NodesOf[N any](s Site) map[string]N {
	out := make(map[string]N, len(s.Nodes))
	for name, n := range s.Nodes {
		if n, ok := n.(*N); ok {
			out[name] = *n
		}
	}
	return out
}

// FieldError describes an error in a field of the configuration.
type FieldError struct {
	// Field is its path: "power.wol.broadcast".
	Field string
	// Text is the whole sentence.
	Text string
}

// Error gives the sentence.
func (e *FieldError) Error() string { return e.Text }

// Wrong returns a *FieldError for a field, with the fault.
func Wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Text: Clean(field + fmt.Sprintf(format, args...))}
}

// kinds are all kinds of drivers. They register before main begins, and never change after that.
var kinds []DriverSpec

// Register makes a kind of driver known, whose name no other has. It is for init functions of drivers.
func Register(k DriverSpec) { kinds = append(kinds, k) }

// Kinds are all kinds of drivers that the program was built with, by name.
func Kinds() []DriverSpec {
	return slices.SortedFunc(slices.Values(kinds), func(a, b DriverSpec) int { return strings.Compare(a.Name, b.Name) })
}
