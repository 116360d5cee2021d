package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
)

// View returns the screen as of the last message: every line is exactly as wide as the
// terminal. It changes nothing.
func (m *Model) View() tea.View { return m.drawn }

// screen draws the screen. It stores when a question was first drawn.
func (m *Model) screen() tea.View {
	m.clock()
	v := tea.NewView(strings.Join(m.draw(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "lightsout"
	if c := clean(m.s.f.Cluster); c != "" {
		v.WindowTitle += " " + fit(c, 60, m.s.t.ellipsis)
	}
	return v
}

func (m *Model) draw() []string {
	w, h := m.w, m.h
	if w < 1 || h < 1 {
		return nil
	}
	t := m.s.t
	m.s.h = h
	if w < minWidth || h < minHeight {
		m.dialogs.hidden()
		m.step.uncovered()
		text := fmt.Sprintf("%dx%d is too small for the screen: please make it %dx%d or larger", w, h, minWidth, minHeight)
		return m.s.message(t.strong, text, w, h)
	}
	lines := append(make([]string, 0, h), header(m, w))
	if text := banner(m, w-2); text != "" {
		text = " " + text
		lines = append(lines, newRow(w).put(t.alarm, text+blank(w-width(text))).String())
	}
	caption := captionLines(m, w)
	keys := btoi(!m.picture)
	left := h - len(lines) - keys - len(caption)
	if m.s.f.Replay != nil {
		left--
	}
	l := m.arrange(w, left)
	if text := strip(m, w, l.shows(m.find("Trial"))); text != "" {
		lines = append(lines, text)
		l = m.arrange(w, left-1)
	}
	bottom := h - keys - len(caption)
	lines = fill(append(lines, m.body(w, l)...), w, bottom)
	if m.step.waits && m.dialogs.top() == nil {
		m.step.grace.shown(m.opts.Now())
	}
	return slices.Concat(m.dialogs.draw(&m.s, lines, w, bottom), caption, []string{m.keyBar(w)}[:keys])
}

// body draws the panes as arranged, w cells wide.
func (m *Model) body(w int, l layout) []string {
	s := &m.s
	var out []string
	sections := m.sections(l.lower)
	if len(l.left) > 0 {
		half := l.left[0].w + 2
		out = beside(drawBox(s.t, half, m.sections(l.left), false, span{}), drawBox(s.t, w-half, m.sections(l.right), false, span{}))
		sections[0].joined = true
	} else {
		sections[0].others = m.others(l)
	}
	if s.f.Replay != nil {
		last := &sections[len(sections)-1]
		last.lines = append(slices.Clone(last.lines), scrubber(s, w-2))
	}
	return append(out, drawBox(s.t, w, sections, true, m.foot(w-4))...)
}

// others are the panes that have no room, by their digits and names.
func (m *Model) others(l layout) []string {
	var out []string
	for _, p := range m.panes {
		if p.isThere(m.s.f) && !l.shows(p) {
			out = append(out, fmt.Sprintf("%d %s", p.number, p.name))
		}
	}
	return out
}

func (m *Model) sections(panes []placed) []section {
	out := make([]section, 0, len(panes))
	for _, p := range panes {
		drawn, filter := m.pane(p), ""
		if f := p.filter(); f != nil {
			filter = f.title(&m.s, p.w-9-width(drawn.sight))
		}
		out = append(out, section{drawing: drawn, number: fmt.Sprint(p.number), filter: filter, active: p.openPane == m.active})
	}
	return out
}

// drawnFor holds everything that a drawn pane depends on: while it is equal, the pane
// is not drawn again.
type drawnFor struct {
	size
	active  bool
	second  int64
	changes int // of the frame, and of the operator's choices
}

// pane draws a pane; the API server's data is faint while the server does not answer.
func (m *Model) pane(p placed) drawing {
	now := drawnFor{p.size, p.openPane == m.active, m.s.now.Unix(), m.changes}
	if p.drawnFor == now {
		return p.drawn
	}
	p.drawn, p.drawnFor = p.draw(&m.s, p.w, p.h, now.active), now
	if p.place != placeLower && m.s.snap.Link.State == cluster.LinkDisconnected {
		p.drawn.lines = dimmed(m.s.t, p.drawn.lines)
	}
	return p.drawn
}

// foot returns the newest message, for the bottom of the frame, in at most w
// cells.
func (m *Model) foot(w int) span {
	t, f, st, text := m.s.t, m.s.f, style(""), ""
	switch n, ok := m.notices.standing(m.opts.Now()); {
	case ok:
		st, text = n.st, t.text(n.text)
	case len(f.LeavesAfter) > 0:
		st, text = t.fresh, t.warnSign+" leaving as soon as these are back: "+t.text(strings.Join(f.LeavesAfter, ", "))+"; q asks again"
	default:
		return span{}
	}
	if width(text) > w-2 {
		all := " " + t.bullet + " M: all of it"
		text = fit(text, w-2-width(all), t.ellipsis) + all
	}
	return span{st, " " + text + " "}
}

// keyBar names the keys that matter here, on the last line of the screen: those
// of the dialog while there is one. How to get help and how to leave always
// stand there.
func (m *Model) keyBar(w int) string {
	t := m.s.t
	r := newRow(w).space(1)
	if d := m.dialogs.top(); d != nil {
		if m.dialogs.asked != nil && d != m.dialogs.asked {
			r.put(t.fresh, "asked once this is closed: "+fit(t.text(m.dialogs.asked.title()), w/2, t.ellipsis)).space(2)
		}
		return r.put(t.dim, fit(t.text(d.foot()), r.left-1, t.ellipsis)).String()
	}
	sep := " " + t.bullet + " "
	always := []string{"? help", "q quit"}
	used := width(strings.Join(always, sep)) + 2
	var parts []string
	for _, b := range barBindings(m) {
		text := t.text(b.first()) + " " + b.short
		if used+width(text)+width(sep) > w {
			break
		}
		used += width(text) + width(sep)
		parts = append(parts, text)
	}
	for i, part := range slices.Concat(parts, always) {
		if i > 0 {
			r.put(t.dim, sep)
		}
		k, word, _ := strings.Cut(part, " ")
		r.put(t.strong, k).put(t.dim, " "+word)
	}
	return r.String()
}
