package tui

// rowKeys are the keys of every pane with rows.
func rowKeys() []binding {
	return []binding{
		bind(actDetails, "details", "enter d", "show all that is known of it (enter: while no step waits for it)", "enter", "d"),
		bind(actFilter, "filter", "/", "filter the rows", "/"),
	}
}

// liveKeys are the keys of a screen that shows a cluster.
func liveKeys() *keymap {
	rows := rowKeys()
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
			paneTimeline: {bind(actFilter, "filter", "/", "filter the events", "/")},
			paneTrial:    {bind(actDetails, "", "enter d", "show the whole trial, or go back", "enter", "d")},
		},
		common: []group{
			{"Machines", []binding{
				bindPower(actShutdown, "shut down", "s", "shut the marked nodes down (asks first)", "s"),
				bindPower(actOn, "power on", "o", "power them on (asks first)", "o"),
				bindPower(actPull, "pull the plug", "S x", "pull their plug (asks first)", "S", "x"),
				bindPower(actRollout, "restart", "r", "restart the deployment's rollout (asks first)", "r"),
			}},
			{"Load", []binding{
				bind(actBurst, "burst", "b", "send a burst at once", "b"),
				bind(actHold, "hold", "l", "hold so many outstanding, or stop it", "l"),
				bind(actRate, "rate", "R", "send so many a second, or stop it", "R"),
				bind(actMore, "", "+", "more of it", "+", "="),
				bind(actLess, "", "-", "less of it", "-"),
				bind(actNumber, "number", "n", "type the number", "n"),
				bind(actStop, "stop", "c", "stop sending; again: cancel what is in flight", "c"),
			}},
			{"Trial", []binding{
				bind(actTrial, "trial", "t", "start a trial, or end the one under way (asks first)", "t"),
				// The key itself is looked at before the keymap: it is enter's
				// other meaning while a step waits.
				bind(actStep, "next step", "enter", "take the next step, while one waits for it"),
				bind(actWhole, "whole trial", "T", "the whole trial: steps, times, verdict; or back", "T"),
				bind(actNote, "", "m", "put a line of your own on the timeline", "m"),
			}},
			movingKeys(false),
			screenKeys(),
		},
		bar: []action{actStep, actNone, actShutdown, actOn, actTrial, actWhole, actBurst, actPull, actHold, actStop, actNumber, actRate, actRollout,
			actSpan, actZoom, actDetails, actFilter, actQuit},
	}
}

// replayKeys are the keys of a screen that shows a record: nothing in it can be
// switched, sent or marked.
func replayKeys() *keymap {
	rows := rowKeys()
	return &keymap{
		panes: map[paneID][]binding{
			paneNodes:       rows,
			paneDeployments: rows,
			panePods:        append([]binding{bind(actAllPods, "", "a", "show all pods, or those of the selection", "a")}, rows...),
			paneTimeline:    {bind(actFilter, "filter", "/", "filter the events", "/")},
			paneTrial:       {bind(actDetails, "", "enter d", "show the whole trial, or go back", "enter", "d")},
		},
		common: []group{
			{"Replay", []binding{
				bind(actPause, "pause", "space", "pause, or go on", "space"),
				bind(actBack, "5 s", "←", "5 s back", "left").named("←→"),
				bind(actForward, "", "→", "5 s on", "right"),
				bind(actFarBack, "30 s", ", shift+←", "30 s back", ",", "shift+left").named(",."),
				bind(actFarForward, "", ". shift+→", "30 s on", ".", "shift+right"),
				bind(actMarkBefore, "events", "[", "to the event before", "[").named("[]"),
				bind(actMarkNext, "", "]", "to the next event", "]"),
				bind(actFaster, "speed", "+", "twice as fast", "+", "=").named("+-"),
				bind(actSlower, "", "-", "half as fast", "-"),
				bind(actStart, "", "home", "to the start", "home"),
				bind(actEnd, "", "end", "to the end", "end"),
			}},
			{"Trial", []binding{
				bind(actWhole, "whole trial", "T", "the whole trial: steps, times, verdict; or back", "T"),
			}},
			movingKeys(true),
			screenKeys(),
		},
		bar:     []action{actPause, actBack, actFarBack, actMarkBefore, actFaster, actWhole, actSpan, actZoom, actDetails, actQuit},
		refused: liveKeys(), why: "this is a replay: nothing can be switched, sent or marked",
	}
}

// movingKeys are those of cursor and focus. A replay has other uses for some.
func movingKeys(replay bool) group {
	top, bottom := bind(actTop, "", "g", "to the first", "g", "home"), bind(actBottom, "", "G", "to the last", "G", "end")
	next, previous := bind(actNext, "", "tab →", "next pane", "tab", "right"), bind(actPrevious, "", "shift+tab ←", "pane before", "shift+tab", "left", "h")
	if replay {
		top, bottom = bind(actTop, "", "g", "to the first", "g"), bind(actBottom, "", "G", "to the last", "G")
		next, previous = bind(actNext, "", "tab", "next pane", "tab"), bind(actPrevious, "", "shift+tab", "pane before", "shift+tab", "h")
	}
	return group{"Moving", []binding{
		bind(actUp, "", "↑ k", "up", "up", "k"),
		bind(actDown, "", "↓ j", "down", "down", "j"),
		bind(actPageUp, "", "pgup", "a page up", "pgup", "ctrl+b"),
		bind(actPageDown, "", "pgdn", "a page down", "pgdown", "ctrl+f"),
		top, bottom, next, previous,
		bind(actNodes, "", "1", "nodes", "1"),
		bind(actDeployments, "", "2", "deployments", "2"),
		bind(actPods, "", "3", "pods", "3"),
		bind(actRequests, "", "4", "requests", "4"),
		bind(actTimeline, "", "5", "timeline", "5"),
		bind(actTrialPane, "", "6", "trial", "6"),
	}}
}

func screenKeys() group {
	return group{"Screen", []binding{
		bind(actZoom, "zoom", "z", "give the pane the whole screen, or back", "z"),
		bind(actSpan, "span", "w", "the chart's columns are 1, 5 or 10 s", "w"),
		bind(actClear, "", "esc", "clear filter and marks", "esc"),
		bind(actRedraw, "", "ctrl+l", "draw everything anew", "ctrl+l"),
		bind(actHelp, "help", "?", "help", "?"),
		bind(actQuit, "quit", "q ctrl+c", "leave; ctrl+c twice leaves at once", "q", "ctrl+c"),
	}}
}
