package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// need is what a key needs to be of any use.
type need int

const (
	needNothing need = iota
	needCluster      // there is one: not where only load is sent
	needPower        // the cluster may be changed: not where the screen is read-only
)

// binding ties keys to what they do. Short is what the key bar calls it,
// barKey the key that it names, if that is not the first one.
type binding struct {
	run    func(*Model)
	key    key.Binding
	short  string
	barKey string
	need   need
	when   func(*Model) bool // the key bar names it only then; nil: always
}

// group is a titled part of the keymap, as help shows it.
type group struct {
	title    string
	bindings []binding
}

func bind(run func(*Model), short, keys, desc string, codes ...string) binding {
	return binding{run: run, short: short,
		key: key.NewBinding(key.WithKeys(codes...), key.WithHelp(keys, desc))}
}

// on makes a command of what a pane does while it has the focus.
func on[P pane](f func(P, *scene)) func(*Model) {
	return func(m *Model) {
		if p, ok := m.focus.pane.(P); ok {
			f(p, &m.s)
		}
	}
}

// needs sets what the keys need.
func (b binding) needs(n need) binding {
	b.need = n
	return b
}

// named sets the key that the key bar names.
func (b binding) named(key string) binding {
	b.barKey = key
	return b
}

// onlyWhen lets the key bar name it at times only.
func (b binding) onlyWhen(when func(*Model) bool) binding {
	b.when = when
	return b
}

// usable reports whether the keys can do anything on this screen, and why not.
func (b binding) usable(m *Model) (ok bool, why string) {
	switch {
	case b.need >= needCluster && m.opts.LoadOnly:
		return false, "there is no cluster here: only requests are sent"
	case b.need == needPower && m.s.f.ReadOnly:
		return false, "read-only: nothing in the cluster can be switched or restarted from here"
	}
	return true, ""
}

// keymap is every key of the screen. The keys of a pane hold while it has the
// focus and come before the common ones.
type keymap struct {
	own    func(*paneSpec) []binding
	common []group
	// bar orders what the key bar names, by its short names; "" is the pane's
	// first.
	bar []string
	// refused are the keys that mean something elsewhere, and why not here;
	// help does not show them.
	refused *keymap
	why     string

	known map[*paneSpec][]*binding // what all has given
}

// all gives the bindings that hold in a pane, its own first.
func (k *keymap) all(p *paneSpec) []*binding {
	if all, ok := k.known[p]; ok {
		return all
	}
	var all []*binding
	add := func(bindings []binding) {
		for i := range bindings {
			all = append(all, &bindings[i])
		}
	}
	add(k.own(p))
	for _, g := range k.common {
		add(g.bindings)
	}
	if k.known == nil {
		k.known = map[*paneSpec][]*binding{}
	}
	k.known[p] = all
	return all
}

// find gives what a key does in a pane. refusal says in a sentence why it does
// nothing here although it does elsewhere.
func (k *keymap) find(msg tea.KeyPressMsg, p *paneSpec) (b binding, refusal string) {
	for _, b := range k.all(p) {
		if key.Matches(msg, b.key) {
			return *b, ""
		}
	}
	if k.refused != nil {
		if b, _ := k.refused.find(msg, p); b.run != nil {
			return binding{}, k.why
		}
	}
	return binding{}, ""
}

// barBindings gives the bindings that the key bar names, most useful first.
func (k *keymap) barBindings(m *Model) []*binding {
	all := k.all(m.focus.paneSpec)
	var out []*binding
	for _, short := range k.bar {
		i := 0
		if short != "" {
			i = slices.IndexFunc(all, func(b *binding) bool { return b.short == short })
		} else if len(k.own(m.focus.paneSpec)) == 0 || all[0].short == "" {
			continue
		}
		if i < 0 || slices.ContainsFunc(out, func(b *binding) bool { return b.short == all[i].short }) {
			continue
		}
		if ok, _ := all[i].usable(m); ok && (all[i].when == nil || all[i].when(m)) {
			out = append(out, all[i])
		}
	}
	return out
}

// firstKey is the key that the key bar names for a binding.
func (b binding) firstKey() string {
	if b.barKey != "" {
		return b.barKey
	}
	first, _, _ := strings.Cut(b.key.Help().Key, " ")
	return first
}
