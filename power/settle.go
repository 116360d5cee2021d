package power

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"lightsout/internal/outage"
)

// Seen is evidence that a machine is on: a reading of its driver, or its node, which is
// Ready after another boot.
type Seen struct {
	Node NodeRef
	// Machine is the machine that its driver has just proven on; nil if lightsout
	// polled no driver.
	Machine *Machine
	// WasOff is when the machine was last proven off; zero if never.
	WasOff time.Time
	// RequestedAt is the time of the poll that found the machine on: the evidence proves
	// nothing about later events.
	RequestedAt time.Time
	// ReadySince is when the node became Ready, by this host's clock; zero if unknown.
	ReadySince time.Time
	// Text describes the evidence in one sentence.
	Text string
}

// operationLeft is an operation that is not settled, and that has switched a machine
// off or may have.
type operationLeft struct {
	Entry
	certainty Certainty
	proven    bool      // proven off, not only presumed
	off       time.Time // when the entry was written that reports the machine off
	asked     time.Time // when the request was last under way
	sent      time.Time // when lightsout sent it last; zero if unknown
	// queued: another request switched the machine off, so this one, whose end is
	// unknown, may still wait in the power API. A guest's shutdown ends with its boot.
	queued bool
	// refusal is the power API's reason not to carry it out; empty if it gave none, or if the
	// machine was seen off since.
	refusal string
	// overtaken: the journal has a request to power the machine on after this intent.
	overtaken bool
}

// bootGap is shorter than any machine needs to reboot and answer again, and longer than
// the time between two heartbeats of a kubelet (nodeStatusUpdateFrequency and the
// Lease's renewal: 10 s each).
const bootGap = 12 * time.Second

// endsBoot reports whether the boot in the intent, or a later one that the request
// reached, is over. That is so if the machine was proven off since; or if it was
// presumed off, and its node's heartbeat was so recent at the request that it had not
// rebooted by itself. Otherwise the request may have reached a later boot, which was
// still shutting down when the node was seen Ready.
func (o *operationLeft) endsBoot() bool {
	at := o.At
	if o.sent.After(at) { // lightsout was stopped, or waited, after it had written the intent
		at = o.sent
	}
	return o.certainty == LeftOffSeen && (o.proven || certainBoot(o.Heard, at))
}

// certainBoot reports whether a node with this last heartbeat had certainly not
// rebooted by the time at.
func certainBoot(heard, at time.Time) bool { return !heard.IsZero() && at.Sub(heard) < bootGap }

// mayHappen returns until when the power API may still carry out the operation; zero if
// it has.
func (o *operationLeft) mayHappen(carriedOut time.Duration) time.Time {
	if o.certainty == LeftOffSeen && o.proven {
		return time.Time{}
	}
	return o.asked.Add(o.within(carriedOut))
}

// within returns how long the power API may still carry out the operation: carriedOut, or the
// shorter time after a refusal.
func (o *operationLeft) within(carriedOut time.Duration) time.Duration {
	if o.refusal != "" {
		return min(carriedOut, RefusedWithin)
	}
	return carriedOut
}

// concerns reports whether the evidence is about the operation's machine.
func (o *operationLeft) concerns(m *Machine) bool {
	return sameMachine(o.Binding.Off, m) || sameMachine(o.Binding.On, m)
}

// sameNode reports whether a node is the one that was switched off, and not a new one
// of the same name. A kubelet that has reported a systemUUID always does.
func (o *operationLeft) sameNode(n NodeRef) bool {
	was := o.Binding.Node
	switch {
	case o.Node != n.Name, was.SystemUUID != "" && n.SystemUUID != was.SystemUUID:
		return false
	case was.ProviderID != "" && n.ProviderID != "":
		return was.ProviderID == n.ProviderID
	}
	return len(proving(was.Addresses)) == 0 || len(proving(n.Addresses)) == 0 || common(was.Addresses, n.Addresses) != ""
}

// settledBy reports whether evidence settles an operation: the machine is on, and the
// operation was carried out or no longer can be. A machine that is proven on may still
// be shutting down, so that alone is not enough.
func settledBy(o *operationLeft, s Seen, carriedOut time.Duration) bool {
	seenOff := o.certainty == LeftOffSeen
	switch late := s.RequestedAt.After(o.asked.Add(o.within(carriedOut))); {
	case s.RequestedAt.Before(o.At), seenOff && !s.RequestedAt.After(o.off):
		return false // an answer to a request from before it went off proves nothing
	case o.before().Seen(outage.Now{ID: s.Node.BootID, Ready: s.ReadySince}) == outage.Booted && o.sameNode(s.Node):
		return o.endsBoot() || late
	case s.Machine == nil, !o.concerns(s.Machine):
		return false // it is about another machine
	default:
		return late || seenOff && o.proven || s.WasOff.After(o.asked) && !o.queued
	}
}

// before is what the journal knows of the node from before its machine went off.
func (o *operationLeft) before() outage.Before {
	b := outage.Before{ID: o.Binding.Node.BootID, Asked: o.asked}
	if o.certainty == LeftOffSeen && o.proven {
		b.Off = o.off
	}
	return b
}

func (l *journalState) isSettled(op string) bool {
	_, ok := l.settled[op]
	return ok
}

// settle records the operations that an entry settles. Two programs may settle one at
// once, each before it has read the other's line.
func (l *journalState) settle(e Entry) {
	asked := e.RequestedAt
	if asked.IsZero() {
		asked = e.At
	}
	for _, op := range e.Settles {
		s := l.settled[op]
		s.op = cmp.Or(l.open[op], s.op)
		if asked.After(s.asked) {
			s.asked = asked
		}
		before, again := l.settled[op]
		s.byTime = s.op.settledByTime(e, asked) && (!again || before.byTime)
		l.settled[op] = s
		delete(l.open, op)
	}
}

// settledByTime reports whether an entry, whose evidence was asked for then, settles an operation only
// because the time for carrying it out is over.
func (o *operationLeft) settledByTime(e Entry, asked time.Time) bool {
	return o != nil && e.Kind == EntrySeen && !outage.OtherBoot(o.Binding.Node.BootID, e.BootID) && asked.After(o.asked.Add(CarriedOutWithin))
}

// reopen records that a machine was seen off, or its request sent, after its operation
// was settled: the evidence was of a boot that had not ended yet, or somebody judged
// while the request was still waiting. An uncertain outcome reopens its operation also if only the
// time since the request settled it: the clock may have been set.
func (l *journalState) reopen(e Entry) {
	ops := e.Reopens
	if s, ok := l.settled[e.Op]; ok && e.Kind == EntryOutcome && e.Action != ActionOn {
		seen := e.State == Off.String() && e.RequestedAt.After(s.asked)
		unclear := e.Sent && e.Stage == StageUncertain && s.byTime
		if seen || unclear || e.Sent && e.SentAt.After(s.asked) {
			ops = []string{e.Op}
		}
	}
	for _, op := range ops {
		s := l.settled[op]
		if s.op == nil {
			continue
		}
		s.op.certainty, s.op.refusal = LeftOffUncertain, ""
		if e.State == Off.String() {
			s.op.certainty, s.op.proven, s.op.off = LeftOffSeen, e.Proof == Proven.String(), e.At
		}
		l.open[op] = s.op
		delete(l.settled, op)
	}
}

// mayBeSent reports whether an operation is not settled, and nobody has asked to power
// its machine on since its intent. An unreadable operation may be sent: nobody has
// settled or overtaken it.
func (j *Journal) mayBeSent(op string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.catchUp() != nil {
		return true
	}
	o := j.left.open[op]
	return o != nil && !o.overtaken
}

// SeenOn settles the operations that the evidence settles, and returns their number. If
// there are none it writes nothing. If somebody has removed the journal, it settles them for
// this program.
func (j *Journal) SeenOn(s Seen) (int, error) {
	ops, _ := j.closedBy(s)
	if len(ops) == 0 {
		return 0, nil
	}
	return len(ops), j.appendSeen(Entry{Kind: EntrySeen, Node: s.Node.Name, BootID: s.Node.BootID, RequestedAt: s.RequestedAt.UTC(), Settles: ops, Text: Clean(s.Text)})
}

// appendSeen writes what lightsout saw. If somebody has removed the journal, nothing can be written
// any more, and this program still knows it: a machine that is proven on is not left off.
func (j *Journal) appendSeen(e Entry) error {
	err := j.appendSoon(e)
	if errors.Is(err, errRemoved) {
		j.mu.Lock()
		defer j.mu.Unlock()
		e.At = time.Now()
		j.left.fold(e.notAfter(e.At))
	}
	return err
}

// SeenOff reopens the operations that are settled although the power API could still
// carry them out, if r proves their machine m off afterwards: a request may be carried
// out late, or twice. It returns the number of reopened operations. If there are none
// it writes nothing.
func (j *Journal) SeenOff(node string, m Machine, r Reading) (int, error) {
	if j == nil || r.State != Off || r.Proof != Proven {
		return 0, nil
	}
	ops := j.mayReopen(m, r.CountsFrom())
	if len(ops) == 0 {
		return 0, nil
	}
	return len(ops), j.appendSeen(Entry{Kind: EntrySeen, Node: node, RequestedAt: r.CountsFrom().UTC(), Reopens: ops,
		State: r.State.String(), Proof: r.Proof.String(), Text: Clean(m.Title() + " is off although it had been on again, or its power API had refused (" + r.Detail + ")")})
}

// mayReopen returns the operations on m that SeenOff would reopen.
func (j *Journal) mayReopen(m Machine, asked time.Time) (ops []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // an unreadable operation is not settled
	for _, o := range j.left.late(j.carriedOut) {
		if o.concerns(&m) && o.Of().Same(j.cluster) && asked.After(j.left.settled[o.Op].asked) {
			ops = append(ops, o.Op)
		}
	}
	slices.Sort(ops)
	return ops
}

// Over reports whether the evidence settles every operation that has left a machine
// off; it writes nothing.
func (j *Journal) Over(l LeftOff, s Seen) bool {
	over, _ := j.closedBy(s)
	return !slices.ContainsFunc(l.Ops, func(op string) bool { return !slices.Contains(over, op) })
}

// closedBy returns the operations that the evidence settles, never nil. until is the
// time up to which the evidence does not count for its machine, because another
// operation may yet switch it off or has done so since; zero if there is no such
// operation.
func (j *Journal) closedBy(s Seen) (over []string, until time.Time) {
	over = []string{}
	if j == nil {
		return over, until
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // an unreadable operation is not settled
	for _, o := range j.left.all() {
		if !o.Of().Same(j.cluster) {
			continue
		}
		ev := s
		if !j.left.proves(o.Entry, j.cluster) {
			ev.Node.Name = "" // it may be another cluster's
		}
		if settledBy(o, ev, j.carriedOut) {
			over = append(over, o.Op)
			continue
		}
		at := o.mayHappen(j.carriedOut)
		if at.IsZero() { // it has gone off since the request for the evidence
			at = o.off.Add(time.Millisecond)
		}
		if o.concerns(s.Machine) && at.After(s.RequestedAt) && at.After(until) {
			until = at
		}
	}
	return over, until
}

// proves reports whether a node of cluster c is certainly the one that the intent e names.
// It is not if the cluster did not reveal its UID when lightsout wrote e, but did so another
// time over the same settings: they may have led to another cluster.
func (l *journalState) proves(e Entry, c Cluster) bool {
	of := e.Of()
	if of.UID == "" && l.ledTo[of.ledBy(e.Config)].ClusterUID != "" {
		return false
	}
	return of.ProvesNode(c)
}
