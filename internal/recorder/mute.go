package recorder

import (
	"slices"
	"time"
)

// mute keeps alerts of a kind from firing for a time. One that fires already goes on.
type mute struct {
	kind kind
	// node is what it covers; empty: all subjects.
	node string
	// from and to bound it; a zero to is open.
	from, to time.Time
}

// mutes are all that hold or held within mutesKept.
type mutes []mute

const (
	// mutesKept is the longest time that a request may be in flight and still belong to a mute.
	mutesKept = time.Hour
	// cordonCalm is for how long after a node was cordoned pods without a node are no sign: a
	// drain moves them.
	cordonCalm = 15 * time.Minute
	// plannedReturn is how long after its return a node that was switched off by plan explains
	// failures.
	plannedReturn = time.Minute
)

// of reports whether the mute is of an alert.
func (m mute) of(id key) bool { return m.kind == id.kind && (m.node == "" || m.node == id.subject) }

// cover reports whether one of the mutes covers an alert at some moment from one time to another.
func (all mutes) cover(id key, from, to time.Time) bool {
	return slices.ContainsFunc(all, func(m mute) bool {
		return m.of(id) && !m.from.After(to) && (m.to.IsZero() || m.to.After(from))
	})
}

// ended is when the last mute of an alert ended; zero if none did.
func (all mutes) ended(id key, now time.Time) (end time.Time) {
	for _, m := range all {
		if m.of(id) && !m.to.After(now) && m.to.After(end) {
			end = m.to
		}
	}
	return end
}

// mutesNow returns all mutes, also those that have ended.
func (r *Recorder) mutesNow(now time.Time) mutes {
	r.muted = slices.DeleteFunc(r.muted, func(m mute) bool { return now.Sub(m.to) > mutesKept })
	all := append(slices.Clone(r.muted), mute{kind: requestsFail, to: r.requests.first}) // none had succeeded
	for node, p := range r.plans {
		to := p.until()
		all = append(all, mute{nodeDown, node, p.since, to})
		if !to.IsZero() {
			to = to.Add(plannedReturn)
		}
		for k, rule := range rules {
			if rule.byPlan {
				all = append(all, mute{kind(k), "", p.since, to})
			}
		}
	}
	return all
}
