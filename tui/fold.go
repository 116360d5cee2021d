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
	type group struct {
		first time.Time // when its first event was seen
		n     int
		row   int // where it is in out; -1: nowhere yet
	}
	groups := make([]*group, len(events)) // of each event
	open := map[string]*group{}
	for i, e := range events {
		key := foldKey(e)
		if key == "" {
			continue
		}
		g := open[key]
		if g == nil || e.Seen.Sub(g.first) > foldWithin {
			g = &group{first: e.Seen, row: -1}
			open[key] = g
		}
		g.n++
		groups[i] = g
	}
	out := make([]view.Event, 0, len(events))
	for i, e := range events {
		g, noun := groups[i], foldNoun(e)
		if g == nil || g.n < manyAlike && noun != "" && noun != "pods" {
			out = append(out, e)
			continue
		}
		switch {
		case g.row < 0:
			if g.row = len(out); noun != "" && g.n > 1 {
				e.Subject = fmt.Sprintf("%d %s", g.n, noun)
			}
			out = append(out, e)
		case noun == "":
			row := &out[g.row]
			row.To, row.Level = e.To, max(row.Level, e.Level)
			row.Text = strings.TrimSpace(row.From + " → " + row.To + " " + row.Why)
		}
	}
	return out
}

// foldNoun is what many subjects of events like e are called; empty for steps of
// a count.
func foldNoun(e view.Event) string {
	switch {
	case isCount(e):
		return ""
	case e.Lane == view.LanePower:
		return "machines"
	case e.Lane == view.LaneHeartbeat, e.Lane == view.LaneNode, e.Lane == view.LaneTaint, e.Lane == view.LaneEvent && e.Kind == "node":
		return "nodes"
	}
	return "pods"
}

// foldKey is what events have in common that may be folded; empty for those
// that are shown one by one.
func foldKey(e view.Event) string {
	what := ""
	switch noun := foldNoun(e); {
	case noun == "":
		what = e.Subject
	case e.Lane == view.LanePod, e.Lane == view.LaneEvent && e.Kind == "pod":
		what = e.Text
	case noun == "pods":
		return ""
	default: // seconds and names differ, what happened is the same
		what = strings.Map(letters, brief(e.Subject, e.Sentence()))
	}
	return string(e.Lane) + "\x00" + what
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
