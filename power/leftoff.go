package power

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
)

// Standing is how a machine that lightsout was asked to switch off stands, by the journal, and perhaps by a reading:
// a greater one is more certainly off.
type Standing int

// Standings.
const (
	// StandsOn: it is on, and no request of this journal can switch it off any more.
	StandsOn Standing = iota + 1
	// MayGoOff: a reading shows it on, and a request may still switch it off.
	MayGoOff
	// MayBeOff: it may go off, or be off: it may have received a request to switch off, whose
	// result was not seen (the program was killed, the deadline passed, the power API refused).
	MayBeOff
	// StandsOff: it was switched off and seen to be off.
	StandsOff
)

// String is the standing in a word.
func (s Standing) String() string {
	return map[Standing]string{StandsOn: "on", MayGoOff: "may go off", MayBeOff: "uncertain", StandsOff: "off"}[s]
}

// LeftOff is a machine that this program asked to switch off, and what the journal's facts say of it.
type LeftOff struct {
	// Entry is the first intent to switch it off that is open; its Binding is
	// what powers on.
	Entry
	// Stands is its Standing by the journal alone.
	Stands Standing
	// Before is what was known of its node when it was requested to switch off for the last
	// time, and Until when that can't be carried out any more if it was not seen.
	Before outage.Before
	Until  time.Time
	// WasOn is when it was last seen on after that request was over; zero if it was not.
	WasOn time.Time
	// Arrival is that of the last request.
	Arrival Arrival
}

// CantTell says of a node that is Ready again that nobody can tell whether it has booted since its machine
// was asked to go off: outage.CantTell in a sentence.
func (l LeftOff) CantTell(now outage.Now) string {
	return fmt.Sprintf("%s is Ready again since %s, but its boot ID proves no boot and its machine was not proven off: lightsout can't tell whether it booted, and lists it as off until its machine is seen on after %s",
		Clean(l.Node), now.Ready.Local().Format(time.TimeOnly), l.Until.Local().Format(time.TimeOnly))
}

// Standing returns how the machine stands. r is its newest reading. A machine that was only presumed off may go off
// yet.
func (l LeftOff) Standing(r Reading) Standing {
	if !l.IsOn() && !l.Until.IsZero() && (r.State == Transitioning || r.Proves(On)) {
		return MayGoOff
	}
	return l.Stands
}

// whyNotCounted is the reason why its node is not a worker that is left.
func (l LeftOff) whyNotCounted() string {
	if l.Arrival.Fate == Rejected && l.Stands == MayBeOff {
		return fmt.Sprintf("may go off until %s, because its power API refused a request but may carry it out", l.Until.Local().Format(time.TimeOnly))
	}
	return "was switched off and not seen on again"
}

// journalState holds the facts of the entries so far, for all clusters.
type journalState struct {
	// requests are those that a later fact may still concern.
	requests []*request
	cordon   []Entry // nodes cordoned by this program
	damaged  []Entry // damaged lines
	// checked has the clusters for which a damaged line was checked: nobody can read to which it belonged.
	checked map[string][]Cluster
	on      []Entry // the newest power-on request, by node
	// annotated has the IDs of this journal's annotations.
	annotated map[string]bool
	// carriedOut is CarriedOutWithin, or a shorter time in tests. Each request has it.
	carriedOut time.Duration
}

func newJournalState(carriedOut time.Duration) *journalState {
	return &journalState{checked: map[string][]Cluster{}, annotated: map[string]bool{}, carriedOut: carriedOut}
}

// fold adds the facts of an entry.
func (l *journalState) fold(e Entry) {
	for i, d := range l.damaged {
		if e.At.Before(d.At) { // it was written before this one
			l.damaged[i].At = e.At
		}
	}
	for _, op := range e.Checked {
		l.checked[op] = append(l.checked[op], e.Cluster)
	}
	switch {
	case e.Kind == EntryAnnotating:
		l.annotated[e.Op] = true
	case e.Kind == EntryCordoned:
		if !slices.ContainsFunc(l.cordon, e.sameNodeAs) {
			l.cordon = append(l.cordon, e)
		}
	case e.Kind == EntryUncordoned:
		l.cordon = slices.DeleteFunc(l.cordon, func(o Entry) bool { return e.sameNodeAs(o) && !o.At.After(e.At) })
	case e.Action == ActionOn:
		l.poweredOn(e)
	case e.Kind == EntryIntent:
		l.forget(e.At)
		l.request(e)
	case e.Kind == EntryOutcome:
		l.outcome(e)
	}
	for _, r := range l.requests {
		r.seen = append(r.seen, r.sightings(e)...)
	}
}

// forget drops the requests that no fact after at can concern: their machines are on.
func (l *journalState) forget(at time.Time) {
	l.requests = slices.DeleteFunc(l.requests, func(r *request) bool {
		return at.Sub(r.underWay) > 2*l.carriedOut && len(stateOf([]*request{r}).open) == 0
	})
}

// poweredOn records when lightsout asked to power on a node's machine.
func (l *journalState) poweredOn(e Entry) {
	if e.Kind != EntryIntent && e.Arrival.Fate == NotSent {
		return
	}
	l.on = append(slices.DeleteFunc(l.on, e.sameNodeAs), e)
	for _, r := range l.requests {
		r.overtaken = r.overtaken || e.Kind == EntryIntent && e.sameNodeAs(r.Entry)
	}
}

// request returns the request of an operation, which it adds if it is new.
func (l *journalState) request(e Entry) *request {
	r := l.find(e.Op)
	if r == nil {
		r = &request{Entry: e, arrival: Arrival{Unconfirmed, e.At}, underWay: e.At, carriedOut: l.carriedOut}
		l.requests = append(l.requests, r)
	}
	return r
}

// find returns the request of an operation; nil if there is none.
func (l *journalState) find(op string) *request {
	if i := slices.IndexFunc(l.requests, func(r *request) bool { return r.Op == op }); i >= 0 {
		return l.requests[i]
	}
	return nil
}

// outcome adds the outcome of switching off to its request. If the intent is damaged, the outcome
// represents both. If nothing was sent, there was no request.
func (l *journalState) outcome(e Entry) {
	if e.Arrival.Fate == NotSent {
		l.requests = slices.DeleteFunc(l.requests, func(r *request) bool { return r.Op == e.Op })
		return
	}
	r := l.request(e)
	r.arrival = e.Arrival
	r.underWay = slices.MaxFunc([]time.Time{r.underWay, e.At}, time.Time.Compare)
}

// sightings returns what an entry shows of the machine or the node of the request. Another cluster may have a
// node or a machine of that name: a boot, or that the machine is off, counts only if it is certainly this one.
func (r *request) sightings(e Entry) (seen []sighting) {
	own := e.Op != "" && e.Op == r.Op
	certain := own || r.Cluster.Proves(e.Cluster)
	switch {
	case e.Kind == EntrySeen && e.Binding.On == nil && r.Cluster.provesNode(e.Cluster) && r.sameNode(e.Binding.Node):
		return []sighting{{at: e.RequestedAt, node: &outage.Now{ID: e.Binding.Node.BootID, Ready: e.ReadySince}}}
	case !own && !(r.Cluster.Same(e.Cluster) && r.concerns(cmp.Or(e.Binding.On, e.Binding.Off))):
		return nil
	}
	if !e.WasOff.IsZero() && certain {
		seen = append(seen, sighting{at: e.WasOff, state: Off, proof: Proven})
	}
	if !e.RequestedAt.IsZero() && (certain || e.State == On.String()) {
		seen = append(seen, sighting{at: e.RequestedAt, by: e.At,
			state: called(e.State, Unknown, On, Off, Transitioning), proof: called(e.Proof, ProofNone, Presumed, Proven)})
	}
	return seen
}

// called returns the value that has this word, or else the first one.
func called[T fmt.Stringer](word string, values ...T) T {
	return values[max(0, slices.IndexFunc(values, func(v T) bool { return v.String() == word }))]
}

// concerns reports whether a machine is the request's.
func (r *request) concerns(m *Machine) bool {
	return sameMachine(r.Binding.Off, m) || sameMachine(r.Binding.On, m)
}

// PoweredOn returns the last power-on requests for the machines of this journal's
// cluster, by node.
func (j *Journal) PoweredOn() map[string]time.Time {
	out := map[string]time.Time{}
	_ = j.lock() // LeftOff reports unreadable lines
	defer j.mu.Unlock()
	for _, e := range j.left.on {
		if e.Cluster.Same(j.cluster) {
			out[e.Node] = e.At
		}
	}
	return out
}

// notAfter limits the time of an entry to now: it was written before it was read,
// whatever this machine's clock was then.
func (e Entry) notAfter(now time.Time) Entry {
	for _, at := range []*time.Time{&e.At, &e.WasOff, &e.RequestedAt, &e.Heard, &e.Arrival.Sent, &e.ReadySince} {
		if at.After(now) {
			*at = now
		}
	}
	return e
}

func (e Entry) sameNodeAs(o Entry) bool {
	return e.Node == o.Node && e.Cluster.Same(o.Cluster)
}

func (r *request) compare(o *request) int {
	return cmp.Or(r.arrival.Sent.Compare(o.arrival.Sent), strings.Compare(r.Node, o.Node), strings.Compare(r.Op, o.Op))
}

// machines groups the requests by machine, oldest first.
func (l *journalState) machines() (out [][]*request) {
	for _, r := range slices.SortedFunc(slices.Values(l.requests), (*request).compare) {
		i := slices.IndexFunc(out, func(of []*request) bool {
			return of[0].sameNodeAs(r.Entry) && machineKey(of[0].Binding) == machineKey(r.Binding)
		})
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], r)
	}
	return out
}

// machineKey is equal for bindings of one machine: that by which it is switched
// on, or else off.
func machineKey(b Binding) string {
	if m := cmp.Or(b.On, b.Off); m != nil {
		return m.key()
	}
	return ""
}

// LeftOff returns the machines of this journal's cluster that were switched off, or may have been, and
// have not been seen on again, oldest first. It reads only the lines that any program
// has appended since the last call.
func (j *Journal) LeftOff() ([]LeftOff, error) {
	all, err := j.Machines()
	c := j.Cluster()
	return slices.DeleteFunc(all, func(l LeftOff) bool { return l.IsOn() || !l.Cluster.Same(c) }), err
}

// IsOn reports whether the machine is on again.
func (l LeftOff) IsOn() bool { return l.Stands == StandsOn }

// Machines is LeftOff for all clusters. It also returns those that are on again, although a request of
// the journal may still be carried out late.
func (j *Journal) Machines() (out []LeftOff, err error) {
	err = j.lock()
	defer j.mu.Unlock()
	for _, requests := range j.left.machines() {
		e := stateOf(requests)
		if len(e.open) > 0 || time.Since(e.last.underWay) <= e.last.carriedOut {
			out = append(out, e.left())
		}
	}
	return out, err
}

// lock locks what is known of the journal's lines, all of them unless there is an error.
func (j *Journal) lock() error {
	j.mu.Lock()
	return j.catchUp()
}
