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
)

// Certainty says how well it is known that a machine is off.
type Certainty string

// Certainties.
const (
	// LeftOffSeen: it was switched off and seen to be off.
	LeftOffSeen Certainty = "off"
	// LeftOffUncertain: it was asked to switch off, and what became of it
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
	// Asked is when it was asked to switch off for the last time, and Until
	// when it can't be carried out any more if that was not seen.
	Asked, Until time.Time
	// Ops are the operations that are open.
	Ops []string
}

// Seen is evidence that a machine is on: by the word of its driver, or by its
// node, which is Ready with another boot.
type Seen struct {
	Node NodeRef
	// Machine is the machine that its driver has just proven on; nil when no
	// driver was asked. ProvesOff says that the same driver proves Off, too.
	Machine   *Machine
	ProvesOff bool
	// WasOff is when the machine was proven off last; zero when it was not.
	WasOff time.Time
	At     time.Time
	// Text is one sentence.
	Text string
}

// operationLeft is an operation that has switched a machine off or may have,
// and that is not settled.
type operationLeft struct {
	Entry
	certainty Certainty
	proven    bool      // it was proven off, not only presumed
	off       time.Time // when it was seen off
	asked     time.Time // when the request was under way last
}

// mayHappen is until when the operation may still be carried out; zero when it
// has been.
func (o *operationLeft) mayHappen(carriedOut time.Duration) time.Time {
	if o.certainty == LeftOffSeen && o.proven {
		return time.Time{}
	}
	return o.asked.Add(carriedOut)
}

// concerns reports whether evidence is about the operation's machine.
func (o *operationLeft) concerns(m *Machine) bool {
	return sameMachine(o.Binding.Off, m) || sameMachine(o.Binding.On, m)
}

// sameNode reports whether a node is the one that was switched off, and not
// another of the same name.
func (o *operationLeft) sameNode(n NodeRef) bool {
	was := o.Binding.Node
	switch {
	case o.Node != n.Name:
		return false
	case was.ProviderID != "" && n.ProviderID != "":
		return was.ProviderID == n.ProviderID
	}
	return len(was.Addresses) == 0 || len(n.Addresses) == 0 || meets(was.Addresses, n.Addresses)
}

// settledBy reports whether evidence closes an operation: the machine is on,
// and the operation has been carried out or can't be any more. A machine that
// is proven on may still be on its way down, so that alone is not enough.
func settledBy(o *operationLeft, s Seen, carriedOut time.Duration) bool {
	if s.At.Before(o.At) {
		return false // asked for later, perhaps by somebody else
	}
	if otherBoot(o.Binding.Node.BootID, s.Node.BootID) && o.sameNode(s.Node) {
		return true
	}
	if s.Machine == nil || !o.concerns(s.Machine) {
		return false
	}
	switch {
	case s.WasOff.After(o.At):
		return true
	case o.certainty == LeftOffSeen && (o.proven || !s.ProvesOff):
		return s.At.After(o.off) // what was seen before it went off says nothing
	}
	return s.At.After(o.mayHappen(carriedOut))
}

// ledger is what the entries so far add up to, for all clusters.
type ledger struct {
	open    map[string]*operationLeft // by operation
	settled map[string]bool           // operations, also such as were not read yet
	cordon  []Entry                   // nodes cordoned by this program
	damaged []Entry                   // damaged lines, with what can be read of them
	known   map[string]bool           // every operation that a whole line tells of
}

func newLedger() *ledger {
	return &ledger{open: map[string]*operationLeft{}, settled: map[string]bool{}, known: map[string]bool{}}
}

func (l *ledger) fold(e Entry) {
	if e.Op != "" {
		l.known[e.Op] = true
	}
	for i := len(l.damaged) - 1; i >= 0 && l.damaged[i].At.IsZero(); i-- {
		l.damaged[i].At = e.At // it was written before this one
	}
	for _, op := range e.Settles {
		l.settled[op] = true
		delete(l.open, op)
	}
	l.seenOff(e)
	switch {
	case e.Kind == EntryCordoned:
		if !slices.ContainsFunc(l.cordon, e.sameNodeAs) {
			l.cordon = append(l.cordon, e)
		}
	case e.Kind == EntryUncordoned:
		l.cordon = slices.DeleteFunc(l.cordon, func(o Entry) bool { return e.sameNodeAs(o) && !o.At.After(e.At) })
	case e.Kind == EntrySeen, e.Action == ActionOn:
		if e.Settles == nil && (e.Kind == EntrySeen || e.Kind == EntryOutcome && e.Phase == PhaseDone) {
			l.settleOld(e)
		}
	case l.settled[e.Op]:
	case e.Kind == EntryIntent:
		if l.open[e.Op] == nil {
			l.open[e.Op] = &operationLeft{Entry: e, certainty: LeftOffUncertain, asked: e.At}
		}
	case e.Kind == EntryOutcome:
		l.outcome(e)
	}
}

func (e Entry) sameNodeAs(o Entry) bool {
	return e.Node == o.Node && e.Of().Same(o.Of())
}

// settleOld reads "seen on" as it was meant before operations were settled by
// their ids: all of the node's by the context's name. It touches old entries only.
func (l *ledger) settleOld(e Entry) {
	maps.DeleteFunc(l.open, func(_ string, o *operationLeft) bool {
		return o.Node == e.Node && o.Cluster == e.Cluster && o.ClusterUID == "" && o.ClusterCA == "" && !o.At.After(e.At)
	})
}

// seenOff takes in that an operation, of whatever sort, saw a machine proven off:
// what the machine was asked before then can't switch it off any more. What was
// asked later, or is presumed, is left as it is.
func (l *ledger) seenOff(e Entry) {
	at := e.WasOff
	if at.IsZero() && e.State == Off.String() && e.Proof == Proven.String() {
		at = e.At // written by an older program
	}
	for _, o := range l.open {
		if at.After(o.asked) && sameMachine(cmp.Or(o.Binding.On, o.Binding.Off), cmp.Or(e.Binding.On, e.Binding.Off)) && o.Of().Proves(e.Of()) {
			o.certainty, o.proven, o.off = LeftOffSeen, true, at
		}
	}
}

// outcome applies the outcome of switching off to its intent. One whose intent
// is damaged stands for both.
func (l *ledger) outcome(e Entry) {
	o := l.open[e.Op]
	if o == nil {
		o = &operationLeft{Entry: e, certainty: LeftOffUncertain, asked: e.At}
		l.open[e.Op] = o
	}
	switch {
	case e.Phase == PhaseDone:
		o.certainty, o.proven, o.off = LeftOffSeen, e.Proof == Proven.String(), e.At
	case e.Phase == PhaseFailed && !e.Sent:
		delete(l.open, e.Op)
	}
	if e.Sent && e.At.After(o.asked) {
		if o.asked = e.At; e.Phase != PhaseDone { // what was seen before counts no more
			o.certainty, o.proven = LeftOffUncertain, false
		}
	}
}

// Fields of a damaged line that tell whether it matters, if they can be read.
var damagedField = regexp.MustCompile(`"(kind|op|action|node)":"([^"\\,]{1,253})"`)

// damage keeps a line that is no entry, with what can be read of it as a hint:
// damage may have changed a name into another. When it was written is known by
// the entry that follows.
func (l *ledger) damage(line []byte) {
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
	case e.Kind == EntrySeen, e.Kind == EntryCordoned, e.Kind == EntryUncordoned, e.Action == ActionOn:
		return // what it said can be seen again
	}
	l.damaged = append(l.damaged, e)
}

// lookedAt is what settles a damaged line for one cluster; of which it told
// can't be read.
func lookedAt(op string, c Cluster) string { return op + "@" + c.lockName() }

// lost are the damaged lines that may have told of a machine of cluster c that
// is off and that nothing else tells of.
func (l *ledger) lost(c Cluster) []Entry {
	var out []Entry
	for _, e := range l.damaged {
		if !l.settled[lookedAt(e.Op, c)] && !l.known[e.Text] {
			e.Text = ""
			out = append(out, e)
		}
	}
	return out
}

// all gives every open operation, oldest first.
func (l *ledger) all() []*operationLeft {
	return slices.SortedFunc(maps.Values(l.open), func(a, b *operationLeft) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Node, b.Node), strings.Compare(a.Op, b.Op))
	})
}

// list gives one LeftOff a machine: the first open intent, whose boot is the one
// before, with the best certainty of all of them.
func (l *ledger) list(carriedOut time.Duration) []LeftOff {
	var out []LeftOff
	at := map[string]int{}
	for _, o := range l.all() {
		key := fmt.Sprint(o.Of().lockName(), "\x00", o.Node, "\x00", machineKey(o.Binding))
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, LeftOff{Entry: o.Entry, Certainty: o.certainty})
		}
		left := &out[i]
		if o.certainty == LeftOffSeen {
			left.Certainty = LeftOffSeen
		}
		if until := o.mayHappen(carriedOut); until.After(left.Until) {
			left.Until = until
		}
		left.Asked = o.asked
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

// LeftOff tells which machines of this journal's cluster were switched off and
// have not been seen on again, oldest first. It reads only what was appended
// since the last call, by any program.
func (j *Journal) LeftOff() ([]LeftOff, error) {
	all, err := j.LeftOffAll()
	c := j.Cluster()
	return slices.DeleteFunc(all, func(l LeftOff) bool { return !l.Of().Same(c) }), err
}

// LeftOffAll is LeftOff for the machines of all clusters.
func (j *Journal) LeftOffAll() ([]LeftOff, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	return j.left.list(j.carriedOut), err
}

// LeftCordoned tells which nodes of this journal's cluster this program has
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

// Damaged gives the lines of the journal that can't be read and may have told
// of a machine of this cluster that is off, until they are acknowledged. Of an
// entry only Op, the line's id, is certain; Node is a hint. What they told may
// be carried out until CarriedOutWithin after At, which is zero while nothing
// was written after them.
func (j *Journal) Damaged() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.catchUp()
	return j.left.lost(j.cluster), err
}

// Acknowledge settles damaged lines for this journal's cluster: the machines
// that they may have told of were looked at.
func (j *Journal) Acknowledge(damaged []Entry, text string) error {
	if len(damaged) == 0 {
		return nil
	}
	e := Entry{Kind: EntrySeen, Settles: []string{}, Text: Clean(text)}
	for _, d := range damaged {
		e.Settles = append(e.Settles, lookedAt(d.Op, j.Cluster()))
	}
	return j.append(e)
}

// SeenOn settles the operations that the evidence closes, and writes nothing
// when there is none. It tells how many are settled.
func (j *Journal) SeenOn(s Seen) (int, error) {
	ops, _ := j.closedBy(s)
	if len(ops) == 0 {
		return 0, nil
	}
	return len(ops), j.append(Entry{Kind: EntrySeen, Node: s.Node.Name, BootID: s.Node.BootID, Settles: ops, Text: Clean(s.Text)})
}

// Over reports whether the evidence closes every operation that has left a
// machine off; nothing is written.
func (j *Journal) Over(l LeftOff, s Seen) bool {
	over, _ := j.closedBy(s)
	return !slices.ContainsFunc(l.Ops, func(op string) bool { return !slices.Contains(over, op) })
}

// closedBy gives the operations that the evidence closes, never nil, and until when
// the machine that it is about may yet be switched off by another one; zero when
// none can do so any more.
func (j *Journal) closedBy(s Seen) (over []string, until time.Time) {
	over = []string{}
	if j == nil {
		return over, until
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // what can't be read is not settled
	for _, o := range j.left.all() {
		c := o.Of()
		if !c.Same(j.cluster) {
			continue
		}
		ev := s
		if !c.Proves(j.cluster) { // of a cluster known by name only, a boot proves nothing
			ev.Node.BootID = ""
		}
		if j.settles(o, ev, j.carriedOut) {
			over = append(over, o.Op)
		} else if at := o.mayHappen(j.carriedOut); o.concerns(s.Machine) && at.After(s.At) && at.After(until) {
			until = at
		}
	}
	return over, until
}

// catchUp takes in what was appended since the last call; j.mu is held. What
// can be read is taken in also when there is an error.
func (j *Journal) catchUp() error {
	if j.closed {
		return fmt.Errorf("the journal %s is closed", j.path)
	}
	var first error
	for _, t := range j.tails {
		again, err := t.catchUp(j.left.fold, j.left.damage)
		if again { // one of the files is shorter than it was: begin anew
			j.left = newLedger()
			for _, t := range j.tails {
				t.read = 0
			}
			return j.catchUp()
		}
		first = cmp.Or(first, err)
	}
	return first
}
