package power

import (
	"fmt"
	"slices"
	"time"

	"lightsout/internal/text"
)

// Seen is what lightsout saw of a machine: a reading of its driver, or its node, which is Ready.
type Seen struct {
	Node NodeRef
	// Machine is the machine that its driver has just reported with State and Proof; nil if lightsout
	// polled no driver.
	Machine *Machine
	State   State
	Proof   Proof
	// WasOff is when the machine was last proven off; zero if never.
	WasOff time.Time
	// RequestedAt is the time of the poll: the evidence proves nothing about later events.
	RequestedAt time.Time
	// ReadySince is when the node became Ready, by this host's clock; zero if unknown.
	ReadySince time.Time
	// Text describes the evidence in one sentence.
	Text string
}

// entry returns the journal's entry of what was seen by a program of cluster c.
func (s Seen) entry(c Cluster) Entry {
	return Entry{Kind: EntrySeen, Node: s.Node.Name, Binding: Binding{Node: s.Node, On: s.Machine}, State: s.State.String(), Proof: s.Proof.String(),
		WasOff: s.WasOff.UTC(), RequestedAt: s.RequestedAt.UTC(), ReadySince: s.ReadySince.UTC(), Text: Clean(s.Text), Cluster: c}
}

// Evidence returns what a reading of a binding's machine shows; ok is false unless it proves the machine on or off.
func (f *Fleet) Evidence(b Binding, r Reading) (seen Seen, ok bool) {
	m, ok := f.stateMachine(b)
	if !ok || r.State != On && r.State != Off || r.Proof != Proven {
		return Seen{}, false
	}
	return Seen{
		Node: NodeRef{Name: b.Node.Name}, Machine: &m, State: r.State, Proof: r.Proof,
		RequestedAt: r.RequestedAt, Text: fmt.Sprintf("%s is %s (%s)", m.Called(), r.State, r.Detail),
	}, true
}

// Saw adds what was seen to the journal, if by that a machine is on again, or is off although it was: a
// request may be carried out late, or although it was refused. It reports whether that is so. If the
// journal can't be written, this program still knows it.
func (j *Journal) Saw(s Seen) (changed bool, err error) {
	if j == nil {
		return false, nil
	}
	e, changed := j.changes(s)
	if !changed {
		return false, nil
	}
	err = j.appendSoon(e)
	if err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		e.At = time.Now()
		j.left.fold(e.notAfter(e.At))
	}
	return true, err
}

// changes reports whether a machine is on by what was seen, and was not before, or the reverse.
func (j *Journal) changes(s Seen) (e Entry, changed bool) {
	_ = j.lock() // an unreadable request is not over
	defer j.mu.Unlock()
	e = s.entry(j.cluster)
	for _, was := range j.left.machines() {
		now := text.Each(was, func(r *request) *request { return r.with(e) })
		changed = changed || len(stateOf(was).open) != len(stateOf(now).open)
	}
	return e, changed
}

// with returns the request with the sightings of one more entry.
func (r request) with(e Entry) *request {
	r.seen = append(slices.Clip(r.seen), r.sightings(e)...)
	return &r
}

// mayUndo reports whether an earlier request may still switch off a machine that was seen on, and until when,
// or has gone off since; until is zero then. A refused request delays nobody: it is hardly ever carried out.
func (j *Journal) mayUndo(s Seen) (until time.Time, may bool) {
	_ = j.lock() // an unreadable request is not over
	defer j.mu.Unlock()
	e := s.entry(j.cluster)
	var requests []*request
	for _, r := range j.left.requests {
		if r.arrival.Fate != Rejected && r.Cluster.Same(j.cluster) && r.concerns(s.Machine) {
			requests = append(requests, r.with(e))
		}
	}
	state := stateOf(requests)
	return state.mayGoOff(), len(state.open) > 0
}

// mayBeSent reports whether a request to switch off may be sent: it is not over, and nobody has asked to
// power its machine on since its intent. An unreadable one may be sent: nobody has overtaken it.
func (j *Journal) mayBeSent(op string) bool {
	err := j.lock()
	defer j.mu.Unlock()
	if err != nil {
		return true
	}
	r := j.left.find(op)
	return r != nil && !r.overtaken && len(stateOf([]*request{r}).open) > 0
}
