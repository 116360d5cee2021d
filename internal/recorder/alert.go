package recorder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
)

// state is the state of an alert. One that resolves is forgotten, and so is a pending one that a
// mute covers.
type state int

const (
	// pending: the condition has not shown for the hold of its kind, or no record could be begun.
	pending state = iota
	// firing: it is of the incident.
	firing
	// told: a record that has ended has it, it is older than the past that the recorder keeps, or
	// nobody waits for it: it begins no incident.
	told
)

// alert is a condition that shows now.
type alert struct {
	record.Sign
	kind  kind
	state state
	// since is when the condition began to show.
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
	// showing: at the newest look one was firing, or may soon; muted: a mute covered one.
	showing, muted bool
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
	a.showing, a.muted = false, false
	for id, o := range a.open {
		switch {
		case o.state == told:
		case o.state == pending && f.mutes.cover(id, f.now, f.now):
			a.muted = true
			delete(a.open, id)
		default:
			a.showing = true
			if o.state == pending && f.now.Sub(o.since) >= rules[o.kind].hold {
				due = append(due, o)
			}
		}
	}
	slices.SortFunc(due, func(x, y *alert) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.kind, y.kind), strings.Compare(x.Subject, y.Subject))
	})
	return due
}

// show opens the alert of a condition, unless it is open. One that was muted begins with the end of
// the mute.
func (a *alerts) show(id key, x finding, f facts) {
	if o := a.open[id]; o != nil {
		if o.state == pending {
			o.Kind = x.Kind
		}
		return
	}
	if x.At.IsZero() || x.At.After(f.now) {
		x.At = f.now
	}
	if end := f.mutes.ended(id, f.now); end.After(x.At) {
		x.At = end
	}
	a.open[id] = &alert{Sign: x.Sign, kind: id.kind, since: f.now}
	if x.expected {
		a.open[id].state = told
	}
}

// resolve forgets the alerts of a kind whose condition shows no longer.
func (a *alerts) resolve(k kind, found []finding, now time.Time) {
	for id, o := range a.open {
		if id.kind != k || slices.ContainsFunc(found, func(x finding) bool { return x.Subject == id.subject }) {
			continue
		}
		if o.state == firing {
			a.changed = now
		}
		a.resolved[k] = now
		delete(a.open, id)
	}
}

// tell leaves alerts to a record that has them, or had them. It returns the nodes among them that
// are down.
func (a *alerts) tell(which func(*alert) bool) (down []string) {
	for _, o := range a.open {
		if which(o) {
			o.state = told
			if o.Kind.OfNode() {
				down = append(down, o.Subject)
			}
		}
	}
	slices.Sort(down)
	return down
}

// down reports whether a node is switched off, silent or not Ready now.
func (a *alerts) down(node string) bool {
	return a.open[key{nodeDown, node}] != nil || a.open[key{machineOff, node}] != nil
}

// began reports whether an alert without a subject has fired, and goes on.
func (a *alerts) began(k kind) bool {
	o := a.open[key{kind: k}]
	return o != nil && o.state != pending
}

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
