package view

import "strings"

// Place is what can be shown: a cluster, by its context in the kubeconfig, and
// the namespaces of it that are watched; none is all, or with another context
// those of the config file.
type Place struct {
	Context    string
	Namespaces []string
}

// SwitchPlace asks to show another place. The session refuses, saying why, while
// something of its own would be left behind; else it ends in order and another
// begins. An empty Context is the one that is shown.
type SwitchPlace struct{ Place }

func (SwitchPlace) intent() {}

// Places are the names that a Place may be made of, as far as they are known.
// Immutable.
type Places struct{ Contexts, Namespaces []string }

// NamespacesText names the namespaces of a place; empty for all.
func (p Place) NamespacesText() string { return strings.Join(p.Namespaces, ",") }
