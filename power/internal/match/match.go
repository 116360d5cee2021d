// Package match finds a node's machine among those that a power API lists.
package match

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lightsout/power"
)

// Candidate holds the properties that identify a listed machine.
type Candidate struct {
	ID, Name  string
	Addresses []string
}

// One finds the node's machine and its index in the list. If the node names its machine
// (by an ID or the exact name; see power.NodeRef.Named), only that decides. Otherwise
// the first of these that matches decides: providerID (an ID, or empty), exactly one of
// the node's addresses, exactly its name. It must match only one machine. If the
// address and the name match two machines, the machine's Contradiction describes that.
func One(driver string, node power.NodeRef, hint, providerID string, all []Candidate) (power.Machine, int, error) {
	type way struct {
		how   string
		match func(Candidate) bool
	}
	ways := []way{
		{power.HowProviderID, func(c Candidate) bool { return providerID != "" && strings.EqualFold(c.ID, providerID) }},
		{power.HowAddress, func(c Candidate) bool { return shared(c, node) != "" }},
		{power.HowName, func(c Candidate) bool { return c.Name == node.Name }},
	}
	if name := node.Named(hint); name != "" {
		ways = []way{{"", func(c Candidate) bool { return c.ID == name || c.Name == name }}}
	}
	for _, w := range ways {
		i, err := Only(node, all, w.match, func(c Candidate) string { return c.Name + " " + c.ID })
		switch {
		case errors.Is(err, power.ErrNoMachine):
			continue
		case err == nil:
			c := all[i]
			address := cmp.Or(shared(c, node), cmp.Or(c.Addresses...))
			m := power.Machine{Driver: driver, ID: c.ID, Name: power.Clean(c.Name), Address: power.Clean(address), How: w.how}
			byName := slices.IndexFunc(all, func(c Candidate) bool { return strings.EqualFold(c.Name, node.Name) })
			if w.how == power.HowAddress && byName >= 0 && !strings.EqualFold(c.Name, node.Name) {
				m.Contradiction = fmt.Sprintf("The address of %s leads to the machine %s, but the machine %s has its name; name the right one under power.nodes",
					power.Clean(node.Name), m.Title(), power.Clean(all[byName].ID))
			}
			return m, i, nil
		}
		return power.Machine{}, 0, err
	}
	return power.Machine{}, 0, power.ErrNoMachine
}

// Only returns the index of the only match. It returns power.ErrNoMachine if there is
// none, and a *power.AmbiguousError if there are several; name returns a machine's
// name for that error.
func Only[T any](node power.NodeRef, all []T, matches func(T) bool, name func(T) string) (int, error) {
	found, e := -1, &power.AmbiguousError{Node: node.Name}
	for i, c := range all {
		if matches(c) {
			found, e.Matches = i, append(e.Matches, power.Clean(name(c)))
		}
	}
	switch len(e.Matches) {
	case 0:
		return 0, power.ErrNoMachine
	case 1:
		return found, nil
	}
	return 0, e
}

// shared gives an address that the machine and the node have in common.
func shared(c Candidate, node power.NodeRef) string {
	for _, a := range c.Addresses {
		if slices.ContainsFunc(node.Addresses, func(n string) bool { return power.SameIP(a, n) }) {
			return a
		}
	}
	return ""
}
