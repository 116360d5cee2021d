package recorder

import (
	"slices"
	"time"

	"lightsout/internal/view"
)

// mute keeps alerts from firing for a time. One that fires already goes on.
type mute struct {
	// signs and node are what it covers; without a node, all subjects.
	signs []view.Sign
	node  string
	// from and to bound it; a zero to is open.
	from, to time.Time
}

// mutes are all that hold or held within mutesKept.
type mutes []mute

// mutesKept is the longest time that a request may be in flight and still belong to a mute.
const mutesKept = time.Hour

// Signs of a machine that is off, and those that follow from that.
var (
	ofNode       = []view.Sign{view.SignSilent}
	consequences = []view.Sign{view.SignRequests, view.SignEndpoints, view.SignPending}
)

// covers reports whether the mute covers an alert at some moment from one time to another.
func (m mute) covers(id key, from, to time.Time) bool {
	return slices.Contains(m.signs, id.sign) && (m.node == "" || m.node == id.subject) && !m.from.After(to) && (m.to.IsZero() || m.to.After(from))
}

// cover reports whether one of the mutes covers an alert at some moment from one time to another.
func (all mutes) cover(id key, from, to time.Time) bool {
	return slices.ContainsFunc(all, func(m mute) bool { return m.covers(id, from, to) })
}

// endBefore is when the last mute of an alert ended before a time; zero if none did.
func (all mutes) endBefore(id key, at time.Time) (end time.Time) {
	for _, m := range all {
		if m.covers(id, time.Time{}, at) && !m.to.IsZero() && !m.to.After(at) && m.to.After(end) {
			end = m.to
		}
	}
	return end
}

// cordonCalm is for how long after a node was cordoned pods without a node are no sign: a
// drain moves them.
const cordonCalm = 15 * time.Minute

// plannedReturn is how long after its return a node that was switched off by plan explains
// failures.
const plannedReturn = time.Minute

// mutesNow returns all mutes, also those that have ended.
func (r *Recorder) mutesNow(now time.Time) mutes {
	r.muted = slices.DeleteFunc(r.muted, func(m mute) bool { return now.Sub(m.to) > mutesKept })
	all := slices.Clone(r.muted)
	all = append(all, mute{signs: []view.Sign{view.SignRequests}, to: r.requests.first}) // none had succeeded
	for node, p := range r.plans {
		m := mute{signs: ofNode, node: node, from: p.since, to: p.ended}
		if _, own := r.switched[node]; !own { // else it is of the incident
			all = append(all, m)
		}
		m.signs, m.node = consequences, ""
		if !p.ended.IsZero() {
			m.to = p.ended.Add(plannedReturn)
		}
		all = append(all, m)
	}
	return all
}
