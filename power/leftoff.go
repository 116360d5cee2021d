package power

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"lightsout/internal/outage"
)

// Certainty is how certain it is that a machine is off.
type Certainty string

// Certainties.
const (
	// LeftOffSeen: it was switched off and seen to be off.
	LeftOffSeen Certainty = "off"
	// LeftOffUncertain: it received a request to switch off, whose result
	// was not seen (the program was killed, or the deadline passed).
	LeftOffUncertain Certainty = "uncertain"
)

// LeftOff is a machine that was switched off by this program and has not been
// seen on again.
type LeftOff struct {
	// Entry is the first intent to switch it off that is open; its Binding is
	// what powers on.
	Entry
	Certainty Certainty
	// Before is what was known of its node when it was requested to switch off for the last
	// time, and Until when that can't be carried out any more if it was not seen.
	Before outage.Before
	Until  time.Time
	// Refused is what the power API gave as its reason when it refused the request; empty if
	// it did not.
	Refused string
	// Ops are the operations that are open.
	Ops []string
}

// CantTell is a sentence about a node that is Ready again if nobody can tell whether it has
// booted since its machine was asked to go off; otherwise it is empty.
func (l LeftOff) CantTell(now outage.Now) string {
	if l.Before.Seen(now) != outage.CantTell {
		return ""
	}
	return fmt.Sprintf("%s is Ready again since %s, but its boot ID proves no boot and its machine was not proven off: lightsout can't tell whether it booted, and lists it as off until its machine is seen on after %s",
		Clean(l.Node), now.Ready.Local().Format(time.TimeOnly), l.Until.Local().Format(time.TimeOnly))
}

const (
	// RefusedWithin is how long after its refusal a power API may still carry out a request to
	// switch a machine off. A machine that is seen off up to CarriedOutWithin after the refusal
	// counts as switched off by it.
	RefusedWithin = 10 * time.Minute
	// notCountedWithin is how long after a refusal the machine's node does not count as a worker
	// that is left: as long as lightsout waits for a shutdown that was accepted.
	notCountedWithin = 3 * time.Minute
)

// journalState is the sum of the entries so far, for all clusters.
type journalState struct {
	open    map[string]*operationLeft // by operation
	settled map[string]settlement     // by operation, including operations not read yet
	cordon  []Entry                   // nodes cordoned by this program
	damaged []Entry                   // damaged lines, with their readable part
	known   map[string]bool           // every operation in a whole line
	on      []Entry                   // the newest power-on request, by node
	// lines counts the entries. annotating has the line of each annotation by its ID,
	// and intents the newest line of each node with an intent to switch it off.
	lines               int
	annotating, intents map[string]int
	// ledTo has the newest request with a known UID, by the settings that led to its cluster.
	ledTo map[ledBy]Entry
}

// ledBy are the settings that lead to a cluster.
type ledBy struct{ config, name, ca, server string }

func (c Cluster) ledBy(config string) ledBy { return ledBy{config, c.Name, c.CA, c.Server} }

// settlement describes how an operation was settled.
type settlement struct {
	op    *operationLeft // nil if its intent was not read before
	asked time.Time      // of the evidence, see Entry.RequestedAt; or when it was written
	// byTime: the machine was on when the time for carrying the operation out was over, and nothing
	// else settled it.
	byTime bool
}

func newJournalState() *journalState {
	return &journalState{open: map[string]*operationLeft{}, settled: map[string]settlement{}, known: map[string]bool{}, annotating: map[string]int{}, intents: map[string]int{}, ledTo: map[ledBy]Entry{}}
}

func (l *journalState) fold(e Entry) {
	l.lines++
	switch {
	case e.Kind == EntryAnnotating:
		l.annotating[e.Op] = l.lines
	case e.Kind == EntryIntent && e.Action != ActionOn:
		l.intents[e.Node] = l.lines
	}
	if e.Op != "" {
		l.known[e.Op] = true
	}
	if e.Kind == EntryIntent && e.ClusterUID != "" {
		l.ledTo[e.Of().ledBy(e.Config)] = e
	}
	for i := len(l.damaged) - 1; i >= 0 && l.damaged[i].At.IsZero(); i-- {
		l.damaged[i].At = e.At // it was written before this one
	}
	l.poweredOn(e)
	l.settle(e)
	l.reopen(e)
	l.seenOff(e)
	switch {
	case e.Kind == EntryCordoned:
		if !slices.ContainsFunc(l.cordon, e.sameNodeAs) {
			l.cordon = append(l.cordon, e)
		}
	case e.Kind == EntryUncordoned:
		l.cordon = slices.DeleteFunc(l.cordon, func(o Entry) bool { return e.sameNodeAs(o) && !o.At.After(e.At) })
	case e.Kind == EntrySeen, e.Action == ActionOn:
	case l.isSettled(e.Op):
	case e.Kind == EntryIntent:
		if l.open[e.Op] == nil {
			l.open[e.Op] = &operationLeft{Entry: e, certainty: LeftOffUncertain, asked: e.At}
		}
	case e.Kind == EntryOutcome:
		l.outcome(e)
	}
}

// poweredOn records when lightsout asked to power on a node's machine.
func (l *journalState) poweredOn(e Entry) {
	if e.Action != ActionOn || e.Kind != EntryIntent && !e.Sent {
		return
	}
	l.on = append(slices.DeleteFunc(l.on, e.sameNodeAs), e)
	for _, o := range l.open {
		o.overtaken = o.overtaken || e.Kind == EntryIntent && e.sameNodeAs(o.Entry)
	}
}

// PoweredOn returns the last power-on requests for the machines of this journal's
// cluster, by node.
func (j *Journal) PoweredOn() map[string]time.Time {
	out := map[string]time.Time{}
	if j == nil {
		return out
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // LeftOff reports unreadable lines
	for _, e := range j.left.on {
		if e.Of().Same(j.cluster) {
			out[e.Node] = e.At
		}
	}
	return out
}

// notAfter limits the time of an entry to now: it was written before it was read,
// whatever this machine's clock was then.
func (e Entry) notAfter(now time.Time) Entry {
	for _, at := range []*time.Time{&e.At, &e.WasOff, &e.RequestedAt, &e.Heard, &e.SentAt} {
		if at.After(now) {
			*at = now
		}
	}
	return e
}

func (e Entry) sameNodeAs(o Entry) bool {
	return e.Node == o.Node && e.Of().Same(o.Of())
}

// seenOff records that an operation, of any kind, proved a machine off: earlier
// requests can no longer switch it off. It keeps later requests, and those of machines
// presumed off. It also keeps a request to cut the power whose end is unknown if
// another request switched the machine off: a power API may still have it queued.
func (l *journalState) seenOff(e Entry) {
	earlier := func(o *operationLeft) bool {
		return e.WasOff.After(o.asked) && sameMachine(cmp.Or(o.Binding.On, o.Binding.Off), cmp.Or(e.Binding.On, e.Binding.Off)) && o.Of().Proves(e.Of())
	}
	for id, s := range l.settled {
		if s.op != nil && s.op.refusal != "" && earlier(s.op) {
			l.settled[id] = settlement{asked: s.asked}
		}
	}
	for _, o := range l.open {
		if !earlier(o) {
			continue
		}
		another := e.Action != ActionOn && e.Op != o.Op
		o.queued = o.queued || another && o.Action == ActionOff && o.certainty == LeftOffUncertain
		if !o.queued {
			o.certainty, o.proven, o.off = LeftOffSeen, true, e.At
		}
	}
}

// outcome applies the outcome of switching off to its intent. If the intent is damaged,
// the outcome represents both.
func (l *journalState) outcome(e Entry) {
	o := l.open[e.Op]
	if o == nil {
		o = &operationLeft{Entry: e, certainty: LeftOffUncertain, asked: e.At}
		l.open[e.Op] = o
	}
	switch {
	case e.Stage == StageDone:
		o.certainty, o.proven, o.off = LeftOffSeen, e.Proof == Proven.String(), e.At
	case e.Stage == StageFailed && !e.Sent:
		l.refused(e, o)
	case e.Refused:
		o.refusal = cmp.Or(e.Text, noReason)
	}
	if e.SentAt.After(o.sent) {
		o.sent = e.SentAt
	}
	if e.Sent && e.At.After(o.asked) {
		o.asked = e.At
		if e.Stage != StageDone { // earlier sightings no longer count
			o.certainty, o.proven = LeftOffUncertain, false
		}
	}
}

// noReason stands for the reason of a refusal that has none.
const noReason = "it gave no reason"

// refused ends an operation that failed. If the driver had sent the request, the operation is only
// settled, because a power API may carry out what it refuses: SeenOff then reopens it.
func (l *journalState) refused(e Entry, o *operationLeft) {
	delete(l.open, e.Op)
	if !e.SentAt.IsZero() {
		o.asked, o.refusal = e.At, cmp.Or(e.Text, noReason)
		l.settled[e.Op] = settlement{op: o, asked: e.SentAt}
	}
}

// Fields of a damaged line that tell whether it matters, if they can be read.
var damagedField = regexp.MustCompile(`"(kind|op|action|node)":"([^"\\,]{1,253})"`)

// damage keeps a line that is not an entry, with its readable part as a hint: damage
// may have changed a name into another. The next entry shows when it was written.
func (l *journalState) damage(line []byte) {
	sum := sha256.Sum256(line)
	e := Entry{Op: "damaged-" + hex.EncodeToString(sum[:6])}
	for _, f := range damagedField.FindAllSubmatch(line, -1) {
		value := Clean(string(f[2]))
		field := map[string]*string{"kind": (*string)(&e.Kind), "op": &e.Text, "node": &e.Node, "action": (*string)(&e.Action)}[string(f[1])]
		if *field == "" {
			*field = value
		}
	}
	switch {
	case e.Kind == EntrySeen, e.Kind == EntryCordoned, e.Kind == EntryUncordoned, e.Kind == EntryAnnotating, e.Action == ActionOn:
		return // a later entry can repeat it
	}
	l.damaged = append(l.damaged, e)
}

// inspectedOps returns the operations that settle a damaged line for one cluster, because
// nobody can read to which cluster it belonged. There is one for each key of the
// cluster, so that the settlement holds before the UID is known, and with another
// kubeconfig.
func inspectedOps(op string, c Cluster) []string {
	var out []string
	for _, known := range []string{c.CA + c.Server, c.UID} {
		if known != "" {
			out = append(out, op+"@"+known)
		}
	}
	if len(out) == 0 {
		out = append(out, op+"@"+c.Name)
	}
	return out
}

// unreadable returns the damaged lines that may have contained a machine of cluster c that is
// off and that no other entry has.
func (l *journalState) unreadable(c Cluster) []Entry {
	var out []Entry
	for _, e := range l.damaged {
		if !slices.ContainsFunc(inspectedOps(e.Op, c), l.isSettled) && !l.known[e.Text] {
			e.Text = ""
			out = append(out, e)
		}
	}
	return out
}

// all gives every open operation, oldest first.
func (l *journalState) all() []*operationLeft {
	return slices.SortedFunc(maps.Values(l.open), (*operationLeft).compare)
}

func (o *operationLeft) compare(p *operationLeft) int {
	return cmp.Or(o.At.Compare(p.At), strings.Compare(o.Node, p.Node), strings.Compare(o.Op, p.Op))
}

// late gives every settled operation that a power API could still carry out, oldest
// first, unless another operation on its machine is open.
func (l *journalState) late(carriedOut time.Duration) (out []*operationLeft) {
	open := l.all()
	for _, s := range l.settled {
		if s.op == nil || time.Since(s.op.asked) > carriedOut {
			continue
		}
		if !slices.ContainsFunc(open, func(o *operationLeft) bool { return o.concerns(s.op.Binding.On) || o.concerns(s.op.Binding.Off) }) {
			out = append(out, s.op)
		}
	}
	slices.SortFunc(out, (*operationLeft).compare)
	return out
}

// leftBy gives one LeftOff a machine: the first intent of these operations, whose boot
// is the one before, with the best certainty of all of them, and the UID that is known.
func leftBy(ops []*operationLeft, carriedOut time.Duration) []LeftOff {
	var out []LeftOff
	for _, o := range ops {
		i := slices.IndexFunc(out, func(l LeftOff) bool {
			return l.sameNodeAs(o.Entry) && machineKey(l.Binding) == machineKey(o.Binding)
		})
		if i < 0 {
			i = len(out)
			out = append(out, LeftOff{Entry: o.Entry, Certainty: o.certainty})
		}
		left := &out[i]
		left.ClusterUID = cmp.Or(left.ClusterUID, o.ClusterUID)
		if o.certainty == LeftOffSeen {
			left.Certainty = LeftOffSeen
		}
		if until := o.mayHappen(carriedOut); until.After(left.Until) {
			left.Until = until
		}
		left.Before, left.Refused = o.before(), o.refusal // of the last one
		left.Ops = append(left.Ops, o.Op)
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

// LeftOff returns the machines of this journal's cluster that were switched off and
// have not been seen on again, oldest first. It reads only the lines that any program
// has appended since the last call.
func (j *Journal) LeftOff() ([]LeftOff, error) {
	c := j.Cluster()
	return j.leftOff(func(o *operationLeft) bool { return o.Of().Same(c) })
}

// LeftOffAll is LeftOff for the machines of all clusters.
func (j *Journal) LeftOffAll() ([]LeftOff, error) {
	return j.leftOff(func(*operationLeft) bool { return true })
}

// leftOff returns the machines that the chosen operations have left off, oldest first.
func (j *Journal) leftOff(chosen func(*operationLeft) bool) ([]LeftOff, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	open := slices.DeleteFunc(j.left.all(), func(o *operationLeft) bool { return !chosen(o) })
	return leftBy(open, j.carriedOut), err
}

// LateAll returns the machines of all clusters that are on again, or whose power API refused the
// request, although it could still carry out a request to switch them off: see SeenOff.
func (j *Journal) LateAll() []LeftOff {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // LeftOff reports unreadable lines
	return leftBy(j.left.late(j.carriedOut), j.carriedOut)
}

// refusedOff is a request that a power API has refused so recently that its node does not count as
// a worker that is left, and until when.
type refusedOff struct {
	Entry
	until time.Time
}

// mayGoOff returns those requests of this journal's cluster, by node.
func (j *Journal) mayGoOff() map[string][]refusedOff {
	out := map[string][]refusedOff{}
	if j == nil {
		return out
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // LeftOff reports unreadable lines
	for _, o := range j.left.late(notCountedWithin) {
		if o.refusal != "" && o.Of().Same(j.cluster) {
			out[o.Node] = append(out[o.Node], refusedOff{o.Entry, o.asked.Add(notCountedWithin)})
		}
	}
	return out
}

// LeftCordoned returns the nodes of this journal's cluster that this program has
// cordoned and not uncordoned since, oldest first.
func (j *Journal) LeftCordoned() ([]Entry, error) {
	all, err := j.LeftCordonedAll()
	c := j.Cluster()
	return slices.DeleteFunc(all, func(e Entry) bool { return !e.Of().Same(c) }), err
}

// LeftCordonedAll is LeftCordoned for the nodes of all clusters.
func (j *Journal) LeftCordonedAll() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	return slices.Clone(j.left.cordon), err
}

// Damaged returns the unreadable lines of the journal that may have contained a machine
// of this cluster that is off, until they are acknowledged. Of an entry only Op, the
// line's ID, is certain; Node is a hint. A power API may carry their requests out until
// CarriedOutWithin after At, which is zero while no line follows them.
func (j *Journal) Damaged() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	return j.left.unreadable(j.cluster), err
}

// Acknowledge settles damaged lines for this journal's cluster, after the machines that
// they may have contained were polled.
func (j *Journal) Acknowledge(damaged []Entry, text string) error {
	if len(damaged) == 0 {
		return nil
	}
	e := Entry{Kind: EntrySeen, Settles: []string{}, Text: Clean(text)}
	for _, d := range damaged {
		e.Settles = append(e.Settles, inspectedOps(d.Op, j.Cluster())...)
	}
	return j.appendSoon(e)
}

// catchUp reads the lines appended since the last call; the caller holds j.mu. It also
// takes readable lines when there is an error.
func (j *Journal) catchUp() error {
	if j.closed {
		return fmt.Errorf("the journal %s is closed", j.path)
	}
	var first error
	for _, t := range j.tails {
		again, err := t.catchUp(func(e Entry) { j.left.fold(e.notAfter(time.Now())) }, j.left.damage)
		if again { // one of the files is shorter than it was: read all again
			j.left = newJournalState()
			for _, t := range j.tails {
				t.read = 0
			}
			return j.catchUp()
		}
		first = cmp.Or(first, err)
	}
	return first
}
