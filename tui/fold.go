package tui

import (
	"fmt"
	"lightsout/internal/view"
	"time"
)

// foldWithin is how close together events must be seen to be folded into one row.
const foldWithin = 2 * time.Second

// fold draws what happens to many pods at once as one row, so that a node's
// loss does not push its own line off the screen. Pods to which the same
// happened become one row with their number; steps of one count (16 → 15,
// 15 → 13) become one step. It folds rows of the screen only: the record has
// every event, and so has the pane under a filter. Rows stay in the order of
// their first event and keep the Seq of it.
func fold(events []view.Event) []view.Event {
	type group struct{ row, n int }
	out := make([]view.Event, 0, len(events))
	open := map[string]*group{}
	for _, e := range events {
		key := foldKey(e)
		if key == "" {
			out = append(out, e)
			continue
		}
		g := open[key]
		if g == nil || e.Seen.Sub(out[g.row].Seen) > foldWithin {
			open[key] = &group{len(out), 1}
			out = append(out, e)
			continue
		}
		g.n++
		row := &out[g.row]
		if isCount(e) {
			row.To, row.Level = e.To, max(row.Level, e.Level)
			row.Text = countText(*row)
			continue
		}
		row.Subject = fmt.Sprintf("%d pods", g.n)
	}
	return out
}

// foldKey is what events have in common that may be folded; empty for those
// that are shown one by one.
func foldKey(e view.Event) string {
	switch {
	case isCount(e):
		return string(e.Lane) + "\x00" + e.Subject
	case e.Lane == view.LanePod:
		return string(e.Lane) + "\x00" + e.Text
	case e.Lane == view.LaneEvent && e.Kind == "pod":
		return string(e.Lane) + "\x00" + e.Text
	}
	return ""
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
