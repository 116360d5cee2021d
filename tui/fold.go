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

// fold draws one transition of many objects at once as one row, so that a node's
// loss does not push its own line off the screen. Pods to which the same
// happened become one row with their number, and so do many nodes and machines. It folds rows of
// the screen only: the record has every event, and so has the pane under a filter.
// Rows stay in the order of their first event and keep the Seq of it.
func fold(events []view.Event) []view.Event {
	type group struct {
		first time.Time // when its first event was seen
		noun  string
		n     int
		drawn bool
	}
	groups := make([]*group, len(events)) // of each event
	open := map[string]*group{}
	for i, e := range events {
		noun, key := alike(e)
		if key == "" {
			continue
		}
		g := open[key]
		if g == nil || e.Seen.Sub(g.first) > foldWithin {
			g = &group{first: e.Seen, noun: noun}
			open[key] = g
		}
		g.n++
		groups[i] = g
	}
	out := make([]view.Event, 0, len(events))
	for i, e := range events {
		switch g := groups[i]; {
		case g == nil, g.n < manyAlike && g.noun != "pods":
			out = append(out, e)
		case !g.drawn:
			g.drawn = true
			if g.n > 1 {
				e.Why = strings.ReplaceAll(e.Why, e.Subject, "…")
				e.Namespace, e.Subject = "", fmt.Sprintf("%d %s", g.n, g.noun)
			}
			out = append(out, e)
		}
	}
	return out
}

// alike gives what events have in common that may be folded, empty for those that
// are shown one by one, and what many of their subjects are called.
func alike(e view.Event) (noun, key string) {
	lane := string(e.Lane) + "\x00"
	switch {
	case e.Lane == view.LanePod, e.Lane == view.LaneEvent && e.Kind == "pod":
		return "pods", lane + strings.ReplaceAll(e.Text, e.Subject, "") // the taint manager's events name their pod
	case e.Lane == view.LanePower:
		noun = "machines"
	case e.Lane == view.LaneHeartbeat, e.Lane == view.LaneNode, e.Lane == view.LaneTaint, e.Lane == view.LaneEvent && e.Kind == "node":
		noun = "nodes"
	default:
		return "", ""
	}
	// Seconds and names differ, what happened is the same.
	return noun, lane + strings.Map(letters, brief(e.Subject, e.Sentence()))
}

func letters(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}
