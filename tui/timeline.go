package tui

import (
	"fmt"
	"lightsout/internal/view"
	"strings"
)

// timelinePane lists what happened, newest at the bottom, and what the control
// plane will do next.
type timelinePane struct {
	filter string
	rows   []view.Event
	// at is the Seq of the last row shown; 0 follows the newest.
	at   int
	page int
}

func (p *timelinePane) settle(s *scene) {
	if p.filter == "" {
		p.rows = fold(s.f.Events)
		return
	}
	p.rows = nil
	for _, e := range s.f.Events {
		if matches(p.filter, e.Subject, e.Lane, e.Text) {
			p.rows = append(p.rows, e)
		}
	}
}

// end is the index behind the last row shown.
func (p *timelinePane) end() int {
	if p.at == 0 {
		return len(p.rows)
	}
	for i := len(p.rows) - 1; i >= 0; i-- {
		if p.rows[i].Seq <= p.at {
			return i + 1
		}
	}
	return min(len(p.rows), p.page)
}

func (p *timelinePane) move(a action) bool {
	end := p.end()
	switch a {
	case actUp:
		end--
	case actDown:
		end++
	case actPageUp:
		end -= max(1, p.page-1)
	case actPageDown:
		end += max(1, p.page-1)
	case actTop:
		end = 0
	case actBottom:
		end = len(p.rows)
	default:
		return false
	}
	end = max(end, min(p.page, len(p.rows)))
	if end >= len(p.rows) {
		p.at = 0
		return true
	}
	p.at = p.rows[end-1].Seq
	return true
}

func (p *timelinePane) title(s *scene) (string, string) {
	facts := ""
	if later := len(p.rows) - p.end(); later > 0 {
		facts = fmt.Sprintf("%d later", later)
	}
	return "Timeline" + filterTitle(s, p.filter), facts
}

// sideBySide is the width from which what comes next stands beside the timeline.
const sideBySide = 116

func (p *timelinePane) draw(s *scene, w, h int, _ bool) []string {
	next := s.f.Next
	if len(next) == 0 {
		return p.events(s, w, h)
	}
	if w >= sideBySide {
		side := min(w/3, 60)
		left, right := p.events(s, w-side, h), p.next(s, side, h)
		for i := range left {
			left[i] += right[i]
		}
		return left
	}
	n := 1
	if h >= 6 {
		n = 2
	}
	n = min(n, len(next), h-1)
	out := p.events(s, w, h-n)
	for i, sentence := range next[:n] {
		lead := "next: "
		if i > 0 {
			lead = "      "
		}
		r := newRow(w).space(1).put(s.t.accent, lead)
		out = append(out, r.put(s.t.accent, fit(s.t.text(sentence), r.left-1, s.t.ellipsis)).String())
	}
	return out
}

// next is the column of what the control plane will do.
func (p *timelinePane) next(s *scene, w, h int) []string {
	t := s.t
	var out []string
	for i, sentence := range s.f.Next {
		for j, l := range wrap(t.text(sentence), w-10) {
			lead := "      "
			if i == 0 && j == 0 {
				lead = "next  "
			} else if j == 0 {
				lead = "then  "
			}
			out = append(out, newRow(w).put(t.dim, t.box.v).space(1).put(t.dim, lead).put(t.accent, l).String())
		}
	}
	for len(out) < h {
		out = append(out, newRow(w).put(t.dim, t.box.v).String())
	}
	return fill(out, w, h)
}

func (p *timelinePane) events(s *scene, w, h int) []string {
	p.page = h
	if len(p.rows) == 0 {
		text := "what happens will be told here"
		if p.filter != "" {
			text = "no events match the filter"
		}
		return s.message(s.t.dim, text, w, h)
	}
	end := p.end()
	rows := p.rows[max(0, end-h):end]
	when, subject := 10, 10
	for _, e := range rows {
		subject = max(subject, width(s.t.text(e.Subject)))
		when = max(when, len(s.offset(e.At)))
	}
	lane := 11
	if w < 90 {
		lane = 0
	}
	subject = min(subject, max(12, (w-when-lane)*3/10))
	out := make([]string, 0, h)
	for _, e := range rows {
		out = append(out, p.line(s, e, w, when, lane, subject))
	}
	return fill(out, w, h)
}

func (p *timelinePane) line(s *scene, e view.Event, w, when, lane, subject int) string {
	t := s.t
	sign, st := levelLook(t, e.Level)
	body := st
	if s.fresh(e.Seen) {
		body = t.strong + st
	}
	r := newRow(w).space(1).right(t, t.dim, s.offset(e.At), when)
	if s.fresh(e.Seen) {
		r.put(t.fresh, t.changed)
	} else {
		r.space(1)
	}
	r.put(st, sign).space(1)
	if lane > 0 {
		r.cell(t, t.dim, t.text(e.Lane), lane-1).space(1)
	}
	name := middle(t.text(e.Subject), subject, t.ellipsis)
	r.put(t.strong, name).space(subject - width(name) + 2)
	return r.put(body, fit(eventText(t, e), r.left-1, t.ellipsis)).String()
}

// eventText is an event's sentence, or its transition where it has none.
func eventText(t *theme, e view.Event) string {
	text := t.text(e.Text)
	if text != "" || e.From == "" && e.To == "" {
		return text
	}
	arrow := " → "
	if t.ascii {
		arrow = " -> "
	}
	text = strings.TrimPrefix(t.text(e.From)+arrow+t.text(e.To), arrow)
	if e.Why != "" {
		text += ": " + t.text(e.Why)
	}
	return text
}

func levelLook(t *theme, l view.Severity) (string, style) {
	switch l {
	case view.Good:
		return t.okSign, t.good
	case view.Warning:
		return t.warnSign, t.warn
	case view.Bad:
		return t.badSign, t.bad
	}
	return " ", ""
}
