package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/cluster"
)

// How long a sentence stands in the key bar.
const (
	flashFor  = 4 * time.Second
	noticeFor = 15 * time.Second
)

// drawn is a pane as it was drawn, and what for.
type drawn struct {
	key   drawKey
	lines []string
}

// drawKey is all that a drawn pane depends on: while it is the same, the pane
// is not drawn again.
type drawKey struct {
	size
	focus    bool
	second   int64
	ui, data uint64
}

// View gives the screen: every line is exactly as wide as the terminal.
func (m *Model) View() tea.View {
	if m.dirty {
		m.clock()
		m.content = strings.Join(m.draw(), "\n")
		m.dirty = false
	}
	v := tea.NewView(m.content)
	v.AltScreen = true
	v.WindowTitle = "lightsout"
	if c := clean(m.s.f.Cluster); c != "" {
		v.WindowTitle += " " + c
	}
	return v
}

func (m *Model) draw() []string {
	w, h := m.w, m.h
	if w < 1 || h < 1 {
		return nil
	}
	t := m.s.t
	if w < minWidth || h < minHeight {
		text := fmt.Sprintf("%dx%d is too small for the screen: please make it %dx%d or larger", w, h, minWidth, minHeight)
		return m.s.message(t.strong, text, w, h)
	}
	lines := append(make([]string, 0, h), m.header(w))
	if banner := m.banner(w - 2); banner != "" {
		text := " " + banner
		lines = append(lines, newRow(w).put(t.banner, text+blank(w-width(text))).String())
	}
	lines = fill(append(lines, m.body(w, h-len(lines))...), w, h)
	for _, d := range m.dialogs {
		box, x, y, wide := frameDialog(&m.s, d, w, h)
		lines = over(t, lines, box, w, x, y, wide)
		if q, ok := d.(*questionDialog); ok {
			q.grace.shown(m.opts.Now())
		}
	}
	return lines
}

// header names the cluster, the way to it, the link, the trial's clock and the
// modes.
func (m *Model) header(w int) string {
	t, f, link := m.s.t, m.s.f, m.s.snap.Link
	var state span
	switch link.State {
	case cluster.LinkLive:
		state = span{t.good, t.live + " live"}
		if old := m.s.now.Sub(link.LastContact); !link.LastContact.IsZero() && old >= 10*time.Second {
			state.s += " " + coarseAge(old)
		}
	case cluster.LinkLost:
		state = span{t.bad, t.badSign + " lost"}
	default:
		state = span{t.warn, t.connecting + " connecting"}
	}
	right := []span{}
	add := func(st style, s string) { right = append(right, span{st, s}) }
	if !f.Zero.IsZero() {
		add(t.strong, signed(m.s.now.Sub(f.Zero), false))
	}
	if f.Pace != "" && f.Pace != "real" {
		add(t.warn, "pace "+t.text(f.Pace))
	}
	if f.ReadOnly {
		add(t.warn, "read-only")
	}
	if f.DryRun {
		add(t.warn, "dry run")
	}
	if f.Production {
		add(t.bad, "PRODUCTION")
	}
	switch {
	case f.RecordErr != "":
		add(t.bad, t.badSign+" not recorded")
	case f.Recording:
		add(t.bad, t.rec+" rec")
	}
	rightWidth := 1
	for _, p := range right {
		rightWidth += width(p.s) + 3
	}
	r := newRow(w).space(1).put(t.title, "lightsout").space(2)
	name, via := t.text(f.Cluster), t.text(f.Via)
	room := r.left - rightWidth - width(state.s) - 3
	if via != "" && !strings.HasPrefix(via, "via ") {
		via = "via " + via
	}
	if via != "" && width(name)+2+width(via) > room {
		via = fit(via, max(0, room-width(name)-2), t.ellipsis)
		if width(via) < 8 {
			via = ""
		}
	}
	r.put(t.accent, fit(name, max(0, room), t.ellipsis))
	if via != "" {
		r.space(2).put(t.dim, via)
	}
	if m.any || name != "" {
		r.space(3)
	}
	r.put(state.st, state.s)
	r.space(r.left - rightWidth)
	for _, p := range right {
		r.space(3).put(p.st, p.s)
	}
	return r.String()
}

// banner is what must not be overlooked, in at most w cells; empty when all is
// well.
func (m *Model) banner(w int) string {
	t, f, link := m.s.t, m.s.f, m.s.snap.Link
	before, why, after := "", "", ""
	switch {
	case link.State == cluster.LinkLost:
		before, why = "STALE", t.text(link.Err)
		if !link.LastContact.IsZero() {
			before += " " + age(m.s.now.Sub(link.LastContact))
		}
		if why == "" {
			why = "the API server does not answer"
		}
		if left := link.NextTry.Sub(m.s.now); left > 0 {
			after = fmt.Sprintf(", next try in %d s", int64((left+time.Second-1)/time.Second))
		} else if !link.NextTry.IsZero() {
			after = ", trying now"
		}
	case f.RecordErr != "":
		before, why = "NOT RECORDED", t.text(f.RecordErr)
	default:
		return ""
	}
	before += " " + t.dash + " "
	return before + fit(why, w-width(before)-width(after), t.ellipsis) + after
}

// body draws the panes in w x h cells.
func (m *Model) body(w, h int) []string {
	s := &m.s
	items := max(len(m.nodes.rows), len(m.pods.rows))
	l := arrange(w, h, m.focus, m.list, m.zoom, len(m.deployments.rows), items)
	foot, footWidth := m.keyBar(w - 4)
	if !l.stacked {
		left := drawBox(s.t, l.left, m.sections(l, paneNodes), "", 0)
		right := drawBox(s.t, w-l.left, m.sections(l, paneDeployments, panePods), "", 0)
		for i := range left {
			left[i] += right[i]
		}
		return append(left, drawBox(s.t, w, m.sections(l, paneRequests, paneTimeline), foot, footWidth)...)
	}
	var shown []paneID
	for p := range paneCount {
		if l.shows(p) {
			shown = append(shown, p)
		}
	}
	return drawBox(s.t, w, m.sections(l, shown...), foot, footWidth)
}

func (m *Model) sections(l layout, panes ...paneID) []section {
	out := make([]section, 0, len(panes))
	for _, p := range panes {
		lines := m.pane(p, l.panes[p])
		title, facts := m.paneTitle(p)
		out = append(out, section{
			title: title, facts: facts, number: fmt.Sprint(int(p) + 1), lines: lines, focus: p == m.focus,
		})
	}
	return out
}

func (m *Model) paneTitle(p paneID) (string, string) {
	switch p {
	case paneNodes:
		return m.nodes.title(&m.s)
	case paneDeployments:
		return m.deployments.title(&m.s)
	case panePods:
		return m.pods.title(&m.s)
	case paneRequests:
		return m.requests.title(&m.s)
	}
	return m.timeline.title(&m.s)
}

// pane gives a pane's lines, drawn anew only if something they show has
// changed.
func (m *Model) pane(p paneID, sz size) []string {
	s, focus := &m.s, p == m.focus
	key := drawKey{size: sz, focus: focus, second: s.now.Unix(), ui: m.uiGen}
	switch p {
	case paneNodes, paneDeployments, panePods:
		key.data = m.snapGen<<32 | m.powerGen&0xffffffff
	case paneRequests:
		key.data = m.loadGen
	default:
		key.data = m.eventGen
	}
	if c := &m.cache[p]; c.key == key && c.lines != nil {
		return c.lines
	}
	var lines []string
	switch p {
	case paneNodes:
		lines = m.nodes.draw(s, sz.w, sz.h, focus)
	case paneDeployments:
		lines = m.deployments.draw(s, sz.w, sz.h, focus)
	case panePods:
		lines = m.pods.draw(s, sz.w, sz.h, focus)
	case paneRequests:
		lines = m.requests.draw(s, sz.w, sz.h, focus)
	default:
		lines = m.timeline.draw(s, sz.w, sz.h, focus)
	}
	if p <= panePods && s.snap.Link.State == cluster.LinkLost {
		lines = dimmed(s.t, lines)
	}
	m.cache[p] = drawn{key, lines}
	return lines
}

// keyBar names the keys that matter here, or says what must be said, in at
// most w cells.
func (m *Model) keyBar(w int) (string, int) {
	t, f := m.s.t, m.s.f
	say := func(st style, text string) (string, int) {
		text = " " + fit(t.text(text), w-2, t.ellipsis) + " "
		return string(st) + text + reset, width(text)
	}
	switch now := m.opts.Now(); {
	case m.flash != "" && now.Sub(m.flashAt) < flashFor:
		return say(t.strong, m.flash)
	case f.Notice != "" && m.s.now.Sub(f.NoticeAt) < noticeFor:
		return say(t.fresh, t.warnSign+" "+f.Notice)
	}
	sep := " " + t.bullet + " "
	parts := []string{}
	used := width(" ? help ")
	for _, b := range m.keys.bar(m.focus, f.ReadOnly) {
		text := t.text(b.firstKey()) + " " + b.short
		if used+width(text)+width(sep) > w {
			break
		}
		used += width(text) + width(sep)
		parts = append(parts, text)
	}
	parts = append(slices.Clone(parts), "? help")
	text := " " + strings.Join(parts, sep) + " "
	return text, width(text)
}
