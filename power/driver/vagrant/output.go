package vagrant

import (
	"slices"
	"strings"

	"lightsout/internal/text"
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
func lines(printed string) (out []line) {
	for raw := range strings.Lines(printed) {
		parts := strings.Split(strings.TrimRight(raw, "\r\n"), ",")
		if len(parts) < 3 || parts[0] == "" || strings.Trim(parts[0], "0123456789") != "" {
			continue
		}
		out = append(out, line{unescape.Replace(parts[1]), parts[2], text.Each(parts[3:], unescape.Replace)})
	}
	return out
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
func machines(printed string) map[string]string {
	out := map[string]string{}
	for _, l := range lines(printed) {
		if l.kind == "state" && l.target != "" && len(l.data) > 0 {
			out[l.target] = l.data[0]
		}
	}
	return out
}

// words are those that providers use for their machines' states, by what they mean: VirtualBox,
// libvirt, Hyper-V, VMware, Parallels, Docker, QEMU, UTM, LXC, ESXi, Multipass and clouds. In a
// word "-" stands for "_". A machine that is saved, suspended, paused or crashed is neither on nor
// off, and its word is unknown like each that is not here.
var words = map[power.State]string{
	power.On:  "running started powered_on poweredon active blocked runningcritical livesnapshotting onlinesnapshotting",
	power.Off: "poweroff powered_off poweredoff shutoff off stopped not_running aborted offcritical offline",
	power.Transitioning: "starting stopping shutdown shutting_down preparing restoring saving booting pending provisioning pausing resuming " +
		"suspending freezing snapshotting fastsaving restarting rebooting reset aborting powering_on powering_off settingup teleporting delayed_shutdown",
}

// stateOf returns what a provider's word means.
func stateOf(word string) power.State {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	for state, known := range words {
		if slices.Contains(strings.Fields(known), word) {
			return state
		}
	}
	return power.Unknown
}

// reading maps a state, and shows its word.
func reading(state string) power.Reading {
	if state == "" {
		return power.Reported(power.Unknown, "the Vagrantfile defines no such machine")
	}
	return power.Reported(stateOf(state), "vagrant: "+state)
}
