package tui

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

// Choice is the operator's choice of the columns of a pane, by their titles: true shows
// a column always, false never. Others are there as there is room.
type Choice map[string]bool

// columned is a pane with columns to choose from. The first one stays.
type columned interface {
	titles() []string
	// fitted returns how a column behaves with the present choice.
	fitted(i int) fitting
	// chosenColumns returns the present choice, choose sets it.
	chosenColumns() Choice
	choose(Choice)
}

func (l *list[K, R]) titles() []string {
	var out []string
	for _, c := range l.columns {
		out = append(out, c.title)
	}
	return out
}

func (l *list[K, R]) fitted(i int) fitting {
	f := l.columns[i].fitting
	always, chosen := l.choice[l.columns[i].title]
	switch {
	case !chosen || i == 0:
	case !always:
		f.hidden = true
	case f.extra:
		f.extra, f.drop = false, 1
	default:
		f.drop = 0
	}
	return f
}

func (l *list[K, R]) chosenColumns() Choice { return l.choice }

func (l *list[K, R]) choose(c Choice) { l.choice, l.needW = c, 0 }

// adoptColumns gives the panes the choices that the Model begins with.
func (m *Model) adoptColumns() {
	for _, open := range m.panes {
		if p, ok := open.pane.(columned); ok {
			p.choose(maps.Clone(m.opts.Columns[open.name]))
		}
	}
}

// columnsDialog chooses the columns of a pane.
type columnsDialog struct {
	m    *Model
	name string
	pane columned
	at   int
}

// openColumns opens the choice of columns of the active pane.
func openColumns(m *Model) {
	p, ok := m.active.pane.(columned)
	if !ok || len(p.titles()) == 0 {
		m.say("this pane has no columns to choose from")
		return
	}
	m.dialogs.open(&columnsDialog{m: m, name: m.active.name, pane: p, at: 1})
}

func (d *columnsDialog) title() string { return "Columns of " + d.name }
func (d *columnsDialog) foot() string  { return "space change · 0 as at first · esc close" }

func (d *columnsDialog) press(p pressed) (view.Intent, bool) {
	last := len(d.pane.titles()) - 1
	switch p.name {
	case "esc", "enter", "q", "v":
		return nil, true
	case "up", "k":
		d.at = max(1, d.at-1)
	case "down", "j":
		d.at = min(last, d.at+1)
	case "space":
		d.change()
	case "0":
		d.keep(nil)
	}
	return nil, false
}

// change turns the column under the cursor: of one that is there as there is room to
// always, never, and back.
func (d *columnsDialog) change() {
	title := d.pane.titles()[d.at]
	next := maps.Clone(d.pane.chosenColumns())
	if next == nil {
		next = Choice{}
	}
	always, chosen := next[title]
	delete(next, title)
	switch extra := d.pane.fitted(d.at).extra; {
	case extra:
		next[title] = true
	case !chosen || always:
		next[title] = false
	}
	d.keep(next)
}

// keep sets the choice, and has all choices kept.
func (d *columnsDialog) keep(c Choice) {
	d.pane.choose(c)
	if d.m.opts.KeepColumns == nil {
		return
	}
	all := map[string]Choice{}
	for _, open := range d.m.panes {
		if p, ok := open.pane.(columned); ok && len(p.chosenColumns()) > 0 {
			all[open.name] = maps.Clone(p.chosenColumns())
		}
	}
	d.m.keeper.newest.Store(&all)
	d.m.cmd = d.m.keeper.command(d.m.opts.KeepColumns)
}

// keeper keeps the newest choices of columns.
type keeper struct {
	mu     sync.Mutex
	newest atomic.Pointer[map[string]Choice]
}

// command returns a command that keeps the newest choices, after those that run.
func (k *keeper) command(keep func(map[string]Choice) error) tea.Cmd {
	return func() tea.Msg {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err := keep(*k.newest.Load()); err != nil {
			return SayMsg("the columns are not kept: " + err.Error())
		}
		return nil
	}
}

func (d *columnsDialog) draw(s *scene, w, h int) ([]string, int) {
	titles := d.pane.titles()
	wide := min(w, 44)
	from := max(0, min(d.at-h/2, len(titles)-h))
	var out []string
	for i, title := range titles[from:min(len(titles), from+h)] {
		i += from
		f, st := d.pane.fitted(i), style("")
		box, how := "[x] ", ""
		switch {
		case i == 0:
			how = "always there"
		case f.hidden:
			box = "[ ] "
		case f.extra:
			box, how = "[-] ", "where there is room"
		}
		if i == d.at {
			st = s.t.active
		}
		r := newRow(wide).put(st, fit(box+s.t.text(title), wide, s.t.ellipsis))
		r.space(r.left-width(how)).put(s.t.dim, how)
		out = append(out, r.String())
	}
	return slices.Clip(out), wide
}
