package tui

import (
	"fmt"
	"strings"
	"time"

	"lightsout/internal/view"
)

// foldWithin is how close together events must be seen to be folded into one row.
const foldWithin = 2 * time.Second

// manyAlike is from how many on nodes and machines to which the same happened
// become one row: of few, each counts.
const manyAlike = 5

// fold draws what happens to many objects at once as one row, so that a node's
// loss does not push its own line off the screen. Pods to which the same
// happened become one row with their number, and so do many nodes and machines;
// steps of one count (16 → 15, 15 → 13) become one step. It folds rows of the
// screen only: the record has every event, and so has the pane under a filter.
// Rows stay in the order of their first event and keep the Seq of it.
func fold(events []view.Event) []view.Event {
	type group struct{ first, n int }
	groups := make([]*group, len(events)) // of each event
	open := map[string]*group{}
	for i, e := range events {
		key := foldKey(e)
		if key == "" {
			continue
		}
		g := open[key]
		if g == nil || e.Seen.Sub(events[g.first].Seen) > foldWithin {
			g = &group{first: i}
			open[key] = g
		}
		g.n++
		groups[i] = g
	}
	out := make([]view.Event, 0, len(events))
	rows := map[*group]int{}
	for i, e := range events {
		g := groups[i]
		if g == nil || g.n < foldFrom(e) {
			out = append(out, e)
			continue
		}
		at, there := rows[g]
		switch {
		case !there:
			rows[g] = len(out)
			if !isCount(e) && g.n > 1 {
				e.Subject = fmt.Sprintf("%d %s", g.n, foldedNoun(e))
			}
			out = append(out, e)
		case isCount(e):
			row := &out[at]
			row.To, row.Level = e.To, max(row.Level, e.Level)
			row.Text = countText(*row)
		}
	}
	return out
}

// foldFrom is from how many on events like e are folded.
func foldFrom(e view.Event) int {
	if isCount(e) || foldedNoun(e) == "pods" {
		return 1
	}
	return manyAlike
}

// foldedNoun is what many subjects of events like e are called.
func foldedNoun(e view.Event) string {
	switch e.Lane {
	case view.LanePower:
		return "machines"
	case view.LaneHeartbeat, view.LaneNode, view.LaneTaint:
		return "nodes"
	case view.LaneEvent:
		if e.Kind == "node" {
			return "nodes"
		}
	}
	return "pods"
}

// foldKey is what events have in common that may be folded; empty for those
// that are shown one by one.
func foldKey(e view.Event) string {
	switch {
	case isCount(e):
		return string(e.Lane) + "\x00" + e.Subject
	case e.Lane == view.LanePod, e.Lane == view.LaneEvent && e.Kind == "pod":
		return string(e.Lane) + "\x00" + e.Text
	case e.Lane == view.LanePower, e.Lane == view.LaneHeartbeat, e.Lane == view.LaneNode, e.Lane == view.LaneTaint, e.Lane == view.LaneEvent && e.Kind == "node":
		// Seconds and names differ, what happened is the same.
		return string(e.Lane) + "\x00" + strings.Map(letters, brief(e.Subject, e.Sentence()))
	}
	return ""
}

func letters(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// isCount reports whether an event is a step of a number.
func isCount(e view.Event) bool {
	return (e.Lane == view.LaneEndpoints || e.Lane == view.LaneDeployment) && startsWithDigit(e.From) && startsWithDigit(e.To)
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func countText(e view.Event) string {
	text := e.From + " → " + e.To
	if e.Why != "" {
		text += " " + e.Why
	}
	return text
}
