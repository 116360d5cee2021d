package tui

import (
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
	actMark
	actMarkAll
	actClear
	actDetails
	actFilter
	actZoom
	actAim
	actAllPods
	actShutdown
	actPull
	actOn
	actBurst
	actHold
	actRate
	actMore
	actLess
	actNumber
	actStop
	actNote
	actHelp
	actRedraw
	actQuit
)

// binding ties keys to an action. Short is what the key bar calls it.
type binding struct {
	act   action
	key   key.Binding
	short string
	power bool // switches machines: not there when the screen is read-only
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

// keymap is every key of the screen. The keys of a pane hold while it has the
// focus and come before the common ones.
type keymap struct {
	common []group
	panes  map[paneID][]binding
}

func newKeymap() *keymap {
	rows := []binding{
		bind(actDetails, "details", "enter", "show all that is known of it", "enter"),
		bind(actFilter, "filter", "/", "filter the rows", "/"),
	}
	return &keymap{
		panes: map[paneID][]binding{
			paneNodes: append([]binding{
				bind(actMark, "mark", "space", "mark the node, or take the mark away", "space"),
				bind(actMarkAll, "mark all", "*", "mark all workers, or none", "*"),
			}, rows...),
			paneDeployments: append([]binding{
				bind(actAim, "send load here", "f", "send the load to the deployment", "f"),
			}, rows...),
			panePods: append([]binding{
				bind(actAllPods, "all pods", "a", "show all pods, or those of the selection", "a"),
				bind(actAim, "", "f", "send the load to the pod's deployment", "f"),
			}, rows...),
			paneRequests: nil,
			paneTimeline: {bind(actFilter, "filter", "/", "filter the events", "/")},
		},
		common: []group{
			{"Machines", []binding{
				bindPower(actShutdown, "shut down", "s", "shut the marked nodes down (asks first)", "s"),
				bindPower(actOn, "power on", "o", "power them on (asks first)", "o"),
				bindPower(actPull, "pull the plug", "S x", "pull their plug (asks first)", "S", "x"),
			}},
			{"Load", []binding{
				bind(actBurst, "burst", "b", "send a burst at once", "b"),
				bind(actHold, "hold", "l", "hold so many outstanding, or stop it", "l"),
				bind(actRate, "rate", "r", "send so many a second, or stop it", "r"),
				bind(actMore, "", "+", "more of it", "+", "="),
				bind(actLess, "", "-", "less of it", "-"),
				bind(actNumber, "number", "n", "type the number", "n"),
				bind(actStop, "stop", "c", "stop sending; again: cancel what is in flight", "c"),
			}},
			{"Moving", []binding{
				bind(actUp, "", "↑ k", "up", "up", "k"),
				bind(actDown, "", "↓ j", "down", "down", "j"),
				bind(actPageUp, "", "pgup", "a page up", "pgup", "ctrl+b"),
				bind(actPageDown, "", "pgdn", "a page down", "pgdown", "ctrl+f"),
				bind(actTop, "", "g", "to the first", "g", "home"),
				bind(actBottom, "", "G", "to the last", "G", "end"),
				bind(actNext, "", "tab →", "next pane", "tab", "right"),
				bind(actPrevious, "", "shift+tab ←", "pane before", "shift+tab", "left", "h"),
				bind(actNodes, "", "1", "nodes", "1"),
				bind(actDeployments, "", "2", "deployments", "2"),
				bind(actPods, "", "3", "pods", "3"),
				bind(actRequests, "", "4", "requests", "4"),
				bind(actTimeline, "", "5", "timeline", "5"),
			}},
			{"Screen", []binding{
				bind(actZoom, "zoom", "z", "give the pane the whole screen, or back", "z"),
				bind(actClear, "", "esc", "clear filter and marks", "esc"),
				bind(actNote, "", "m", "put a line of your own on the timeline", "m"),
				bind(actRedraw, "", "ctrl+l", "draw everything anew", "ctrl+l"),
				bind(actHelp, "help", "?", "help", "?"),
				bind(actQuit, "quit", "q ctrl+c", "leave; ctrl+c twice leaves at once", "q", "ctrl+c"),
			}},
		},
	}
}

// action finds what a key does in a pane.
func (k *keymap) action(msg tea.KeyPressMsg, pane paneID) action {
	for _, b := range k.panes[pane] {
		if key.Matches(msg, b.key) {
			return b.act
		}
	}
	for _, g := range k.common {
		for _, b := range g.bindings {
			if key.Matches(msg, b.key) {
				return b.act
			}
		}
	}
	return actNone
}

// bar gives the bindings that the key bar names, most useful first.
func (k *keymap) bar(pane paneID, readOnly bool) []binding {
	var out []binding
	add := func(b binding) {
		if b.short != "" && !(b.power && readOnly) {
			out = append(out, b)
		}
	}
	inPane := k.panes[pane]
	if len(inPane) > 0 {
		add(inPane[0])
	}
	for _, g := range k.common[:2] {
		for _, b := range g.bindings {
			add(b)
		}
	}
	for _, b := range inPane[min(1, len(inPane)):] {
		add(b)
	}
	for _, g := range k.common[2:] {
		for _, b := range g.bindings {
			if b.act != actHelp {
				add(b)
			}
		}
	}
	return out
}

// firstKey is the key that the key bar names for a binding.
func (b binding) firstKey() string {
	keys := b.key.Help().Key
	for i, r := range keys {
		if r == ' ' {
			return keys[:i]
		}
	}
	return keys
}
