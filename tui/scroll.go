package tui

import (
	"fmt"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/internal/view"
)

// fact is one line of a details or help dialog: a heading if value is empty, or an
// unformatted line over the whole width if it is plain.
type fact struct {
	label, value string
	st           style
	plain        bool
}

// plainFact is a line of others.
func plainFact(s *scene, st style, text string) fact {
	return fact{value: s.t.text(text), st: st, plain: true}
}

func plainFacts(s *scene, lines []string) []fact {
	return text.Each(lines, func(l string) fact { return plainFact(s, "", l) })
}

// factsDialog shows labelled facts, with scrolling and search. It requests the facts
// for every drawing, so that they stay current while it is open.
type factsDialog struct {
	heading string
	facts   func(s *scene) []fact
	// copied returns the text that Y copies, which the keys call copies; nil: nothing.
	copied func() string
	copies string
	pager
}

func (d *factsDialog) title() string { return d.heading }

func (d *factsDialog) foot() string {
	if d.copied == nil {
		return d.keys("esc close")
	}
	return d.keys("esc close · Y copy " + d.copies)
}

func (d *factsDialog) reading() bool { return !d.typing }

func (d *factsDialog) toCopy() string {
	if d.copied == nil {
		return ""
	}
	return d.copied()
}

func (d *factsDialog) press(p pressed) (view.Intent, bool) {
	return nil, !d.pager.press(p) && slices.Contains([]string{"esc", "enter", "q", "?"}, p.name)
}

func (d *factsDialog) draw(s *scene, w, h int) ([]string, int) {
	lines, wide := factLines(s.t, d.facts(s), w)
	return d.pager.draw(s, lines, wide, h), wide
}

// factLines draws facts as lines, at most w cells wide.
func factLines(t *theme, facts []fact, w int) (lines []string, wide int) {
	label, value, plain := 0, 20, 0
	for _, f := range facts {
		switch {
		case f.plain:
			plain = max(plain, width(f.value))
		case f.value != "":
			label, value = max(label, width(f.label)), max(value, width(f.value))
		}
	}
	label = min(label, w/3)
	value = min(value, w-label-2)
	wide = max(label+2+value, min(plain, w))
	value = wide - label - 2
	for _, f := range facts {
		switch {
		case f.plain:
			for rest := f.value; ; {
				part, _ := cutLeft(rest, wide)
				lines = append(lines, newRow(wide).put(f.st, part).String())
				if rest = rest[len(part):]; rest == "" || part == "" {
					break
				}
			}
		case f.value == "":
			lines = append(lines, newRow(wide).put(t.strong, f.label).String())
		default:
			for _, l := range wrap(f.value, value) {
				lines = append(lines, newRow(wide).cell(t, t.dim, f.label, label).space(2).put(f.st, l).String())
				f.label = "" // on the first line alone
			}
		}
	}
	return lines, wide
}

// pager shows a part of lines, and looks for a text in them.
type pager struct {
	follows   bool // the end is in sight until it is scrolled away
	left      bool // it was
	top, room int
	lines     []string // as drawn last
	typing    bool     // what to look for
	in        input
	what      string // the text to search for
	at        int    // the line where it was found; -1: nowhere
	note      string
}

// keys are those that it takes, after others.
func (p *pager) keys(others string) string {
	switch {
	case p.typing:
		return "enter search · esc no search"
	case p.what != "":
		return others + " · n/N next/previous · / search"
	case len(p.lines) > p.room:
		return others + " · ↑/↓ scroll · / search"
	}
	return others
}

// press takes a key, and reports whether it was for it.
func (p *pager) press(key pressed) bool {
	if p.typing {
		p.write(key)
	} else if !p.move(key.name) {
		return false
	}
	rows := len(p.lines)
	p.top = max(0, min(p.top, rows-p.room))
	p.left = p.top < rows-p.room
	return true
}

// write adds a key to the search text.
func (p *pager) write(key pressed) {
	switch key.name {
	case "esc":
		p.typing, p.what = false, ""
	case "enter":
		p.typing, p.what = false, strings.ToLower(p.in.String())
		p.at = p.top - 1
		p.search(1)
	default:
		p.in.press(key)
	}
}

// motions are the keys that scroll.
var motions = map[string]motion{"up": moveUp, "k": moveUp, "down": moveDown, "j": moveDown, "pgup": movePageUp, "ctrl+b": movePageUp,
	"pgdown": movePageDown, "ctrl+f": movePageDown, "space": movePageDown, "home": moveTop, "g": moveTop, "end": moveBottom, "G": moveBottom}

// move takes a key that leads elsewhere.
func (p *pager) move(key string) bool {
	by, scrolls := motions[key]
	switch {
	case scrolls:
		p.scroll(by)
	case key == "/":
		p.typing, p.in, p.note = true, newInput(false), ""
	case p.what != "" && key == "n":
		p.search(1)
	case p.what != "" && key == "N":
		p.search(-1)
	default:
		return false
	}
	return true
}

func (p *pager) scroll(by motion) { p.top = by.moved(p.top, len(p.lines)-p.room+1, p.room+1) }

// position describes which lines are visible; empty if all are.
func (p *pager) position(t *theme) string { return inSight(t, p.top, p.room, len(p.lines)) }

// search goes to the next or previous line that contains the search text.
func (p *pager) search(by int) {
	p.note = ""
	if p.what == "" {
		return
	}
	n, hits, next := len(p.lines), 0, -1
	for k := 1; k <= n; k++ {
		i := ((p.at+by*k)%n + n) % n
		if containsFold(stripped(p.lines[i]), p.what) {
			if hits++; next < 0 {
				next = i
			}
		}
	}
	if next < 0 {
		p.at, p.note = -1, "not found: "+p.what
		return
	}
	p.at, p.note = next, fmt.Sprintf("/%s: in %d lines", p.what, hits)
	if p.at < p.top || p.at >= p.top+p.room {
		p.top = p.at - p.room/2
	}
}

// draw returns the visible lines, w wide, at most h.
func (p *pager) draw(s *scene, lines []string, w, h int) []string {
	var below []string
	switch {
	case p.typing:
		below = []string{p.in.line(s.t, "/", w)}
	case p.note != "":
		below = []string{newRow(w).put(s.t.accent, fit(s.t.text(p.note), w, s.t.ellipsis)).String()}
	}
	h -= len(below)
	p.lines, p.room = lines, max(1, h)
	most := max(0, len(lines)-p.room)
	p.top = max(0, min(p.top, most))
	if p.follows && !p.left {
		p.top = most
	}
	out := append([]string(nil), lines[p.top:min(len(lines), p.top+p.room)]...)
	if i := p.at - p.top; p.what != "" && i >= 0 && i < len(out) {
		out[i] = newRow(w).put(s.t.active, stripped(out[i])).String()
	}
	return append(out, below...)
}
