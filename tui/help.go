package tui

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/text"
)

// openHelp opens the help, from the keys themselves: the active pane first.
func openHelp(m *Model) {
	active := m.active.paneSpec
	m.dialogs.open(&factsDialog{heading: "Help", facts: func(s *scene) []fact {
		var out []fact
		if s.f.Program != "" {
			out = append(out, fact{}, fact{label: "In another terminal (:join)"}, fact{label: "  the same cluster", value: s.t.text(s.f.Program)})
		}
		for _, g := range usableGroups(m, active) {
			out = append(out, fact{}, fact{label: g.title})
			for _, b := range g.bindings {
				h := b.key.Help()
				out = append(out, fact{label: "  " + s.t.text(h.Key), value: s.t.text(h.Desc)})
			}
		}
		for _, part := range signs(s.t) {
			out = append(out, fact{}, fact{label: part.title})
			out = append(out, text.Each(part.signs, func(l [2]string) fact { return fact{label: "  " + l[0], value: l[1]} })...)
		}
		return out[1:]
	}})
}

// Keys lists every key of the screen as text, in the groups of the help: keys of all
// panes, of each pane, and of a replay.
func Keys() string {
	var b strings.Builder
	for _, g := range keyGroups() {
		b.WriteString(g.title + "\n")
		for _, k := range g.bindings {
			h := k.key.Help()
			fmt.Fprintf(&b, "  %-14s %s\n", h.Key, h.Desc)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// keyGroups returns the keys that every screen has.
func keyGroups() []group {
	all := []group{{"Objects", rowKeys}}
	for _, spec := range paneSpecs {
		own := slices.DeleteFunc(slices.Clone(spec.keys), func(b binding) bool {
			return slices.ContainsFunc(rowKeys, func(r binding) bool { return r.key.Help() == b.key.Help() })
		})
		if len(own) > 0 {
			all = append(all, group{"Pane " + spec.name, own})
		}
	}
	return append(all, commonKeys()...)
}

// signList explains the signs of one part of the screen.
type signList struct {
	title string
	signs [][2]string
}

// signs explains every sign on the screen.
func signs(t *theme) []signList {
	return []signList{
		{"Symbols of nodes and pods", [][2]string{
			{t.badSign + " " + t.warnSign, "node not Ready; silent: no heartbeat when one was due"},
			{t.mark, "marked"},
			{t.up + " " + t.down + " " + t.leaving + " " + t.dash, "pod ready, not ready, being deleted, gone; 34" + t.up + " is 34 of them"},
			{t.changed, "has just changed"},
			{"on off off?", "the machine's power; off: proven by a power API; off?: presumed, nothing answers"},
			{"on" + t.ellipsis + " off" + t.ellipsis + " busy", "being switched on, off; busy: transitioning by itself"},
			{"?", "a machine's power: unknown (asking" + t.ellipsis + ": not polled yet)"},
			{t.aim, "the deployment that is measured; its bars are the last minute's available pods"},
		}},
		{"Symbols of requests", [][2]string{
			{t.layerSigns(layerServed, layerQueued), "serving: a pod works on it now; or answered; queued" + t.byColour()},
			{t.layerSigns(layerStalled, layerOnDead), "stalled: no answer arrives; sent to dead nodes" + t.byColour()},
			{t.layerSigns(layerWaiting), "waiting: sent and not answered" + t.byColour()},
			{t.layerSigns(layerUnknown), "unknown: queued, or sent to a pod that is gone" + t.byColour()},
			{t.free, "capacity that is free"},
			{t.rules[4], "the capacity; with gaps: the target capacity; " + t.tickNow + " " + t.tickTarget + " in the gauge's bar"},
			{t.sent + " " + t.open, "requests sent then: all have ended; some have not"},
			failLegend(),
			{t.offOnly + " " + t.offNotReady + " " + t.notReady, "below the chart, a node: off and not noticed yet; off and NotReady; on and not Ready yet"},
			{t.noData, "on the axis: a second in which nothing was read"},
		}},
		{"Symbols of timeline and trial", [][2]string{
			{t.okSign + " " + t.warnSign + " " + t.badSign, "good or done; mind this; bad or failed"},
			{t.toCome + " " + t.underWay, "step to come; under way, or waiting for its key"},
		}},
	}
}

// layerSigns returns the signs of layers; it is only one sign if colours distinguish
// the layers.
func (t *theme) layerSigns(all ...layer) string {
	return strings.Join(slices.Compact(text.Each(all, func(l layer) string { return t.fills[l].full })), " ")
}

// byColour returns a remark for the help if layers share one sign.
func (t *theme) byColour() string {
	if t.textured {
		return ""
	}
	return ", in the colour of its label"
}
