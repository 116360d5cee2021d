package view

import (
	"strings"

	"lightsout/power"
)

// MachineText names the machines that stand for a node, for people.
func MachineText(b power.Binding) string {
	var parts []string
	if b.Off != nil {
		parts = append(parts, "off: "+MachineName(b.Off))
	} else if b.OffErr != "" {
		parts = append(parts, "off: "+b.OffErr)
	}
	if b.On != nil {
		parts = append(parts, "on: "+MachineName(b.On))
	} else if b.OnErr != "" {
		parts = append(parts, "on: "+b.OnErr)
	}
	return strings.Join(parts, " · ")
}

// MachineName names one machine, for people.
func MachineName(m *power.Machine) string {
	text := m.Driver
	switch {
	case m.Driver == "ssh":
		text += " " + m.ID
	default:
		text += " " + m.Title()
	}
	if level := m.Params[power.ParamServiceLevel]; level != "" && m.Driver != "ssh" {
		text += ", service level " + level
		if m.Params[power.ParamServiceLevelFrom] == "assumed" {
			text += " (assumed)"
		}
	}
	return text
}

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
