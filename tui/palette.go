package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"lightsout/internal/view"
)

// paletteRows is how many commands are in sight.
const paletteRows = 10

// paletteDialog finds a command by words and carries it out: every action with a key in
// the active pane, and those without a key.
type paletteDialog struct {
	m      *Model
	in     input
	all    []command // those that this screen cannot do have a fault
	found  []command
	chosen int // of found; -1: none yet
}

// command is one entry of the palette. If the command needs a name, selecting it puts
// fill into the input. If it has a fault, selecting it shows the fault.
type command struct {
	text, keys string
	binding
	fill, fault string
}

// openPalette opens the palette.
func openPalette(m *Model) {
	m.active.key(&m.s, moveNone)
	d := newPalette(m)
	d.find()
	m.dialogs.open(d)
}

func newPalette(m *Model) *paletteDialog {
	d := &paletteDialog{m: m, in: newInput(false)}
	for _, p := range m.panes {
		show := showPane(p.name)
		if p.paneSpec == podsSpec {
			show = goToAllPods
		}
		if p.names != nil && p.isThere(m.s.f) {
			d.add(command{text: "go to: " + strings.ToLower(p.name), binding: binding{run: filtered(show, ""), names: p.names}})
		}
	}
	for _, k := range shownKinds {
		d.add(command{text: "go to: " + k.title, binding: binding{run: filtered(showKind(k.kind), ""), names: k.names}})
	}
	d.add(command{text: "ns NAME: show one namespace, some (a,b) or all", fill: "ns ",
		binding: binding{names: []string{"ns", "namespace", "namespaces"}}})
	d.add(command{text: "ctx NAME: another context of the kubeconfig", fill: "ctx ",
		binding: binding{names: []string{"ctx", "context", "contexts"}, need: needLive}})
	for _, w := range handWords {
		d.add(command{text: w.text, binding: binding{run: openByHand(w.lines), names: w.names, need: needLive, takes: w.takes}})
	}
	d.add(command{text: "survey: what the cluster can spare, or the loss of the marked nodes", binding: binding{names: []string{"survey", "spare"},
		need: needLive, takes: nodesFor(openSurvey), run: func(m *Model) { openSurvey(m, slices.Sorted(maps.Keys(m.s.marks))) }}})
	d.add(command{text: "restore: the command line that powers on what lightsout has left off", binding: binding{names: []string{"restore"}, need: needLive, takes: takesNone, run: func(m *Model) {
		(&handDialog{m: m, lines: []byHand{{m.s.f.Restore, "later, without the screen: it powers on and uncordons what lightsout has left off or cordoned"}}}).open("Restore")
	}}, fault: map[string]string{"": "nothing to restore later: the machines end with the screen; o powers on"}[m.s.f.Restore]})
	d.add(command{text: "join: the command line that shows this cluster in another terminal", binding: binding{names: []string{"join"}, need: needLive, run: func(m *Model) {
		(&handDialog{m: m, lines: []byHand{{command: m.s.f.Program}}}).open("In another terminal")
	}}})
	for _, g := range m.active.groups(m.keys) {
		for _, b := range g.bindings {
			if h := b.key.Help(); b.run != nil && g.title != "Moving" {
				d.add(command{text: h.Desc + "  (" + strings.ToLower(g.title) + ")", keys: h.Key, binding: b})
			}
		}
	}
	return d
}

// nodesFor takes the names of nodes.
func nodesFor(act func(*Model, []string)) func(*Model, []string) (func(*Model), string) {
	return func(m *Model, nodes []string) (func(*Model), string) {
		unknown := cmp.Or(slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return m.s.snap.Node(n) != nil })...)
		fault := after("there is no node ", unknown, "")
		if strings.HasPrefix(unknown, "-") {
			fault = unknown + " is an option of the command line, which Y copies in :survey"
		}
		return func(m *Model) { act(m, nodes) }, fault
	}
}

// takesNone takes no word after the name.
func takesNone(_ *Model, words []string) (func(*Model), string) {
	return nil, "the command cannot use " + strings.Join(words, " ") + ": type its name alone"
}

// add adds a command that can do anything on this screen, or on another.
func (d *paletteDialog) add(c command) {
	ok, why := c.usable(d.m)
	c.fault = cmp.Or(why, c.fault)
	if ok || why != "" {
		d.all = append(d.all, c)
	}
}

func (d *paletteDialog) title() string { return "Commands" }
func (d *paletteDialog) foot() string {
	if d.chosen < 0 {
		return "no kind or object has this name: ↓ or tab takes a command · esc close"
	}
	return "tab complete · ↑/↓ choose · enter do it · esc close"
}

// find keeps the commands that have all words typed. One that acts is chosen only by its whole
// name: a word of k9s or kubectl may begin like one of its words, and leads to a kind.
func (d *paletteDialog) find() {
	typed, all := strings.ToLower(strings.TrimSpace(d.in.String())), d.all
	words := strings.Fields(typed)
	kind, what, named := strings.Cut(d.in.String(), " ")
	what = strings.TrimSpace(what)
	places := named && slices.ContainsFunc(d.all, func(c command) bool { return c.fill == kind+" " })
	if places {
		all = placesOf(d.m, kind, what)
	}
	var called, goes, acts, asks []command
	if i := slices.IndexFunc(d.all, func(c command) bool {
		return c.keys == "" && c.fill == "" && c.takes == nil && slices.Contains(c.names, kind)
	}); i >= 0 {
		called = d.narrowed(d.all[i], what)
	}
	if i := slices.IndexFunc(d.all, func(c command) bool { return c.takes != nil && slices.Contains(c.names, kind) }); i >= 0 && what != "" {
		c := d.all[i]
		run, fault := c.takes(d.m, strings.Fields(what))
		c.text, c.run, c.fault = typed, run, cmp.Or(c.fault, fault)
		called = append(called, c)
	}
	for _, c := range all {
		switch {
		case slices.Contains(c.names, typed):
			called = append(called, c)
		case (places || c.fault == "") && !slices.ContainsFunc(words, func(word string) bool { return !beginsWord(c.text, word) }):
			if c.keys == "" {
				goes = append(goes, c)
			} else {
				acts = append(acts, c)
			}
		}
	}
	if lower := strings.ToLower(kind); len(called) == 0 && !places && kind != "" && canBeKind(lower) && d.m.s.f.Replay == nil {
		ask := command{text: "ask the API server for objects of the kind " + lower, binding: binding{run: filtered(listKind(lower, ""), "")}}
		asks = append(d.narrowed(ask, what), ask)
		if slices.Contains(kindWords, lower) {
			called, asks = asks, nil
		}
	}
	d.found = slices.Concat(called, objectsCalled(d.m, strings.TrimSpace(d.in.String())), goes, asks)
	d.chosen = min(0, len(d.found)-1)
	d.found = append(d.found, acts...)
}

// beginsWord reports whether a word of the text begins so; what is in lower case.
func beginsWord(text, what string) bool {
	text = strings.ToLower(text)
	for i := range text {
		if strings.HasPrefix(text[i:], what) && (i == 0 || !unicode.IsLetter(rune(text[i-1]))) {
			return true
		}
	}
	return false
}

// narrowed returns the commands that name a kind and then a namespace or a filter, as in k9s:
// "po shop", "deploy web"; or as in kubectl: "po -n shop", "po -A".
func (d *paletteDialog) narrowed(to command, what string) (out []command) {
	if what == "" {
		return nil
	}
	add := func(text string, run func(*Model)) {
		out = append(out, command{text: to.text + text, binding: bind(run, "", "", "")})
	}
	what = cmp.Or(map[string]string{"-A": allNamespaces, "--all-namespaces": allNamespaces}[what], strings.TrimPrefix(what, "-n "))
	if show, _ := chooseNamespaces(what); what == allNamespaces || slices.Contains(d.m.s.namespaces(), what) {
		add(" in namespace "+what, func(m *Model) { to.run(m); show(m) })
	}
	add(" with "+what, filtered(to.run, what))
	return out
}

// write puts a text into the input.
func (d *paletteDialog) write(text string) {
	d.in = newInput(false)
	d.in.insert(text)
	d.find()
}

func (d *paletteDialog) press(p pressed) (view.Intent, bool) {
	var c command
	if at := max(0, d.chosen); at < len(d.found) {
		c = d.found[at]
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
			d.write(cmp.Or(c.fill, append(slices.Clip(c.names), c.text)[0]))
		}
	case "enter":
		switch {
		case d.chosen < 0:
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
				st = t.active
			}
			if c.fault != "" {
				c.text, st = c.fault, t.bad
			}
			keys := t.text(c.keys)
			r.put(st, fit(t.text(c.text), wide-width(keys)-2, t.ellipsis)).space(r.left-width(keys)).put(t.dim, keys)
		} else if i == 0 {
			r.put(t.dim, fit("no command, object or kind has this name: :po, :no, :deploy, :ev, :ns; ? lists the keys", wide, t.ellipsis))
		}
		out = append(out, r.String())
	}
	return out, wide
}
