package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// foldWithin is how close together events must be to be folded into one row.
const foldWithin = 2 * time.Second

// manyAlike is from how many on nodes and machines to which the same happened
// become one row: of few, each counts.
const manyAlike = 5

// fold draws one transition of many objects at once as one row, so that a node's
// loss does not push its own line off the screen. Pods to which the same
// happened become one row with their number, and so do many nodes and machines;
// steps of one count (16 → 15, 15 → 13) become one step, as long as each begins where
// the one before ended. It folds rows of the
// screen only: the record has every event, and so has the pane under a filter.
// Rows stay in the order of their first event and keep the Seq of it, under which folded
// has the events of a row. A row has only what is true of all of them.
func fold(events []view.Event) (rows []view.Event, folded map[int][]*view.Event) {
	told := map[int]bool{} // by the end of an operation, which comes after the reading
	for i, e := range events {
		if j := readingOf(events[:i], e); j >= 0 {
			told[j] = true
		}
	}
	var groups []*alikes
	open := map[string]*alikes{}
	for i := range events {
		if told[i] {
			continue
		}
		e := &events[i]
		noun, key := alike(*e)
		g := open[key]
		if key == "" || g == nil || !g.takes(e) {
			g = &alikes{noun: noun}
			groups, open[key] = append(groups, g), g
		}
		g.events = append(g.events, e)
	}
	rows, folded = make([]view.Event, 0, len(events)), map[int][]*view.Event{}
	for _, g := range groups {
		if n := len(g.events); n > 1 && (n >= manyAlike || g.noun == "" || g.noun == "pods") {
			row := g.row()
			rows, folded[row.Seq] = append(rows, row), g.events
			continue
		}
		for _, e := range g.events {
			rows = append(rows, *e)
		}
	}
	slices.SortFunc(rows, func(a, b view.Event) int { return a.Seq - b.Seq })
	return rows, folded
}

// alikes are events that may become one row.
type alikes struct {
	noun   string // what many of their subjects are called; empty for steps of a count
	events []*view.Event
}

// takes reports whether an event belongs to the group. A count that is back where it began does not:
// a row from 6 to 6 tells nothing.
func (g *alikes) takes(e *view.Event) bool {
	first, last := g.events[0], g.events[len(g.events)-1]
	return e.When().By.Sub(first.When().By).Abs() <= foldWithin && (g.noun != "" || last.To == e.From && first.From != e.To)
}

// row is one row for all events of the group.
func (g *alikes) row() view.Event {
	row := *g.events[0]
	if g.noun == "" {
		for _, e := range g.events[1:] {
			row.To, row.Level = e.To, max(row.Level, e.Level)
		}
		row.Text = row.Sentence()
		return row
	}
	why := func(e *view.Event) string { return strings.ReplaceAll(e.Why, e.Subject, "…") }
	row.Namespace, row.Subject, row.Why = "", fmt.Sprintf("%d %s", len(g.events), g.noun), why(g.events[0])
	if slices.ContainsFunc(g.events, func(e *view.Event) bool { return why(e) != row.Why }) {
		row.Why = ""
	}
	return row
}

// readingOf finds the machine's state among the newest events that the end of an operation, done,
// proves as well: two lines of one fact; -1 if it is none.
func readingOf(before []view.Event, done view.Event) int {
	if done.Code != view.CodePowerOperation || done.Stage != power.StageDone {
		return -1
	}
	state := done.Action.Wanted().String()
	for i, e := range slices.Backward(before) {
		switch {
		case done.Seen.Sub(e.Seen) > foldWithin:
			return -1
		case e.Code == view.CodeMachineState && e.Subject == done.Subject && e.To == state && e.Proof == power.Proven:
			return i
		}
	}
	return -1
}

// alike gives what events have in common that may be folded, empty for those that
// are shown one by one, and what many of their subjects are called; that is empty
// for steps of a count.
func alike(e view.Event) (noun, key string) {
	lane := string(e.Lane) + "\x00"
	switch {
	case isCount(e):
		return "", lane + e.Namespace + "\x00" + e.Subject
	case e.Lane == view.LanePod, e.Lane == view.LaneEvent && e.Kind == "pod":
		return "pods", lane + string(e.Cause) + "\x00" + strings.ReplaceAll(e.Text, e.Subject, "") // the taint manager's events name their pod
	case e.Lane == view.LanePower:
		noun = "machines"
	case e.Lane == view.LaneHeartbeat, e.Lane == view.LaneNode, e.Lane == view.LaneTaint, e.Lane == view.LaneEvent && e.Kind == "node":
		noun = "nodes"
	default:
		return "", ""
	}
	// Seconds and names differ, what happened is the same.
	return noun, lane + strings.Join(strings.FieldsFunc(brief(e.Subject, e.Sentence()), unicode.IsDigit), "")
}

// isCount reports whether an event is a step of a number.
func isCount(e view.Event) bool {
	return (e.Change == cluster.ChangeEndpoints || e.Change == cluster.ChangeReplicas) && e.From != "" && e.To != ""
}
