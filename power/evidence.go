package power

import (
	"cmp"
	"slices"
	"time"

	"lightsout/internal/outage"
	"lightsout/internal/text"
)

// The journal holds facts alone: requests to switch machines off, what became of them, and what was seen
// of machines and nodes. What they say of a machine, on, may go off until a time, or off, is decided
// here and nowhere else, by stateOf. A fact is never taken back: of two that contradict each other, the one that
// was asked for later counts, whichever was written first, and however often.

// request is one request to switch a machine off. It counts as sent unless its outcome proves that it
// was not, whatever the power API answered.
type request struct {
	// Entry is its intent, or its outcome if the intent is damaged.
	Entry
	// arrival is that of its outcome; without one nobody can tell.
	arrival Arrival
	// underWay is when it was last under way, by its outcome: until counts from then. It may be minutes after the
	// machine was asked. carriedOut is the journal's.
	underWay   time.Time
	carriedOut time.Duration
	// overtaken: somebody has asked to power its node on after the intent.
	overtaken bool
	// seen is what was seen of its machine and its node, in the order in which it was written.
	seen []sighting
}

// sighting is what was seen of a machine or its node at a time: the machine on or off, or the boot of the node,
// which is Ready.
type sighting struct {
	at    time.Time // when it was asked for: it proves nothing about later events
	by    time.Time // when the answer was there: of two that overlap, nobody can tell which was true last
	state State
	proof Proof
	node  *outage.Now
}

// until returns when the power API can't carry the request out any more.
func (r *request) until() time.Time { return r.arrival.until(r.underWay, r.carriedOut) }

// bootCertain reports whether the node had certainly not rebooted between its last heartbeat and the
// request. Otherwise the request may have reached a later boot than the one in the intent.
func (r *request) bootCertain() bool {
	// lightsout may have been stopped, or have waited, after it had written the intent
	return certainBoot(r.Heard, slices.MaxFunc([]time.Time{r.At, r.arrival.Sent}, time.Time.Compare))
}

// bootGap is shorter than any machine needs to reboot and answer again, and longer than
// the time between two heartbeats of a kubelet (nodeStatusUpdateFrequency and the
// Lease's renewal: 10 s each).
const bootGap = 12 * time.Second

// certainBoot reports whether a node with this last heartbeat had certainly not
// rebooted by the time at.
func certainBoot(heard, at time.Time) bool { return !heard.IsZero() && at.Sub(heard) < bootGap }

// sameNode reports whether a node is the one that was switched off, and not a new one
// of the same name. A kubelet that has reported a systemUUID always does.
func (r *request) sameNode(n NodeRef) bool {
	was := r.Binding.Node
	switch {
	case r.Node != n.Name, was.SystemUUID != "" && n.SystemUUID != was.SystemUUID:
		return false
	case was.ProviderID != "" && n.ProviderID != "":
		return was.ProviderID == n.ProviderID
	}
	return len(proving(was.Addresses)) == 0 || len(proving(n.Addresses)) == 0 || common(was.Addresses, n.Addresses) != ""
}

// evidence is the state of a machine after some of its facts.
type evidence struct {
	// open are the requests that have switched the machine off, or may have or still may.
	open []*request
	// last is the newest request.
	last *request
	// proven is when the machine was last proven off: earlier requests can't switch it off any more.
	// off: since the last request it was seen off, and not on after that.
	proven time.Time
	off    bool
	// on is when it was last seen on, with no request since.
	on time.Time
	// seenBy is when the answer was there that showed it off.
	seenBy time.Time
}

// stateOf is what the facts about one machine, its requests and what was seen since, say of it: in the
// order of their times, whichever was written first.
func stateOf(requests []*request) (e evidence) {
	requests = slices.SortedFunc(slices.Values(requests), (*request).compare)
	seen := slices.Concat(text.Each(requests, func(r *request) []sighting { return r.seen })...)
	slices.SortStableFunc(seen, func(a, b sighting) int { return a.at.Compare(b.at) })
	for _, s := range seen {
		for len(requests) > 0 && requests[0].arrival.Sent.Before(s.at) {
			e.request(requests[0])
			requests = requests[1:]
		}
		switch {
		case e.last == nil: // from before the first request
		case s.node != nil: // outage says whether that is another boot, carriedOutBy whether it may still end
			e.settle(func(r *request) bool {
				return e.before(r).Seen(*s.node) == outage.Booted && (e.carriedOutBy(r, s.at) || e.off && r.bootCertain())
			})
		case s.state == On && s.proof == Proven && !s.at.Before(e.seenBy):
			e.settle(func(r *request) bool { return e.carriedOutBy(r, s.at) })
			e.off = false
			if len(e.open) == 0 {
				e.on = s.at
			}
		case s.state == Off:
			e.seenOff(s)
		}
	}
	for _, r := range requests {
		e.request(r)
	}
	return e
}

// request adds a request. The machine may be off already, if that was presumed.
func (e *evidence) request(r *request) {
	e.open, e.last, e.off, e.on = append(e.open, r), r, false, time.Time{}
}

// seenOff adds that the machine was off. If it was on again before, its last request, also a refused one that nobody
// waits for any more, counts as carried out late within carriedOut; afterwards somebody else has switched it off.
func (e *evidence) seenOff(s sighting) {
	if len(e.open) == 0 {
		if s.proof != Proven || s.at.After(e.last.underWay.Add(e.last.carriedOut)) {
			return
		}
		e.open = []*request{e.last}
	}
	e.off, e.seenBy = true, s.by
	if s.proof == Proven {
		e.proven = s.at
	}
}

// settle removes the requests that are over.
func (e *evidence) settle(over func(*request) bool) {
	e.open = slices.DeleteFunc(slices.Clone(e.open), over)
	e.off = e.off && len(e.open) > 0
}

// carriedOutBy reports whether the power API has carried a request out by then, or can't any more. A
// machine that is on before that may still be shutting down.
func (e *evidence) carriedOutBy(r *request, at time.Time) bool {
	return e.proven.After(r.arrival.Sent) || at.After(r.until())
}

// before is what is known of the request's node from before its machine went off.
func (e *evidence) before(r *request) outage.Before {
	// It may have received the request from then on, whatever an outcome says, unless the intent is damaged.
	b := outage.Before{ID: r.Binding.Node.BootID, Asked: slices.MinFunc([]time.Time{r.At, r.arrival.Sent}, time.Time.Compare)}
	if e.proven.After(r.arrival.Sent) {
		b.Off = e.proven
	}
	return b
}

// standing names the state.
func (e *evidence) standing() Standing {
	switch {
	case len(e.open) == 0:
		return StandsOn
	case e.off:
		return StandsOff
	}
	return MayBeOff
}

// mayGoOff returns until when the power API may still carry out one of the open requests; zero if none.
func (e *evidence) mayGoOff() (until time.Time) {
	for _, r := range e.open {
		if at := r.until(); !e.proven.After(r.arrival.Sent) && at.After(until) {
			until = at
		}
	}
	return until
}

// left describes the state for those who ask the journal: by the first open request, whose boot is the
// one before, and the UID that is known.
func (e *evidence) left() LeftOff {
	of := e.open
	if len(of) == 0 {
		of = []*request{e.last}
	}
	last := of[len(of)-1]
	out := LeftOff{Entry: of[0].Entry, Stands: e.standing(), Before: e.before(last), Until: e.mayGoOff(), WasOn: e.on, Arrival: last.arrival}
	for _, r := range of {
		out.Cluster.UID = cmp.Or(out.Cluster.UID, r.Cluster.UID)
	}
	return out
}
