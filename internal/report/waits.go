package report

import (
	"math"
	"slices"
	"strings"

	"lightsout/internal/view"
)

// wait is how long subjects of an act waited, in seconds, the shortest and the longest wait, and
// since what moment; without a moment it is unknown.
type wait struct {
	since       string
	least, most float64
	unknown     bool // a blind span hid one of the two moments
}

func (w *wait) text() string {
	switch {
	case w.unknown:
		return "unknown"
	case w.since == "":
		return none
	}
	length, most := seconds(w.least), seconds(w.most)
	if length != most && math.Round(w.least*10) != math.Round(w.most*10) {
		length = strings.TrimSuffix(length, " s") + "–" + most
	}
	return length + " after " + w.since
}

// waited is how long a phase came after the one that it follows, or after the node went down.
func (c *causes) waited(p view.Phase, after, since string) wait {
	at := *p.Observed
	from, hidden := c.follows(after, p.Subject, at)
	if after == "" {
		from, since = c.fell(p.Subject, at)
	}
	switch {
	case from == nil:
		return wait{}
	case hidden || p.HiddenFrom != nil:
		return wait{unknown: true}
	}
	return wait{since: since, least: at - *from, most: at - *from}
}

// fell is when a node went down the last time before it was detected, with the words for that.
func (c *causes) fell(node string, until float64) (from *float64, since string) {
	for _, n := range c.nodes {
		s := n.From.Sub(base(c.r)).Seconds()
		if n.Node != node || s > until || sinceWords[n.Cause] == "" {
			continue
		}
		from, since = &s, sinceWords[n.Cause]
		if n.sign && n.Cause == causeSilent {
			since = "its last heartbeat"
		}
	}
	return from, since
}

// again reports whether a node went down several times.
func (c *causes) again(node string) bool {
	times := 0
	for _, n := range c.nodes {
		if n.Node == node {
			times++
		}
	}
	return times > 1
}

// follows is when a phase was observed the last time until then: of the subject, if it has that
// phase, as a node waits for what happened to itself. hidden: a blind span hid that.
func (c *causes) follows(phase, subject string, until float64) (from *float64, hidden bool) {
	own := slices.ContainsFunc(summaryOf(c.r).Phases, func(p view.Phase) bool { return p.Name == phase && p.Subject == subject })
	for _, p := range summaryOf(c.r).Phases {
		if p.Name != phase || own && p.Subject != subject || p.Observed == nil || *p.Observed > until {
			continue
		}
		if from == nil || *p.Observed > *from {
			from, hidden = p.Observed, p.HiddenFrom != nil
		}
	}
	return from, hidden
}
