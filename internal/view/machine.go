package view

import (
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
		parts = append(parts, "off: "+plainly(b.Off, b.Off.Title())+level(b.Off))
	} else if b.OffErr != nil {
		parts = append(parts, "off: "+b.OffErr.Error())
	}
	if b.On != nil {
		parts = append(parts, "on: "+plainly(b.On, b.On.Title())+level(b.On))
	} else if b.OnErr != nil {
		parts = append(parts, "on: "+b.OnErr.Error())
	}
	return strings.Join(parts, " · ")
}

// MachineRoute names the machine that powers a node on, for people, without an identifier that means
// nothing to them.
func MachineRoute(node string, m *power.Machine) string { return MachineName(node, m) + level(m) }

// MachineName is MachineRoute for switching off, which no service level concerns. It leaves out a name that
// is the node's own.
func MachineName(node string, m *power.Machine) string {
	name := m.Called()
	if name == node && m.Driver != "ssh" {
		name = ""
	}
	return plainly(m, name)
}

// plainly is the driver with a name of the machine, and with its address.
func plainly(m *power.Machine, name string) string {
	if m.Driver == "ssh" {
		name = m.ID
	}
	text := strings.TrimSpace(m.Driver + " " + name)
	if address := m.Params[power.ParamAddress]; address != "" {
		text += " at " + power.Clean(address)
	}
	return text
}

// level is the service level with which a machine is powered on, after a comma.
func level(m *power.Machine) string {
	switch level := m.Params[power.ParamServiceLevel]; {
	case level == "" || m.Driver == "ssh":
		return ""
	case level == "spot":
		return ", spot: " + m.Driver + " may refuse to start it when it is short of capacity"
	case m.Params[power.ParamServiceLevelFrom] == power.ServiceLevelAssumed:
		return ", service level " + level + " (assumed)"
	default:
		return ", service level " + level
	}
}

// SwitchVerb is what an action does, for people.
func SwitchVerb(a power.Action) string {
	return map[power.Action]string{power.ActionOn: "Power on", power.ActionOff: "Pull the plug on", power.ActionShutdown: "Shut down"}[a]
}
