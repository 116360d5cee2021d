package vagrant

import (
	"slices"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/program"
)

// line is one line of machine-readable output: timestamp,target,type,data...
type line struct {
	target, kind string
	data         []string
}

var unescape = strings.NewReplacer("%!(VAGRANT_COMMA)", ",", `\n`, "\n", `\r`, "\r")

// lines reads machine-readable output. What is not, such as a warning of Ruby's
// or of a plugin, is left out.
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

// Words that providers use for their machines' states: VirtualBox, libvirt,
// Hyper-V, VMware, Parallels, Docker.
var (
	onWords  = []string{"running"}
	offWords = []string{"poweroff", "shutoff", "off", "stopped", "not_running", "aborted"}
	midWords = []string{"starting", "stopping", "shutdown", "shutting_down", "preparing", "restoring", "saving"}
)

// reading maps a state. A machine that is saved, suspended or paused is neither
// on nor off.
func reading(state string) power.Reading {
	r := power.Reading{Detail: power.Clean("vagrant: " + state), At: time.Now()}
	switch {
	case slices.Contains(onWords, state):
		r.State, r.Proof = power.On, power.Proven
	case slices.Contains(offWords, state):
		r.State, r.Proof = power.Off, power.Proven
	case slices.Contains(midWords, state):
		r.State, r.Proof = power.Transitioning, power.Proven
	case state == "":
		r.Detail = "the Vagrantfile defines no such machine"
	}
	return r
}
