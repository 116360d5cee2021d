package vagrant

import (
	"strings"

	"lightsout/power"
	"lightsout/power/internal/program"
)

// line is one line of machine-readable output: timestamp,target,type,data...
type line struct {
	target, kind string
	data         []string
}

var unescape = strings.NewReplacer("%!(VAGRANT_COMMA)", ",", `\n`, "\n", `\r`, "\r")

// lines reads machine-readable output. It skips other lines, such as
// warnings of Ruby or of a plugin.
func lines(text string) []line {
	var out []line
	for raw := range strings.Lines(text) {
		parts := strings.Split(strings.TrimRight(raw, "\r\n"), ",")
		if len(parts) < 3 || !digits(parts[0]) {
			continue
		}
		l := line{target: unescape.Replace(parts[1]), kind: parts[2]}
		for _, p := range parts[3:] {
			l.data = append(l.data, unescape.Replace(p))
		}
		out = append(out, l)
	}
	return out
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// failure is why a command ended without success: the class of Vagrant's own
// error, and what it says, in one harmless line.
func failure(r program.Result) (class, why string) {
	for _, l := range lines(r.Stdout) {
		if l.kind == "error-exit" && len(l.data) > 0 {
			class = strings.TrimPrefix(l.data[0], "Vagrant::Errors::")
			return power.Clean(class), power.Clean(strings.Join(l.data[1:], ", "))
		}
	}
	return "", "it " + r.How()
}

// machines reads the output of a status: each machine's state, in Vagrant's
// words.
func machines(text string) map[string]string {
	out := map[string]string{}
	for _, l := range lines(text) {
		if l.kind == "state" && l.target != "" && len(l.data) > 0 {
			out[l.target] = l.data[0]
		}
	}
	return out
}

// states are what the words mean that providers use for their machines' states:
// VirtualBox, libvirt, Hyper-V, VMware, Parallels, Docker. A machine that is
// saved, suspended or paused is neither on nor off.
var states = map[string]power.State{
	"running":  power.On,
	"poweroff": power.Off, "shutoff": power.Off, "off": power.Off, "stopped": power.Off, "not_running": power.Off, "aborted": power.Off,
	"starting": power.Transitioning, "stopping": power.Transitioning, "shutdown": power.Transitioning, "shutting_down": power.Transitioning,
	"preparing": power.Transitioning, "restoring": power.Transitioning, "saving": power.Transitioning,
}

// reading maps a state.
func reading(state string) power.Reading {
	if state == "" {
		return power.Reported(power.Unknown, "the Vagrantfile defines no such machine")
	}
	return power.Reported(states[state], "vagrant: "+state)
}
