package recorder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// state is the state of an alert. One that resolves is forgotten.
type state int

const (
	// pending: the condition has not shown for the hold of its kind, a mute covers it, or no
	// record could be begun.
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
	state state
	// since is when the condition began to show; while a mute covers it, now.
	since time.Time
}

// key identifies an alert: a node is switched off, silent, not Ready or not back, and that is one alert.
type key struct {
	sign    view.Sign
	subject string
}

func keyOf(x record.Sign) key {
	if x.Kind.OfNode() {
		x.Kind = view.SignSilent
	}
	return key{x.Kind, x.Subject}
}

// alerts are all that show now.
type alerts struct {
	open map[key]*alert
	// showing: at the newest look one was firing, or may soon.
	showing bool
	// changed is when one fired, or one that fired resolved.
	changed time.Time
	// apiBack is when the API server answered again last.
	apiBack time.Time
}

// look compares the alerts with the conditions. It returns those that are due to fire, the
// earliest first.
func (a *alerts) look(f facts) (due []*alert) {
	a.showing = false
	if o := a.open[key{sign: view.SignRequests}]; o != nil {
		f.failing = o.state != pending
	}
	for _, k := range kinds {
		found := map[key]bool{}
		known := k.sees(f, func(x record.Sign) {
			found[keyOf(x)] = true
			a.show(x, f)
		})
		for id, o := range a.open {
			switch {
			case id.sign != k.sign:
			case known && !found[id]:
				a.resolve(id, f.now)
			case o.state == pending && f.mutes.cover(id, f.now, f.now):
				o.At, o.since = f.now, f.now
			case o.state == pending:
				a.showing = true
				if !f.now.Before(a.firesAt(id, k.hold)) {
					due = append(due, o)
				}
			case o.state == firing:
				a.showing = true
			}
		}
	}
	slices.SortFunc(due, func(x, y *alert) int { return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Subject, y.Subject)) })
	return due
}

// show opens the alert of a condition, unless it is open.
func (a *alerts) show(x record.Sign, f facts) {
	if x.At.IsZero() || x.At.After(f.now) {
		x.At = f.now
	}
	switch o := a.open[keyOf(x)]; {
	case o == nil:
		o = &alert{Sign: x, since: f.now}
		if n := f.s.Node(x.Subject); x.Kind.OfNode() && x.Kind != view.SignSwitchedOff && n != nil && n.Unschedulable {
			o.state = told // somebody takes a cordoned node down, and may uncordon it before it is back
		}
		a.open[keyOf(x)] = o
	case o.state == pending && f.mutes.cover(keyOf(x), o.since, f.now):
		o.Kind = x.Kind // it begins when the mute ends
	}
}

// firesAt is when a pending alert fires. When the API server is back, the kubelets renew their
// Leases first.
func (a *alerts) firesAt(id key, hold time.Duration) time.Time {
	at := a.open[id].since.Add(hold)
	if settled := a.apiBack.Add(view.SettlesAfterAPI); id.sign == view.SignSilent && settled.After(at) {
		return settled
	}
	return at
}

// resolve forgets an alert.
func (a *alerts) resolve(id key, now time.Time) {
	if id.sign == view.SignAPI {
		a.apiBack = now
	}
	if a.open[id].state == firing {
		a.changed = now
	}
	delete(a.open, id)
}

// fire makes alerts those of the incident, and returns their signs.
func (a *alerts) fire(due []*alert, now time.Time) (news []record.Sign) {
	for _, o := range due {
		o.state, o.Noticed, a.changed = firing, now, now
		news = append(news, o.Sign)
	}
	return news
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
func (a *alerts) down(node string) bool { return a.open[key{view.SignSilent, node}] != nil }
