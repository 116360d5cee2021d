package tui

// helpFacts is the help, from the keys themselves: the pane in focus first.
func helpFacts(m *Model) func(*scene) []fact {
	focus := m.focus.paneSpec
	return func(s *scene) []fact {
		t := s.t
		var out []fact
		for _, g := range usableGroups(m, focus) {
			out = append(out, fact{}, fact{label: g.title})
			for _, b := range g.bindings {
				h := b.key.Help()
				out = append(out, fact{label: "  " + t.text(h.Key), value: t.text(h.Desc)})
			}
		}
		for _, part := range signs(t) {
			if ok, _ := (binding{need: part.need}).usable(m); !ok {
				continue
			}
			out = append(out, fact{}, fact{label: part.title})
			for _, l := range part.signs {
				out = append(out, fact{label: "  " + l[0], value: l[1]})
			}
		}
		return out[1:]
	}
}

// signList explains the signs of one part of the screen.
type signList struct {
	title string
	need  need
	signs [][2]string
}

// signs explains every sign on the screen.
func signs(t *theme) []signList {
	return []signList{
		{"Signs of nodes and pods", needCluster, [][2]string{
			{t.badSign + " " + t.warnSign, "node not Ready; silent: no heartbeat when one was due"},
			{t.mark, "marked"},
			{t.up + " " + t.down + " " + t.leaving + " " + t.dash, "pod ready, not ready, being deleted, gone; 34" + t.up + " is 34 of them"},
			{t.changed, "has just changed"},
			{"on off off?", "the machine's power: proven by a power API; off? is presumed: nothing answers"},
			{"on" + t.ellipsis + " off" + t.ellipsis + " busy", "being switched on, off; on its way"},
			{"?", "of a machine's power: it can't be told (asking" + t.ellipsis + ": not looked at yet)"},
			{t.aim, "the load goes to this deployment; its bars are the last minute's available pods"},
		}},
		{"Signs of requests", 0, [][2]string{
			{t.full + " " + t.light, "served; queued"},
			{t.stalled + " " + t.onDead, "stalled: nothing comes back; sent to dead nodes"},
			{t.free, "capacity that is free"},
			{t.line + " " + t.target, "capacity; target, what it should be; " + t.tickNow + " " + t.tickTarget + " in the gauge's bar"},
			{t.sent + " " + t.open, "requests sent then: all have ended; some have not"},
			failLegend(),
			{t.offOnly + " " + t.offNotReady + " " + t.notReady, "below the chart, a node: off and not noticed yet; off and NotReady; on and not Ready yet"},
			{t.unread, "in the chart: a second in which served and queued were not read"},
			{"2", "among those: so many nodes at once"},
		}},
		{"Signs of timeline and trial", needCluster, [][2]string{
			{t.okSign + " " + t.warnSign + " " + t.badSign, "good or done; mind this; bad or failed"},
			{t.toCome + " " + t.underWay, "step to come; under way, or waiting for its key"},
		}},
	}
}

func openHelp(m *Model) {
	m.dialogs.open(&factsDialog{heading: "Help", facts: helpFacts(m)})
}
