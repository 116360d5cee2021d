package recorder

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
)

// stage is how far an alert has come. One that resolves is forgotten.
type stage int

const (
	// pending: the condition has not shown for the hold of its kind, or no record could be begun.
	pending stage = iota
	// muted: a mute covers it, and it begins anew when that ends.
	muted
	// firing: it is of the incident.
	firing
	// told: another record has it, or none is to have it: it begins no incident.
	told
)

// alert is a condition that shows now.
type alert struct {
	record.Sign
	kind  kind
	stage stage
	// began is when all was well last before the condition showed, whether a mute covers that or not.
	began time.Time
	// since is when the condition began to show without a mute.
	since time.Time
}

// key identifies an alert.
type key struct {
	kind    kind
	subject string
}

// alerts are all that show now.
type alerts struct {
	open map[key]*alert
	// changed is when one fired, or one that fired resolved; resolved when the newest of each kind did.
	changed  time.Time
	resolved map[kind]time.Time
}

// look compares the alerts with the conditions. It returns those that are due to fire, the
// earliest first.
func (a *alerts) look(f facts) (due []*alert) {
	for k, rule := range rules {
		found, known := rule.sees(f)
		if known {
			a.resolve(kind(k), found, f.now)
		}
		for _, x := range found {
			a.show(key{kind(k), x.Subject}, x, f)
		}
	}
	for id, o := range a.open {
		if o.stage == pending || o.stage == muted {
			o.stage = f.mutes.over(id, o.began, f.now, f.now)
			if o.stage == pending && f.now.Sub(o.since) >= rules[o.kind].hold {
				due = append(due, o)
			}
		}
	}
	slices.SortFunc(due, func(x, y *alert) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.kind, y.kind), strings.Compare(x.Subject, y.Subject))
	})
	return due
}

// show opens the alert of a condition, unless it is open. A muted one begins with the end of the mute.
func (a *alerts) show(id key, x finding, f facts) {
	o := a.open[id]
	if o != nil && o.stage != muted {
		if o.stage == pending {
			o.Kind = x.Kind
		}
		return
	}
	if x.At.IsZero() || x.At.After(f.now) {
		x.At = f.now
	}
	began := x.At
	if o != nil {
		began = o.began
	}
	if end := f.mutes.ended(id, f.now); end.After(x.At) {
		x.At = end
	}
	a.open[id] = &alert{Sign: x.Sign, kind: id.kind, stage: x.stage, began: began, since: f.now}
}

// resolve forgets the alerts of a kind whose condition shows no longer.
func (a *alerts) resolve(k kind, found []finding, now time.Time) {
	for id, o := range a.open {
		if id.kind != k || slices.ContainsFunc(found, func(x finding) bool { return x.Subject == id.subject }) {
			continue
		}
		if o.stage == firing {
			a.changed = now
		}
		a.resolved[k] = now
		delete(a.open, id)
	}
}

// leave takes alerts that no mute covers for told. It returns the nodes among them that are down.
func (a *alerts) leave(which func(*alert) bool) (down []string) {
	for _, o := range a.open {
		if o.stage != muted && which(o) {
			o.stage = told
			if o.Kind.OfNode() {
				down = append(down, o.Subject)
			}
		}
	}
	slices.Sort(down)
	return down
}

// has reports whether an alert shows of which that is true.
func (a *alerts) has(is func(*alert) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.open)), is)
}

// alarm reports whether an alert fires, or may soon.
func (a *alerts) alarm() bool {
	return a.has(func(o *alert) bool { return o.stage == pending || o.stage == firing })
}

// down reports whether a node is switched off, silent or not Ready now.
func (a *alerts) down(node string) bool {
	for k := range kinds {
		if o := a.open[key{k, node}]; o != nil && o.Kind.OfNode() {
			return true
		}
	}
	return false
}

// began reports whether an alert without a subject has fired, and goes on.
func (a *alerts) began(k kind) bool {
	o := a.open[key{kind: k}]
	return o != nil && (o.stage == firing || o.stage == told)
}

// why is the reason of a mute: rule.muted has those that count for its kind.
type why string

// Reasons of mutes.
const (
	byPlan       why = "the node was switched off by plan"
	besidePlan   why = "a node was switched off by plan"
	cordoned     why = "a node was cordoned or uncordoned"
	neverGood    why = "no request had succeeded yet"
	duringRecord why = "it began in a record that has ended"
	duringTrial  why = "the record of a trial has it"
)

// mute keeps alerts from firing for a time. One that fires already goes on.
type mute struct {
	why why
	// node is what it covers; empty: all subjects.
	node string
	// from and to bound it; a zero to is open.
	from, to time.Time
	// takes is when it takes what begins for the last time; zero: to.
	takes time.Time
	// stage is that of the alerts under it: muted until it ends, or told until they resolve.
	stage stage
}

// mutes are all that hold or held within mutesKept.
type mutes []mute

const (
	// mutesKept is the longest time that a request may be in flight and still belong to a mute.
	mutesKept = time.Hour
	// cordonCalm is for how long after a node was cordoned pods without a node are no sign: a
	// drain moves them.
	cordonCalm = 15 * time.Minute
)

// of reports whether the mute is of an alert.
func (m mute) of(id key) bool {
	return slices.Contains(rules[id.kind].muted, m.why) && (m.node == "" || m.node == id.subject)
}

// over is the stage of an alert that began then, by the first mute over it at some moment from one time to
// another; pending if there is none.
func (all mutes) over(id key, began, from, to time.Time) stage {
	for _, m := range all {
		if m.of(id) && (m.takes.IsZero() || !began.After(m.takes)) && !m.from.After(to) && (m.to.IsZero() || m.to.After(from)) {
			return m.stage
		}
	}
	return pending
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
	all := append(slices.Clone(r.muted), mute{why: neverGood, to: r.requests.first, stage: muted})
	for node, p := range r.s.Plans() {
		all = append(all, mute{why: byPlan, node: node, from: p.Since, to: p.Until(), stage: muted})
		all = append(all, beside(p)...)
	}
	if r.trialRuns() {
		all = append(all, mute{why: duringTrial, stage: told}) // the others hold it back
	}
	return all
}
