package power

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Do carries out an action on the machines of the given nodes, side by side,
// and returns when each has ended: the wanted state was seen, it failed, or its
// deadline passed. report is told every step as it happens; it is never called
// by two goroutines at once and must not block for long. The error is nil when
// all are done, else an *ActionError. It judges nothing: see Switcher.
//
// For each machine: it is locked against other programs; then a look, for what
// is already there is done, and nothing is sent; then the intent goes to the
// journal, and if it can't be written nothing is switched off; then the request;
// then looks until the wanted state is seen. Where a power API stands for a
// machine that is switched off by another driver, the API's word is what counts.
// A failed power-on is asked for again until its deadline. A request to switch
// off is sent once, whatever becomes of it. When ctx ends, nothing new is sent,
// and what is under way is left and reported as uncertain.
func (f *Fleet) Do(ctx context.Context, a Action, bindings []Binding, report func(Progress)) error {
	return f.do(ctx, a, bindings, report, func() {})
}

// do is Do; written is called once, when nothing more will be written down
// before it is sent: every intent is in the journal.
func (f *Fleet) do(ctx context.Context, a Action, bindings []Binding, report func(Progress), written func()) error {
	var (
		mu           sync.Mutex
		failed       = map[string]string{}
		all, intents sync.WaitGroup
	)
	intents.Add(len(bindings))
	for _, b := range bindings {
		all.Go(func() {
			op := &operation{fleet: f, action: a, binding: b, id: newOp(), written: sync.OnceFunc(intents.Done)}
			defer op.written()
			op.tell = func(p Progress) {
				mu.Lock()
				defer mu.Unlock()
				p.At = time.Now() // in the order in which it is told
				if p.Phase == PhaseFailed || p.Phase == PhaseUncertain {
					failed[p.Node] = p.Text
				}
				if report != nil {
					report(p)
				}
			}
			op.run(ctx)
		})
	}
	intents.Wait()
	written()
	all.Wait()
	if len(failed) > 0 {
		return &ActionError{Action: a, Failed: failed}
	}
	return nil
}

// newOp makes an operation's id, which no other has.
func newOp() string { return rand.Text()[:12] }

// operation is one action on one machine.
type operation struct {
	fleet   *Fleet
	id      string
	action  Action
	binding Binding
	machine Machine
	tell    func(Progress)
	// written is called when the intent is in the journal, or never will be.
	written func()
	// sent: the request may have reached the machine. asked is how often it was
	// made, answer what came of it the last time.
	sent   bool
	asked  int
	answer string
	last   Reading
	// wasOff is when the machine was proven off last, provesOff whether the
	// driver that told the last reading can prove that.
	wasOff    time.Time
	provesOff bool
}

func (o *operation) say(phase Phase, format string, args ...any) {
	o.tell(Progress{
		Op: o.id, Action: o.action, Node: o.binding.Node.Name, Machine: o.machine,
		Phase: phase, Reading: o.last, WasOff: o.wasOff, Text: Clean(fmt.Sprintf(format, args...)),
	})
}

func (o *operation) run(ctx context.Context) {
	m, free, err := o.begin(ctx)
	if err != nil {
		o.say(PhaseFailed, "%s", err)
		return
	}
	defer free()
	o.machine = m
	if o.alreadyThere(ctx) {
		return
	}
	if o.fleet.cfg.DryRun {
		o.say(PhaseDone, "dry run: %s would be asked to %s %s%s", m.Driver, Verb(o.action), m.Title(), o.level())
		return
	}
	if ctx.Err() != nil {
		o.say(PhaseFailed, "stopped before anything was sent")
		return
	}
	unwritten := o.fleet.journal.append(o.entry(EntryIntent))
	if unwritten != nil && o.action != ActionOn {
		o.say(PhaseFailed, "nothing was sent: %s", unwritten)
		return
	}
	o.written()
	phase, text := o.carryOut(ctx)
	out := o.entry(EntryOutcome)
	out.Phase, out.State, out.Proof, out.Sent, out.Text = phase, o.last.State.String(), o.last.Proof.String(), o.sent, Clean(text)
	if phase == PhaseDone && o.action == ActionOn {
		out.Settles, _ = o.fleet.journal.closedBy(o.seen())
	}
	if err := errors.Join(unwritten, o.fleet.journal.append(out)); err != nil {
		text += " (and its outcome is not in the journal: " + Clean(err.Error()) + ")"
	}
	o.say(phase, "%s", text)
}

// begin says which machine is asked, and takes it for this operation alone:
// among this program's operations, and among the programs on this host.
func (o *operation) begin(ctx context.Context) (m Machine, free func(), err error) {
	f, name := o.fleet, o.binding.Node.Name
	if m, err = f.Can(o.binding, o.action); err != nil {
		return m, nil, err
	}
	switch {
	case f.cfg.ReadOnly:
		return m, nil, errReadOnly
	case f.journal == nil && !f.cfg.DryRun && o.action != ActionOn:
		return m, nil, errNoJournal
	}
	claim, err := f.claim(name, m, o.action)
	if err != nil {
		return m, nil, err
	}
	if f.cfg.DryRun {
		return m, claim, nil
	}
	wait := lockWait
	if o.action == ActionOn {
		wait = f.cfg.OnTimeout // it may be on its way down by another program
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	unlock, err := f.cfg.Locks.take(ctx, machineLock(f.cluster(), m))
	switch {
	case err != nil && (o.action != ActionOn || errors.Is(err, errLocked)):
		claim()
		return m, nil, fmt.Errorf("nothing was sent to %s: %w", m.Title(), err)
	case err != nil:
		return m, claim, nil // powering on is not held up by what locks can't be
	}
	return m, func() { unlock(); claim() }, nil
}

// lockWait is how long a machine's lock is waited for: longer than somebody
// who only looks whether it is free holds it.
const lockWait = 2 * time.Second

func (o *operation) entry(kind EntryKind) Entry {
	return Entry{Kind: kind, Op: o.id, Action: o.action, Node: o.binding.Node.Name, Binding: o.binding, WasOff: o.wasOff.UTC()}
}

// seen is the evidence of the last reading.
func (o *operation) seen() Seen {
	m := o.machine
	if best, ok := o.fleet.stateMachine(o.binding); ok {
		m = best
	}
	return Seen{Node: NodeRef{Name: o.binding.Node.Name}, Machine: &m, ProvesOff: o.provesOff, WasOff: o.wasOff, At: time.Now()}
}

// alreadyThere looks before anything is sent. A machine that is to be powered
// on and may yet go off by what it was asked before is waited for.
func (o *operation) alreadyThere(ctx context.Context) bool {
	wait, cancel := context.WithTimeout(ctx, o.fleet.cfg.timeout(o.action))
	defer cancel()
	r, err := o.look(ctx)
	for said := false; err == nil && (o.wanted(r) || r.State == Transitioning); r, err = o.look(ctx) {
		until := o.mayGoOff()
		if until.IsZero() {
			break
		}
		o.last = r
		if !said {
			o.say(PhaseAsking, "%s was asked to switch off not long ago and is still %s: looking until it is off, or can't go off any more (at %s)",
				o.machine.Title(), r.State, until.Local().Format("15:04:05"))
		}
		said = true
		if !sleep(wait, o.fleet.cfg.PollInterval) {
			if ctx.Err() != nil {
				return false
			}
			o.say(PhaseUncertain, "%s is %s (%s), and may still go off until %s by what it was asked before; the journal keeps it: look again then, with lightsout restore",
				o.machine.Title(), r.State, r.Detail, until.Local().Format("15:04:05"))
			return true
		}
	}
	if err != nil || !o.wanted(r) {
		return false
	}
	o.last = r
	text := fmt.Sprintf("%s is already %s (%s)", o.machine.Title(), r.State, r.Detail)
	if o.action == ActionOn && !o.fleet.cfg.DryRun {
		seen := o.seen()
		seen.Text = text
		if _, err := o.fleet.journal.SeenOn(seen); err != nil {
			text += " (and that is not in the journal: " + err.Error() + ")"
		}
	}
	o.say(PhaseDone, "%s", text)
	return true
}

// mayGoOff is until when a machine that is to be powered on may yet switch off
// by what it was asked before; zero when it can't.
func (o *operation) mayGoOff() time.Time {
	if o.action != ActionOn || o.fleet.cfg.DryRun {
		return time.Time{}
	}
	_, until := o.fleet.journal.closedBy(o.seen())
	return until
}

// wanted reports whether a reading is what the action is for. Off may be
// presumed; On must be proven, and both ends know it.
func (o *operation) wanted(r Reading) bool {
	if o.action == ActionOn {
		return r.State == On && r.Proof == Proven
	}
	return r.State == Off && r.Proof >= Presumed
}
