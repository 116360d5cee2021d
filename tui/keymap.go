package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// need lists, as bits, the conditions under which a key works.
type need int

const (
	needChange need = 1 << iota // it may be changed: not where the screen is read-only
	needLive                    // the screen shows the present: not in a replay
	needReplay
	needPlaying // a replay
	needPaused
)

// binding is a command of the operator: its keys, its action and its words. Dispatch,
// key bar, help and palette come from it.
type binding struct {
	run   func(*Model)
	key   key.Binding
	short string                                                  // its name in the key bar; empty: it is not there
	names []string                                                // in kubectl, k9s and vi: the palette lists it first when one is typed in full
	takes func(*Model, []string) (run func(*Model), fault string) // what it does with the words after its name; nil: it narrows what it shows
	need  need                                                    // what it needs to work
	when  func(*Model) bool                                       // the key bar names it only then; nil: always
}

// group is a titled part of the keys, as help shows it.
type group struct {
	title    string
	bindings []binding
}

func bind(run func(*Model), short, keys, desc string, codes ...string) binding {
	return binding{run: run, short: short,
		key: key.NewBinding(key.WithKeys(codes...), key.WithHelp(keys, desc))}
}

// needs adds to what the keys need.
func (b binding) needs(n need) binding {
	b.need |= n
	return b
}

// named adds names to a command, for the palette.
func (b binding) named(names ...string) binding {
	b.names = names
	return b
}

// allNeed adds a need to the keys of a group.
func (g group) allNeed(n need) group {
	for i := range g.bindings {
		g.bindings[i].need |= n
	}
	return g
}

// onlyWhen lets the key bar name it at times only.
func (b binding) onlyWhen(when func(*Model) bool) binding {
	b.when = when
	return b
}

// usable reports whether the keys can do anything on this screen, and why not
// in a sentence where they do elsewhere.
func (b binding) usable(m *Model) (ok bool, why string) {
	replay := m.s.f.Replay != nil
	switch {
	case b.need&needReplay != 0 && !replay,
		replay && b.need&needPlaying != 0 && m.s.f.Replay.Paused, replay && b.need&needPaused != 0 && !m.s.f.Replay.Paused:
		return false, ""
	case b.need&needLive != 0 && replay:
		return false, "this is a replay: nothing can be switched, sent or marked"
	case b.need&needChange != 0 && m.s.f.ReadOnly:
		return false, "read-only: nothing in the cluster can be switched or restarted from here"
	}
	return true, ""
}

// usableGroups are the keys of a pane and the common ones that can do anything on
// this screen.
func usableGroups(m *Model, p *paneSpec) []group {
	var out []group
	for _, g := range p.groups(m.keys) {
		g.bindings = slices.DeleteFunc(slices.Clone(g.bindings), func(b binding) bool { ok, _ := b.usable(m); return !ok })
		if len(g.bindings) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// findKey returns the action of a key in the active pane: the pane's own keys take
// precedence over the common ones. refusal is the reason why a key does nothing here
// although it works elsewhere.
func findKey(m *Model, msg tea.KeyPressMsg) (found *binding, refusal string) {
	for _, b := range m.active.all {
		if !key.Matches(msg, b.key) {
			continue
		}
		ok, why := b.usable(m)
		if ok {
			return b, ""
		}
		if refusal == "" && b.run != nil {
			refusal = why
		}
	}
	return nil, refusal
}

// first is the key by which the key bar names it.
func (b *binding) first() string {
	first, _, _ := strings.Cut(b.key.Help().Key, " ")
	return first
}

// barBindings gives the bindings that the key bar names, most useful first, each key once.
func barBindings(m *Model) []*binding {
	order := replayBar
	if m.s.f.Replay == nil {
		order = slices.Concat(firstInBar, m.active.bar, lastInBar)
	}
	var out []*binding
	for _, short := range order {
		i := slices.IndexFunc(m.active.all, func(b *binding) bool {
			ok, _ := b.usable(m)
			return ok && b.short == short && (b.when == nil || b.when(m))
		})
		if i >= 0 && !slices.ContainsFunc(out, func(b *binding) bool { return b.first() == m.active.all[i].first() }) {
			out = append(out, m.active.all[i])
		}
	}
	return out
}
