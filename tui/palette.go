package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lightsout/cluster"
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

// allNamespaces is what they are called together.
const allNamespaces = "all"

// elsewhere reports whether there is anything else to be shown: not in a replay,
// and not where only load is sent.
func (d *paletteDialog) elsewhere() bool { return d.m.s.f.Replay == nil && !d.m.opts.LoadOnly }

// places gives the namespaces ("ns") or contexts ("ctx") whose names fit what is
// typed, the best first. Of a namespace more may be meant than is known of.
func (d *paletteDialog) places(kind, typed string) []command {
	var names []string
	if kind == "ctx" {
		if p := d.m.s.f.Places; p != nil {
			names = p.Contexts
		}
	} else {
		names = append([]string{allNamespaces}, d.m.s.namespaces()...)
	}
	low := strings.ToLower(typed)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !containsFold(name, low) })
	rank := func(name string) int { // the name itself, what begins with it, others
		return btoi(name != typed) + btoi(!strings.HasPrefix(strings.ToLower(name), low))
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	if kind == "ns" && typed != "" && !slices.Contains(names, typed) {
		names = append(names, typed) // it may be there all the same
	}
	var out []command
	for _, name := range names {
		to, fault := view.Place{}, ""
		switch {
		case kind == "ctx":
			to.Context = name
		case name != allNamespaces:
			to.Namespaces = strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' })
			if i := slices.IndexFunc(to.Namespaces, func(ns string) bool { return !cluster.CanBeNamespace(ns) }); i >= 0 {
				fault = to.Namespaces[i] + " can't be a namespace: only a-z, 0-9, and - between them; 63 at most"
			}
		}
		out = append(out, command{text: kind + " " + name, fault: fault, binding: bind(send(view.SwitchPlace{Place: to}), "", "", "")})
	}
	return out
}

// namespaces are those that are known, sorted: where they can't be listed, those
// of what is watched.
func (s *scene) namespaces() []string {
	if p := s.f.Places; p != nil && len(p.Namespaces) > 0 {
		return p.Namespaces
	}
	seen := map[string]bool{}
	for _, d := range s.snap.Deployments() {
		seen[d.Namespace] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
