package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lightsout/internal/view"
)

// delay is how long subjects of an act waited that count from the same kind of moment.
type delay struct {
	since    string
	subjects []string
	// least and most are the shortest and the longest wait, in seconds.
	least, most float64
}

// sinceMany are the words for the moments of several nodes, where they differ.
var sinceMany = map[string]string{
	"its last heartbeat": "their last heartbeats", "its heartbeat was overdue": "their heartbeats were overdue", "it was found off": "they were found off",
}

func (w *delay) text() string {
	length, most, since := seconds(w.least), seconds(w.most), w.since
	if length != most && math.Round(w.least*10) != math.Round(w.most*10) {
		length = strings.TrimSuffix(length, " s") + "–" + most
	}
	if len(w.subjects) > 1 {
		since = cmp.Or(sinceMany[since], since)
	}
	return length + " after " + since
}

// waited is how long something came after the phase that it follows, for each subject;
// unknown if a blind span hid one of the two.
func (c *causes) waited(a act, after, since string) string {
	own := slices.ContainsFunc(c.phases, func(p view.Phase) bool { return p.Name == after && slices.Contains(a.subjects, p.Subject) })
	if after != "" && !own { // of a deployment, or of pods whose nodes are not told
		a.subjects, a.times = a.subjects[:1], []float64{a.at}
	}
	var all []delay
	for i, subject := range a.subjects {
		from, hidden := c.follows(after, subject, own, a.times[i])
		if after == "" {
			from, since = c.fell(subject, a.times[i])
		}
		switch {
		case from == nil:
			continue
		case hidden || a.hidden:
			return "unknown"
		}
		s := a.times[i] - *from
		j := slices.IndexFunc(all, func(w delay) bool { return w.since == since })
		if j < 0 {
			all = append(all, delay{since, []string{subject}, s, s})
			continue
		}
		w := &all[j]
		w.subjects, w.least, w.most = append(w.subjects, subject), min(w.least, s), max(w.most, s)
	}
	var parts []string
	for i := range all {
		part := all[i].text()
		if len(all[i].subjects) < len(a.subjects) {
			part += " (" + entry{Subjects: all[i].subjects}.who() + ")"
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, ", "), none)
}

// fell is when a node went down the last time before it was detected, with the words for that.
func (c *causes) fell(node string, until float64) (from *float64, since string) {
	for _, f := range c.fallen {
		s := f.from.Sub(base(c.r)).Seconds()
		if f.node != node || s > until || askedFor[f.how] == "" {
			continue
		}
		from, since = &s, askedFor[f.how]
		if f.sign && f.how == fallSilent {
			since = "its last heartbeat"
		}
	}
	return from, since
}

// again reports whether the node that a phase is about, or any node if it is about a deployment,
// went down several times.
func (c *causes) again(p view.Phase) bool {
	times := map[string]int{}
	for _, f := range c.fallen {
		times[f.node]++
	}
	if p.Name != view.PhaseReplaced {
		return times[p.Subject] > 1
	}
	return slices.ContainsFunc(c.fallen, func(f fallen) bool { return times[f.node] > 1 })
}

// follows is when a phase was observed the last time until then: of the subject alone if own is
// set, as a node waits for what happened to itself. hidden: a blind span hid that.
func (c *causes) follows(phase, subject string, own bool, until float64) (from *float64, hidden bool) {
	for _, p := range c.phases {
		if p.Name != phase || own && p.Subject != subject || p.Observed == nil || *p.Observed > until {
			continue
		}
		if from == nil || *p.Observed > *from {
			from, hidden = p.Observed, p.HiddenFrom != nil
		}
	}
	return from, hidden
}

// why is the reason for an act; if the subjects have several, each with its subjects.
func (c *causes) why(a act) string {
	var reasons []string
	of := map[string][]string{}
	for i, subject := range a.subjects {
		reason := does[a.phase].why(c, subject, a.times[i])
		if of[reason] == nil {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], subject)
	}
	if len(reasons) == 1 {
		return reasons[0]
	}
	for i, reason := range reasons {
		reasons[i] = reason + " (" + entry{Subjects: of[reason]}.who() + ")"
	}
	return strings.Join(reasons, "; ")
}
