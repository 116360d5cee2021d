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
	left := h - len(lines)
	if m.s.f.Replay != nil {
		left -= scrubberHeight(h)
	}
	l := arrange(w, left, m.wish())
	if strip := m.strip(w, l.shows(paneTrial)); strip != "" {
		lines = append(lines, strip)
		l = arrange(w, left-1, m.wish())
	}
	lines = fill(append(lines, m.body(w, h, l)...), w, h)
	if m.step.waits && len(m.dialogs) == 0 {
		m.step.grace.shown(m.opts.Now())
	}
	for _, d := range m.dialogs {
		box, x, y, wide := frameDialog(&m.s, d, w, h)
		lines = over(t, lines, box, w, x, y, wide)
		if q, ok := d.(*questionDialog); ok {
			q.grace.shown(m.opts.Now())
		}
	}
	return lines
}

// wish is what the layout has to go by.
func (m *Model) wish() wish {
	return wish{focus: m.focus, list: m.list, zoom: m.zoom, trial: m.s.f.Trial != nil,
		deployments: len(m.deployments.rows), items: max(len(m.nodes.rows), len(m.pods.rows))}
}

// body draws the panes as arranged, w cells wide on a screen h cells high.
func (m *Model) body(w, h int, l layout) []string {
	s := &m.s
	foot, footWidth := m.keyBar(w - 4)
	var out []string
	lower := []paneID{paneRequests, paneTimeline, paneTrial}
	if !l.stacked {
		left := drawBox(s.t, l.left, m.sections(l, paneNodes), "", 0)
		right := drawBox(s.t, w-l.left, m.sections(l, paneDeployments, panePods), "", 0)
		for i := range left {
			out = append(out, left[i]+right[i])
		}
	} else {
		lower = append([]paneID{paneNodes, paneDeployments, panePods}, lower...)
	}
	sections := m.sections(l, lower...)
	if s.f.Replay != nil {
		sections = withScrubber(s, sections, w-2, h)
	}
	return append(out, drawBox(s.t, w, sections, foot, footWidth)...)
}

func (m *Model) sections(l layout, panes ...paneID) []section {
	out := make([]section, 0, len(panes))
	for _, p := range panes {
		if !l.shows(p) {
			continue
		}
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
	case paneTrial:
		return m.trial.title(&m.s)
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
	case paneTrial:
		key.data = m.trialGen
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
	case paneTrial:
		lines = m.trial.draw(s, sz.w, sz.h, focus)
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
	case f.Notice.Text != "" && m.s.now.Sub(f.Notice.At) < noticeFor:
		return say(t.fresh, t.warnSign+" "+f.Notice.Text)
	}
	sep := " " + t.bullet + " "
	parts := []string{}
	used := width(" ? help ")
	for _, b := range m.keys().barBindings(m.focus, moment{readOnly: f.ReadOnly, waiting: m.stepWaits(), trial: f.Trial != nil}) {
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
