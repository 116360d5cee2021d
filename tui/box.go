package tui

import (
	"cmp"
	"slices"
	"strings"
)

// section is one titled part of a box.
type section struct {
	drawing
	number string // the key that makes it the active pane
	filter string // the active filter and the number of rows; empty without one
	active bool
	others []string // what else can be shown here, with the keys for it
	joined bool     // there is a box above, whose bottom this is
}

// drawBox frames sections one below the other with dividers between them, w
// cells wide. Each section's lines must be w-2 wide. foot is drawn into the
// bottom line; it may be empty. A box that is not closed has no bottom line:
// another is joined to it.
func drawBox(t *theme, w int, sections []section, closed bool, foot span) []string {
	var out []string
	for i, s := range sections {
		l, r := t.box.tl, t.box.tr
		if i > 0 || s.joined {
			l, r = t.box.ml, t.box.mr
		}
		out = append(out, titleLine(t, w, s, l, r))
		edge, _ := s.looks(t)
		side := string(edge) + t.box.v + reset
		for _, line := range s.lines {
			out = append(out, side+line+side)
		}
	}
	if !closed {
		return out
	}
	edge, _ := sections[len(sections)-1].looks(t)
	bottom := newRow(w).put(edge, t.box.bl)
	if foot.s != "" && width(foot.s) <= w-4 {
		bottom.put(edge, t.box.h).put(foot.st, foot.s)
	}
	bottom.repeat(edge, t.box.h, bottom.left-1).put(edge, t.box.br)
	return append(out, bottom.String())
}

// looks are the looks of its frame and of its title.
func (s section) looks(t *theme) (edge, title style) {
	if s.active {
		return t.accent, t.active
	}
	return t.dim, t.strong
}

func titleLine(t *theme, w int, s section, left, right string) string {
	edge, look := s.looks(t)
	number, sep := " ", " "+t.bullet+" "
	if s.number != "" && w >= 30 {
		number = " " + s.number + " "
	}
	filter, room := after("", s.filter, sep), w-6-width(number)
	facts := strings.Trim(s.facts+sep+s.sight, sep)
	if s.of != "" && s.filter == "" && width(s.title+fit(s.of, 20, "")+facts)+2 > room { // which rows are in sight gives way only to whose they are
		facts, s.sight = s.facts, ""
	}
	for facts != s.sight && width(cmp.Or(s.filter, fit(s.title, 11, "")+fit(s.of, 12, "")))+width(facts)+2 > room {
		_, facts, _ = strings.Cut(facts, sep)
	}
	facts = after(" ", facts, " ")
	room -= width(facts)
	name := strings.LastIndexByte(s.of, ' ') + 1
	title := s.title + s.of[:name] + middle(s.of[name:], max(0, room-width(filter+s.title+s.of[:name])), t.ellipsis)
	if width(filter+s.title)+min(width(s.of), 12) > room {
		title = s.title
	}
	if filter != "" && width(filter+title) > room {
		filter, title = s.filter, ""
	}
	title = fit(title, max(0, room-width(filter)), t.ellipsis) + " "
	r := newRow(w).put(edge, left).put(edge, t.box.h).put(look, number).put(t.warn, filter).put(look, title)
	for _, other := range s.others {
		if r.left < width(other)+width(facts)+6 {
			break
		}
		r.put(edge, t.box.h).put(t.dim, " "+other+" ")
	}
	fill := max(0, r.left-1-width(facts))
	end := btoi(facts != "" && fill > 1)
	return r.repeat(edge, t.box.h, fill-end).put("", facts).repeat(edge, t.box.h, end).put(edge, right).String()
}

// fill gives exactly h lines of w cells from lines that are w wide.
func fill(lines []string, w, h int) []string {
	lines = lines[:min(len(lines), max(h, 0))]
	return append(lines, slices.Repeat([]string{blank(w)}, max(h-len(lines), 0))...)
}
