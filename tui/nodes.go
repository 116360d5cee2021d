package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// nodesPane lists the nodes with their words, their machines' power and their
// pods as dots.
type nodesPane struct {
	list  list[string]
	rows  []*cluster.Node
	ready int // of total
	total int
}

var nodeColumns = []column{
	{ease: 12, min: 8, middle: true},        // name
	{least: 20, leastShort: 12, short: 1},   // word
	{least: 3, drop: 1},                     // power
	{short: 2, drop: 2},                     // pods
	{drop: 3},                               // when it will be marked
	{least: 20, ease: 20, min: 20, drop: 4}, // what the machine's driver says
}

// nodeWordColumn is where the sign for a change stands, nodeForecastColumn where
// the next mark is told; roomyNodes the width from which the last column is there.
const (
	nodeWordColumn     = 1
	nodeForecastColumn = 4
	roomyNodes         = 72
)

func (p *nodesPane) settle(s *scene) {
	all := s.snap.Nodes()
	p.rows, p.ready, p.total = all, 0, 0
	if p.list.filter != "" {
		p.rows = nil
	}
	for _, n := range all {
		if n.Gone.IsZero() {
			p.total++
			if n.Ready == cluster.TriTrue {
				p.ready++
			}
		}
		if p.list.filter != "" && matches(p.list.filter, n.Name) {
			p.rows = append(p.rows, n)
		}
	}
	p.list.settle(len(p.rows), func(i int) string { return p.rows[i].Name })
}

func (p *nodesPane) title(s *scene) (string, string) {
	facts := []string{}
	if n := len(s.marks); n > 0 {
		facts = append(facts, fmt.Sprintf("%d marked", n))
	}
	if p.total > 0 {
		facts = append(facts, fmt.Sprintf("%d/%d ready", p.ready, p.total))
	}
	return "Nodes" + filterTitle(s, p.list.filter), strings.Join(facts, " "+s.t.bullet+" ")
}

func (p *nodesPane) draw(s *scene, w, h int, focus bool) []string {
	if len(p.rows) == 0 {
		return s.message(s.t.dim, orNone(s.missing(cluster.KindNode), "no nodes", p.list.filter), w, h)
	}
	const lead = 4
	from, to := p.list.window(h)
	cols := nodeColumns
	if w < roomyNodes {
		cols = cols[:5]
	}
	rows := make([][]cell, 0, to-from)
	for _, n := range p.rows[from:to] {
		rows = append(rows, p.cells(s, n)[:len(cols)])
	}
	fitted := fitColumns(w-lead-1, cols, rows)
	if before := fitColumns(w-lead-1, cols, without(rows, nodeForecastColumn)); !slices.Equal(before.short, fitted.short) ||
		before.dropped() < fitted.dropped() || before.widths[0] > fitted.widths[0] {
		// A forecast is not worth a word shortened for it.
		rows, fitted = without(rows, nodeForecastColumn), before
	}
	out := make([]string, 0, h)
	for i, n := range p.rows[from:to] {
		r := newRow(w).lead(s.t, n.Name == p.list.cursor, focus, p.list.moved)
		if s.marks[n.Name] {
			r.put(s.t.fresh, s.t.mark)
		} else {
			r.space(1)
		}
		sign, st := nodeSign(s, n)
		r.put(st, sign).space(1)
		changed := -1
		if s.fresh(n.Changed) {
			changed = nodeWordColumn
		}
		r.cells(s.t, fitted, cols, rows[i], changed)
		out = append(out, r.String())
	}
	return fill(out, w, h)
}

// without gives the rows with one column emptied.
func without(rows [][]cell, column int) [][]cell {
	out := make([][]cell, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
		out[i][column] = cell{}
	}
	return out
}

func (p *nodesPane) cells(s *scene, n *cluster.Node) []cell {
	_, st := nodeSign(s, n)
	word := s.t.text(s.snap.NodeWord(n, s.now))
	name := s.t.text(n.Name)
	nameLook := style("")
	if n.ControlPlane {
		nameLook = s.t.dim
	}
	if s.fresh(n.Changed) {
		st = s.t.just(st)
	}
	m, known := s.f.Power[n.Name]
	powerText, powerLook := powerWord(s.t, m, known)
	return []cell{
		textCell(nameLook, name),
		shortCell(st, word, shortNodeWord(word)),
		textCell(powerLook, powerText),
		podDots(s, n),
		textCell(s.t.warn, markedIn(s, n)),
		textCell(s.t.dim, s.t.text(machineText(m))),
	}
}

// markedIn says how long it is until a silent node will be marked NotReady, at
// the earliest; empty for others.
func markedIn(s *scene, n *cluster.Node) string {
	if _, silent := s.snap.Silent(n, s.now); !silent {
		return ""
	}
	from, to, ok := s.snap.NotReadyAt(n)
	switch {
	case !ok:
		return ""
	case from.After(s.now):
		return "NotReady in " + age(from.Sub(s.now).Round(time.Second))
	case to.After(s.now):
		return "NotReady now"
	}
	return "NotReady overdue"
}

// machineText is the newest sentence on a machine.
func machineText(m view.MachineView) string {
	if m.Text != "" {
		return m.Text
	}
	return m.Reading.Detail
}

// nodeSign is the symbol and look of a node's state.
func nodeSign(s *scene, n *cluster.Node) (string, style) {
	_, silent := s.snap.Silent(n, s.now)
	switch {
	case !n.Gone.IsZero():
		return s.t.dash, s.t.dim
	case n.Ready != cluster.TriTrue:
		return s.t.badSign, s.t.bad
	case silent:
		return s.t.warnSign, s.t.warn
	}
	return " ", s.t.good
}

// shortNodeWord shortens a node's word and keeps what matters.
func shortNodeWord(word string) string {
	word, cordoned := strings.CutSuffix(word, ",SchedulingDisabled")
	word = strings.Replace(word, "NotReady (silent ", "NotReady ", 1)
	word = strings.Replace(word, "Ready (silent ", "silent ", 1)
	word = strings.Replace(word, "NotReady (shutting down)", "shutting down", 1)
	word = strings.Replace(word, "Ready (shutting down)", "shutting down", 1)
	word = strings.TrimSuffix(word, ")")
	if cordoned {
		word += " cordoned"
	}
	return word
}

// powerWord says in one word what is known of a machine. Only a proven "off"
// stands without a question mark.
func powerWord(t *theme, m view.MachineView, known bool) (string, style) {
	switch {
	case !known:
		return t.dash, t.dim
	case m.Busy != "" && (m.Phase == power.PhaseAsking || m.Phase == power.PhaseAccepted):
		verb := map[power.Action]string{power.ActionOn: "on", power.ActionOff: "off", power.ActionShutdown: "off"}[m.Busy]
		return verb + t.ellipsis, t.fresh
	case m.Busy != "" && m.Phase == power.PhaseFailed:
		return "fail", t.bad
	case m.Busy != "" && m.Phase == power.PhaseUncertain:
		return "unsure", t.bad
	}
	switch r := m.Reading; r.State {
	case power.On:
		return "on", t.good
	case power.Off:
		if r.Proof == power.Proven {
			return "off", t.bad
		}
		return "off?", t.bad
	case power.Transitioning:
		return "busy", t.warn
	}
	return "?", t.warn
}

// podDots shows a node's pods: ready, not ready, leaving.
func podDots(s *scene, n *cluster.Node) cell {
	const most = 12
	var up, down, leaving int
	for _, p := range s.snap.PodsOn(n.Name) {
		switch {
		case !p.Gone.IsZero(), p.Phase == "Succeeded", p.Phase == "Failed":
		case !p.Deleting.IsZero():
			leaving++
		case p.Ready:
			up++
		default:
			down++
		}
	}
	t := s.t
	var dots, counts []span
	for _, part := range []struct {
		n    int
		st   style
		sign string
	}{{up, t.good, t.up}, {down, t.bad, t.down}, {leaving, t.warn, t.leaving}} {
		if part.n > 0 {
			dots = append(dots, span{part.st, strings.Repeat(part.sign, part.n)})
			if len(counts) > 0 {
				counts = append(counts, span{"", " "})
			}
			counts = append(counts, span{part.st, fmt.Sprintf("%d%s", part.n, part.sign)})
		}
	}
	if up+down+leaving > most {
		return cell{spans: counts}
	}
	return cell{spans: dots, short: counts}
}

func filterTitle(s *scene, filter string) string {
	if filter == "" {
		return ""
	}
	return " /" + s.t.text(filter)
}

// orNone chooses what an empty pane says.
func orNone(missing, none, filter string) string {
	switch {
	case missing != "":
		return missing
	case filter != "":
		return none + " match the filter"
	}
	return none
}
