package view

import "strings"

// Scope is what a screen shows: a cluster, by its context in the
// kubeconfig, and the watched namespaces; no namespace means all or, with another
// context, all if they were watched before, and otherwise those of the config file.
type Scope struct {
	Context    string
	Namespaces []string
}

// SwitchScope shows another scope. The session refuses, with a reason, while it would
// leave work of its own behind. Otherwise it asks, and lists what ends; then it ends,
// and another session begins. An empty Context is the present one.
type SwitchScope struct{ Scope }

// Scopes are the names that a Scope may be made of, as far as they are known.
// Immutable.
type Scopes struct{ Contexts, Namespaces []string }

// NamespacesText names the namespaces of a place; empty for all.
func (p Scope) NamespacesText() string { return strings.Join(p.Namespaces, ",") }
