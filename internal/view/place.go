package view

import "strings"

// Place is a place that the screen can show: a cluster, by its context in the
// kubeconfig, and the watched namespaces; no namespace means all or, with another
// context, those of the config file.
type Place struct {
	Context    string
	Namespaces []string
}

// SwitchPlace shows another place. The session refuses, with a reason, while it would
// leave work of its own behind. Otherwise it asks, and lists what ends; then it ends,
// and another session begins. An empty Context is the present one.
type SwitchPlace struct{ Place }

func (SwitchPlace) intent() {}

// Places are the names that a Place may be made of, as far as they are known.
// Immutable.
type Places struct{ Contexts, Namespaces []string }

// NamespacesText names the namespaces of a place; empty for all.
func (p Place) NamespacesText() string { return strings.Join(p.Namespaces, ",") }
