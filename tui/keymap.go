package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// action is what a key asks for.
type action int

const (
	actNone action = iota
	actUp
	actDown
	actPageUp
	actPageDown
	actTop
	actBottom
	actNext
	actPrevious
	actNodes
	actDeployments
	actPods
	actRequests
	actTimeline
	actTrialPane
	actMark
	actMarkAll
	actClear
	actDetails
	actFilter
	actZoom
	actSpan
	actAim
	actAllPods
	actShutdown
	actPull
	actOn
	actRollout
	actBurst
	actHold
	actRate
	actMore
	actLess
	actNumber
	actStop
	actTrial
	actStep
	actWhole
	actNote
	actPause
	actBack
	actForward
	actFarBack
	actFarForward
	actMarkBefore
	actMarkNext
	actFaster
	actSlower
	actStart
	actEnd
	actHelp
	actRedraw
	actQuit
)

// binding ties keys to an action. Short is what the key bar calls it, barKey
// the key that it names, if that is not the first one.
type binding struct {
	act    action
	key    key.Binding
	short  string
	barKey string
	power  bool // changes the cluster: not there when the screen is read-only
}

// group is a titled part of the keymap, as help shows it.
type group struct {
	title    string
	bindings []binding
}

func bind(act action, short, keys, desc string, codes ...string) binding {
	return binding{act: act, short: short,
		key: key.NewBinding(key.WithKeys(codes...), key.WithHelp(keys, desc))}
}

func bindPower(act action, short, keys, desc string, codes ...string) binding {
	b := bind(act, short, keys, desc, codes...)
	b.power = true
	return b
}

// named sets the key that the key bar names.
func (b binding) named(key string) binding {
	b.barKey = key
	return b
}

// keymap is every key of the screen. The keys of a pane hold while it has the
// focus and come before the common ones.
type keymap struct {
	common []group
	panes  map[paneID][]binding
	// bar orders the actions that the key bar names; actNone is the pane's first.
	bar []action
	// refused are the keys that mean something elsewhere, and why not here;
	// help does not show them.
	refused *keymap
	why     string
}

// action finds what a key does in a pane. refusal says in a sentence why it
// does nothing here although it does elsewhere.
func (k *keymap) action(msg tea.KeyPressMsg, pane paneID) (a action, refusal string) {
	for _, b := range k.panes[pane] {
		if key.Matches(msg, b.key) {
			return b.act, ""
		}
	}
	for _, g := range k.common {
		for _, b := range g.bindings {
			if key.Matches(msg, b.key) {
				return b.act, ""
			}
		}
	}
	if k.refused != nil {
		if a, _ := k.refused.action(msg, pane); a != actNone {
			return actNone, k.why
		}
	}
	return actNone, ""
}

// moment is what the key bar depends on beside the pane: a step that waits for
// its key, and whether there is a session.
type moment struct{ readOnly, waiting, trial bool }

// barBindings gives the bindings that the key bar names, most useful first.
func (k *keymap) barBindings(pane paneID, now moment) []binding {
	all := slices.Clone(k.panes[pane])
	for _, g := range k.common {
		all = append(all, g.bindings...)
	}
	var out []binding
	add := func(b binding) {
		switch {
		case b.short == "", b.power && now.readOnly, b.act == actStep && !now.waiting, b.act == actWhole && !now.trial:
			return
		}
		out = append(out, b)
	}
	for _, act := range k.bar {
		if act == actNone && len(k.panes[pane]) > 0 {
			add(k.panes[pane][0])
		} else if i := slices.IndexFunc(all, func(b binding) bool { return b.act == act }); i >= 0 {
			add(all[i])
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
