package tui

import (
	"cmp"
	"slices"
	"strings"

	"lightsout/internal/view"
)

// paletteRows is how many commands are in sight.
const paletteRows = 10

// paletteDialog finds a command by words and carries it out: all that has a key
// in the pane in focus, and what has none.
type paletteDialog struct {
	m      *Model
	in     input
	all    []command
	found  []command
	chosen int
}

// command is one entry of the palette. One that needs a name puts fill into the
// input instead of being carried out. One with a fault is not: that is said instead.
type command struct {
	text, keys string
	binding
	fill, fault string
}

// openPalette opens the palette.
func openPalette(m *Model) {
	d := &paletteDialog{m: m, in: newInput(false)}
	for _, g := range usableGroups(m, m.focus.paneSpec) {
		for _, b := range g.bindings {
			if b.run != nil && g.title != "Moving" {
				h := b.key.Help()
				d.all = append(d.all, command{strings.ToLower(g.title) + ": " + h.Desc, h.Key, b, "", ""})
			}
		}
	}
	for _, p := range m.panes {
		if p.isThere(m.s.f) {
			d.all = append(d.all, command{"go to: " + strings.ToLower(p.name), "", bind(focusOn(p.name), "", "", ""), "", ""})
		}
	}
	if d.elsewhere() {
		d.all = append(d.all, command{text: "ns NAME: watch one namespace, some (a,b) or all", fill: "ns "},
			command{text: "ctx NAME: another context of the kubeconfig", fill: "ctx "})
	}
	d.found = d.all
	m.dialogs.open(d)
}

func (d *paletteDialog) title() string { return "Commands" }
func (d *paletteDialog) foot() string {
	return "tab complete · ↑/↓ choose · enter do it · esc close"
}

// find keeps the commands that have all words typed.
func (d *paletteDialog) find() {
	d.chosen = 0
	if kind, name, ok := strings.Cut(d.in.String(), " "); ok && (kind == "ns" || kind == "ctx") && d.elsewhere() {
		d.found = d.places(kind, strings.TrimSpace(name))
		return
	}
	words := strings.Fields(strings.ToLower(d.in.String()))
	d.found = slices.DeleteFunc(slices.Clone(d.all), func(c command) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !containsFold(c.text, word) })
	})
	name := ": " + strings.Join(words, " ") + ":" // as ":shot"
	slices.SortStableFunc(d.found, func(a, b command) int {
		return btoi(strings.Contains(b.text, name)) - btoi(strings.Contains(a.text, name))
	})
}

// write puts a text into the input.
func (d *paletteDialog) write(text string) {
	d.in = newInput(false)
	d.in.insert(text)
	d.find()
}

func (d *paletteDialog) press(p pressed) (view.Intent, bool) {
	var c command
	if d.chosen < len(d.found) {
		c = d.found[d.chosen]
	}
	switch p.name {
	case "esc":
		return nil, true
	case "up", "ctrl+p":
		d.chosen = max(0, d.chosen-1)
	case "down", "ctrl+n":
		d.chosen = max(0, min(d.chosen+1, len(d.found)-1))
	case "tab":
		if c.text != "" {
			d.write(cmp.Or(c.fill, c.text))
		}
	case "enter":
		switch {
		case c.fill != "":
			d.write(c.fill)
		case c.run != nil && c.fault == "":
			d.m.dialogs.close(d) // it may open another
			c.run(d.m)
			return nil, true
		}
	default:
		if d.in.press(p) {
			d.find()
		}
	}
	return nil, false
}

func (d *paletteDialog) draw(s *scene, w, h int) ([]string, int) {
	t := s.t
	wide := min(w, 76)
	out := []string{d.in.line(t, ":", wide), blank(wide)}
	rows := max(1, min(paletteRows, h-2))
	from := max(0, d.chosen-rows+1)
	for i := from; i < from+rows; i++ {
		r := newRow(wide)
		if i < len(d.found) {
			c, st := d.found[i], style("")
			if i == d.chosen {
				st = t.focus
			}
			if c.fault != "" {
				c.text, st = c.fault, t.bad
			}
			keys := t.text(c.keys)
			r.put(st, fit(t.text(c.text), wide-width(keys)-2, t.ellipsis)).space(r.left-width(keys)).put(t.dim, keys)
		} else if i == 0 {
			r.put(t.dim, "nothing of this name")
		}
		out = append(out, r.String())
	}
	return out, wide
}
