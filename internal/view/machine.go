package view

import (
	"cmp"
	"strings"

	"lightsout/power"
)

// MachineNames are the names of one machine.
type MachineNames struct{ Name, ID, Address string }

// NamesOf returns the names of a node's two machines: first the one to power off, then
// the one to power on.
func NamesOf(b power.Binding) (out [2]MachineNames) {
	for i, m := range []*power.Machine{b.Off, b.On} {
		if m != nil {
			out[i] = MachineNames{m.Name, m.ID, m.Address}
		}
	}
	return out
}

// MachineText names the machines that stand for a node, for people.
func MachineText(b power.Binding) string {
	if b.Off == nil && b.On == nil && b.OffErr != nil && b.OnErr != nil && b.OffErr.Error() == b.OnErr.Error() {
		return "off and on: " + b.OnErr.Error()
	}
	var parts []string
	if b.Off != nil {
		parts = append(parts, "off: "+named(b.Off, b.Off.Title()))
	} else if b.OffErr != nil {
		parts = append(parts, "off: "+b.OffErr.Error())
	}
	if b.On != nil {
		parts = append(parts, "on: "+named(b.On, b.On.Title()))
	} else if b.OnErr != nil {
		parts = append(parts, "on: "+b.OnErr.Error())
	}
	return strings.Join(parts, " · ")
}

// MachineRoute names one machine for people, without an identifier that means nothing
// to them.
func MachineRoute(m *power.Machine) string { return named(m, cmp.Or(power.Clean(m.Name), m.Title())) }

func named(m *power.Machine, name string) string {
	if m.Driver == "ssh" {
		name = m.ID
	}
	text := m.Driver + " " + name
	if address := m.Params[power.ParamAddress]; address != "" {
		text += " at " + power.Clean(address)
	}
	level := m.Params[power.ParamServiceLevel]
	switch {
	case level == "" || m.Driver == "ssh":
	case level == spot:
		text += ", spot: " + m.Driver + " may refuse to start it when it is short of capacity"
	default:
		text += ", service level " + level
		if m.Params[power.ParamServiceLevelFrom] == power.ServiceLevelAssumed {
			text += " (assumed)"
		}
	}
	return text
}

// spot is the service level of machines that may be without one.
const spot = "spot"

// SwitchVerb is what an action does, for people.
func SwitchVerb(a power.Action) string {
	switch a {
	case power.ActionOn:
		return "Power on"
	case power.ActionOff:
		return "Pull the plug on"
	default:
		return "Shut down"
	}
}
