package tui

import (
	"fmt"
	"strings"

	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// rowKeys are the keys of every pane with rows.
var rowKeys = []binding{
	bind(openObject(aspectDetails), "details", "enter d", "describe it (enter: unless a trial step is waiting)", "enter", "d").named("describe", "desc"),
	bind(openObject(aspectLog), "log", "l L", "the log of a pod, or of a workload's pods (]: the next)", "l", "L").named("log", "logs").needs(needLive).onlyWhen(hasLog),
	bind(openObject(aspectYAML), "YAML", "y", "its YAML, as the API server has it", "y").named("yaml").needs(needLive),
	bind(openFilter, "filter", "/", `filter by a text, a pattern (^web-\d) or labels (app=web); !text inverts`, "/"),
	bind(sortBy(false), "sort", "i", "sort by the next column (default: problems first)", "i"),
	bind(sortBy(true), "", "I", "reverse the sort", "I"),
}

// The key bar lists first the keys that a trial offers, then those of the active
// pane, then those of every pane, by their short names. In a replay no key switches,
// sends or marks anything.
var (
	firstInBar = []string{"next step", "report"}
	lastInBar  = []string{"commands", "trial", "whole trial", "zoom", "span"}
	replayBar  = []string{"report", "pause", "play", "5 s", "30 s", "events", "speed", "whole trial", "span", "zoom", "details"}
)

// commonKeys are the keys that hold in every pane. If two share a letter, the first
// usable one acts.
func commonKeys() []group {
	return []group{
		group{"Replay", []binding{
			bind(replayPause, "pause", "space", "pause", "space").needs(needPlaying),
			bind(replayPause, "play", "space", "continue; at the end: start again", "space").needs(needPaused),
			bind(seek(-seekNear), "5 s", "←", "5 s back", "left"),
			bind(seek(seekNear), "", "→", "5 s on", "right"),
			bind(seek(-seekFar), "30 s", ", shift+←", "30 s back", ",", "shift+left"),
			bind(seek(seekFar), "", ". shift+→", "30 s on", ".", "shift+right"),
			bind(seekMark(false), "events", "[", "to the event before", "["),
			bind(seekMark(true), "", "]", "to the next event", "]"),
			bind(send(view.ReplaySpeed{Factor: 2}), "speed", "+", "twice as fast", "+", "="),
			bind(send(view.ReplaySpeed{Factor: 0.5}), "", "-", "half as fast", "-"),
			bind(seekStart, "", "home", "to the start", "home"),
			bind(seekEnd, "", "end", "to the end", "end"),
		}}.allNeed(needReplay),
		group{"Machines", []binding{
			bind(askPower(power.ActionShutdown), "shut down", "s", "shut the marked nodes down (asks first)", "s"),
			bind(askPower(power.ActionOn), "power on", "o", "power the marked nodes on (asks first)", "o"),
			bind(askPower(power.ActionOff), "pull the plug", "S x", "pull the plug of the marked nodes (asks first)", "S", "x"),
			bind(askRollout, "restart", "r", "restart the selected deployment's rollout (asks first)", "r").named("rollout", "restart"),
			onNodes(view.ActCordon, "cordon the marked nodes"),
			onNodes(view.ActUncordon, "uncordon those that lightsout has cordoned"),
			onNodes(view.ActDrain, "drain the marked nodes; their machines stay on (asks first)"),
		}}.allNeed(needLive | needChange),
		group{"Load", []binding{
			bind(startLoad(loadgen.Burst), "burst", "b", "send this many at once; outside pane 4 asks once", "b"),
			bind(startLoad(loadgen.Hold), "hold", "h", "hold this many in flight; in pane 4, press again to stop; elsewhere asks once", "h"),
			bind(startLoad(loadgen.Rate), "rate", "R", "send this many a second; in pane 4, press again to stop; elsewhere asks once", "R"),
			bind(changeLoad(1), "", "+", "one more", "+", "="),
			bind(changeLoad(-1), "", "-", "one less", "-"),
			bind(openNumber, "how many", "n", "set how many", "n"),
			bind(stopLoad, "stop sending", "c", "stop sending (elsewhere press it twice); again: cancel those in flight", "c"),
		}}.allNeed(needLive),
		{"Trial", []binding{
			bind(send(view.AskTrial{}), "trial", "t", "start a trial, or end the one under way (asks first)", "t").needs(needLive),
			// The key itself is matched before all others: it is enter's other
			// meaning while a step waits.
			bind(nil, "next step", "enter", "take the next step, if one is waiting").onlyWhen(stepWaits).needs(needLive),
			bind(wholeTrial, "whole trial", "T", "the whole trial: steps, times, verdict; or back", "T").
				onlyWhen(func(m *Model) bool { return m.s.f.Trial != nil }),
			bind(openRemark, "", "m", "put a line of your own on the timeline", "m").needs(needLive),
		}},
		movingKeys(),
		screenKeys(),
	}
}

// movingKeys move the cursor and choose the active pane. A replay has other uses for some.
func movingKeys() group {
	g := group{"Moving", []binding{
		bind(move(moveUp), "", "↑ k", "up", "up", "k"),
		bind(move(moveDown), "", "↓ j", "down", "down", "j"),
		bind(move(movePageUp), "", "pgup", "a page up", "pgup", "ctrl+b"),
		bind(move(movePageDown), "", "pgdn", "a page down", "pgdown", "ctrl+f"),
		bind(move(moveTop), "", "g", "to the first", "g", "home"),
		bind(move(moveBottom), "", "G", "to the last", "G", "end"),
		bind(activateNext(1), "", "tab →", "next pane", "tab", "right").needs(needLive),
		bind(activateNext(-1), "", "shift+tab ←", "previous pane", "shift+tab", "left").needs(needLive),
		bind(activateNext(1), "", "tab", "next pane", "tab").needs(needReplay),
		bind(activateNext(-1), "", "shift+tab", "previous pane", "shift+tab").needs(needReplay),
		bind(showPane("Workloads"), "", "W", "workloads on the whole screen, or back", "W"),
	}}
	for i, spec := range paneSpecs {
		digit := fmt.Sprint(i + 1)
		g.bindings = append(g.bindings, bind(showPane(spec.name), "", digit, strings.ToLower(spec.name), digit))
	}
	return g
}

func screenKeys() group {
	return group{"Screen", []binding{
		bind(func(m *Model) { m.zoom = !m.zoom && m.active.place != placeWhole }, "zoom", "z", "give the pane the whole screen, or back", "z"),
		bind(func(m *Model) { m.s.span = (m.s.span + 1) % len(chartSpans) }, "span", "w", "the chart's columns are 1, 5 or 10 s", "w"),
		bind(switchClock, "", "C", "times counted from zero, or UTC", "C").named("utc", "clock"),
		bind(showNamespaces(nil), "", "0", "all namespaces, after :ns NAME", "0"),
		bind(clearOne, "", "esc", "clear filter, zoom and marks, one a press", "esc"),
		bind(openPalette, "commands", ":", "find a command by its name (:survey) or a pane by kubectl's (:po, :ns NAME, :q)", ":"),
		bind(copyName, "", "Y", "copy the name or line under the cursor, or a question's command (OSC 52)", "Y"),
		bind(openNotices, "", "M", "messages of the program", "M"),
		bind(openRecords, "", "H", "history: the records of trials and of outages, and their reports", "H").named("records", "history", "outages", "reports"),
		bind(send(view.RecordScreen{}), "", "V", "video: record the screen to a file beside the records (asciicast), or stop", "V").named("record", "cast", "gif"),
		bind(send(view.SaveScreen{}), "", "P", "shot: SVG and PNG beside the records; a replay's may be in the current folder", "P").named("shot", "screenshot"),
		bind(send(view.SaveTimeline{}), "", "E", "timeline: save it as a text file", "E"),
		bind(redraw, "", "ctrl+l ctrl+r", "redraw the screen; its data is always live", "ctrl+l", "ctrl+r"),
		bind(suspend, "", "ctrl+z", "suspend, unless something runs that would stop too", "ctrl+z"),
		bind(openHelp, "", "?", "help", "?").named("h", "help"),
		bind(send(view.AskQuit{}), "", "q ctrl+c", "quit; ctrl+c twice quits at once", "q", "ctrl+c").named("q", "q!", "qa", "quit", "exit"),
	}}
}
