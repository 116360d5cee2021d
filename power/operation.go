package power

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// unreadLimit is after how many looks in a row that failed, or got no answer, a
// weaker source of the state is asked. An answer without an On or Off in it is
// none of these: the machine is then in a state that the weaker source can't see.
const unreadLimit = 3

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

func newOp() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

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
	// sent: the request may have reached the machine.
	sent bool
	last Reading
	// wasOff is when the machine was proven off last, provesOff whether the
	// driver that told the last reading can prove that.
	wasOff    time.Time
	provesOff bool
}

func (o *operation) say(phase Phase, format string, args ...any) {
	o.tell(Progress{
		Op: o.id, Action: o.action, Node: o.binding.Node.Name, Machine: o.machine,
		Phase: phase, Reading: o.last, WasOff: o.wasOff, Text: Clean(fmt.Sprintf(format, args...)), At: time.Now(),
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
	unwritten := o.write(o.entry(EntryIntent))
	if unwritten != nil && o.action != ActionOn {
		o.say(PhaseFailed, "nothing was sent: %s", unwritten)
		return
	}
	o.written()
	phase, text := o.carryOut(ctx)
	out := o.entry(EntryOutcome)
	out.Phase, out.State, out.Proof, out.Sent, out.Text = phase, o.last.State.String(), o.last.Proof.String(), o.sent, Clean(text)
	if phase == PhaseDone && o.action == ActionOn {
		out.Settles = o.closes()
	}
	if err := errors.Join(unwritten, o.write(out)); err != nil {
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
	return Entry{Kind: kind, Op: o.id, Action: o.action, Node: o.binding.Node.Name, Binding: o.binding}
}

func (o *operation) write(e Entry) error {
	if o.fleet.journal == nil {
		return errNoJournal
	}
	return o.fleet.journal.append(e)
}

// seen is the evidence of the last reading.
func (o *operation) seen() Seen {
	m := o.machine
	if best, ok := o.fleet.stateMachine(o.binding); ok {
		m = best
	}
	return Seen{Node: NodeRef{Name: o.binding.Node.Name}, Machine: &m, ProvesOff: o.provesOff, WasOff: o.wasOff, At: time.Now()}
}

// closes gives the operations that are over now that the machine is on.
func (o *operation) closes() []string {
	if o.fleet.journal == nil {
		return []string{}
	}
	return o.fleet.journal.closedBy(o.seen())
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
	if o.action == ActionOn && !o.fleet.cfg.DryRun && o.fleet.journal != nil {
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
	if o.action != ActionOn || o.fleet.cfg.DryRun || o.fleet.journal == nil {
		return time.Time{}
	}
	return o.fleet.journal.mayGoOff(o.seen())
}

// wanted reports whether a reading is what the action is for. Off may be
// presumed; On must be proven, and both ends know it.
func (o *operation) wanted(r Reading) bool {
	if o.action == ActionOn {
		return r.State == On && r.Proof == Proven
	}
	return r.State == Off && r.Proof >= Presumed
}

// carryOut sends the request and waits for the wanted state. It returns the
// phase in which the operation ends and a sentence.
func (o *operation) carryOut(ctx context.Context) (Phase, string) {
	o.say(PhaseAsking, "asking %s to %s %s%s", o.machine.Driver, Verb(o.action), o.machine.Title(), o.level())
	deadline, cancel := context.WithTimeout(ctx, o.fleet.cfg.timeout(o.action))
	defer cancel()
	for {
		again, phase, text := o.once(ctx, deadline)
		if !again {
			return phase, text
		}
	}
}

// level says what a VM is powered on as, and whether that is an assumption.
func (o *operation) level() string {
	level := o.machine.Params[ParamServiceLevel]
	switch {
	case o.action != ActionOn || level == "":
		return ""
	case o.machine.Params[ParamServiceLevelFrom] == "assumed":
		return " as " + level + " (assumed)"
	}
	return " as " + level
}

// once sends the request one time. again says that it may be sent another time.
func (o *operation) once(ctx, deadline context.Context) (again bool, phase Phase, text string) {
	err := o.ask(deadline)
	var unconfirmed *UnconfirmedError
	var refused *RefusedError
	switch {
	case err == nil:
		o.sent = true
		o.say(PhaseAccepted, "%s accepted the request to %s %s", o.machine.Driver, Verb(o.action), o.machine.Title())
	case errors.As(err, &unconfirmed):
		o.sent = true
		o.say(PhaseAccepted, "%s; looking at the machine", unconfirmed.Error())
	case errors.As(err, &refused), errors.Is(err, ErrCannot), errors.Is(err, ErrNoMachine), o.action != ActionOn:
		return false, PhaseFailed, err.Error()
	default:
		o.say(PhaseAsking, "%s; asking again in %s", err, o.fleet.retryPause)
		if !sleep(deadline, o.fleet.retryPause) {
			if ctx.Err() != nil {
				return false, PhaseUncertain, "stopped: " + err.Error()
			}
			return false, PhaseFailed, err.Error()
		}
		return true, "", ""
	}
	return o.await(ctx, deadline, unconfirmed != nil && o.action == ActionOn)
}

// ask sends the request, holding a slot.
func (o *operation) ask(ctx context.Context) error {
	ended := errors.New("it ended before anything was sent")
	if o.fleet.asks.take(ctx) != nil {
		return ended
	}
	defer o.fleet.asks.free()
	if ctx.Err() != nil {
		return ended
	}
	d := o.fleet.drivers[o.machine.Driver]
	switch o.action {
	case ActionOn:
		return d.On(ctx, o.machine)
	case ActionOff:
		return d.Off(ctx, o.machine)
	case ActionShutdown:
		return d.Shutdown(ctx, o.machine)
	}
	return ErrCannot
}

// await looks until the wanted state is seen or the deadline has passed.
// mayResend ends the wait early when the machine stays in its old state.
func (o *operation) await(ctx, deadline context.Context, mayResend bool) (again bool, phase Phase, text string) {
	began := time.Now()
	unread := 0
	var lastErr error
	for {
		r, err := o.look(deadline)
		if (err != nil || r.State == Unknown && r.NoAnswer) && deadline.Err() == nil {
			lastErr = err
			if unread++; unread >= unreadLimit {
				if other, ok := o.secondLook(deadline); ok && (err != nil || other.State != Unknown) {
					r, err = other, nil
				}
			}
		} else if err == nil {
			unread = 0
		}
		if err == nil {
			lastErr = nil
			changed := r.State != o.last.State || r.Detail != o.last.Detail
			o.last = r
			if o.wanted(r) && o.mayGoOff().IsZero() {
				return false, PhaseDone, fmt.Sprintf("%s is %s, %s (%s)", o.machine.Title(), r.State, r.Proof, r.Detail)
			}
			if stays := map[bool]State{true: Off, false: On}[o.action == ActionOn]; changed && r.State == stays {
				o.say(PhaseAccepted, "still %s, waiting: %s (%s)", r.State, o.machine.Title(), r.Detail)
			} else if changed {
				o.say(PhaseAccepted, "%s is %s (%s)", o.machine.Title(), r.State, r.Detail)
			}
			// One that is on and may yet go off by what it was asked before is
			// looked at until it has, and asked again then.
			mayResend = mayResend || o.wanted(r)
			if mayResend && r.State == Off && time.Since(began) > o.fleet.retryPause {
				return true, "", ""
			}
		}
		if sleep(deadline, o.fleet.cfg.PollInterval) {
			continue
		}
		return false, o.gaveUp(ctx), o.whyNot(ctx, lastErr)
	}
}

// gaveUp is the phase of an operation whose wanted state was not seen.
func (o *operation) gaveUp(ctx context.Context) Phase {
	if ctx.Err() != nil || o.last.Proof != Proven || o.wanted(o.last) {
		return PhaseUncertain
	}
	return PhaseFailed
}

func (o *operation) whyNot(ctx context.Context, lastErr error) string {
	seen := fmt.Sprintf("it was last seen %s (%s)", o.last.State, o.last.Detail)
	switch {
	case lastErr != nil:
		seen = "its state can't be read: " + lastErr.Error()
	case o.last.At.IsZero():
		seen = "its state was never seen"
	case o.wanted(o.last):
		return fmt.Sprintf("%s is %s (%s), and may still go off by what it was asked before; the journal keeps it: look again with lightsout restore", o.machine.Title(), o.last.State, o.last.Detail)
	}
	if ctx.Err() != nil {
		return fmt.Sprintf("stopped looking at %s after it was asked to %s; %s", o.machine.Title(), Verb(o.action), seen)
	}
	return fmt.Sprintf("%s did not %s within %s; %s", o.machine.Title(), Verb(o.action), o.fleet.cfg.timeout(o.action), seen)
}

// look reads the state from the source that counts for this action: what it is
// switched by, or a power API that proves Off.
func (o *operation) look(ctx context.Context) (Reading, error) {
	m := o.machine
	if best, ok := o.fleet.stateMachine(o.binding); ok {
		m = best
	}
	return o.lookAt(ctx, m)
}

// secondLook asks the machine's other driver, when the first does not answer.
func (o *operation) secondLook(ctx context.Context) (Reading, bool) {
	best, ok := o.fleet.stateMachine(o.binding)
	for _, m := range []*Machine{o.binding.Off, o.binding.On} {
		if m == nil || (ok && m.Driver == best.Driver) {
			continue
		}
		if r, err := o.lookAt(ctx, *m); err == nil {
			return r, true
		}
	}
	return Reading{}, false
}

func (o *operation) lookAt(ctx context.Context, m Machine) (Reading, error) {
	if err := o.fleet.looks.take(ctx); err != nil {
		return Reading{}, err
	}
	defer o.fleet.looks.free()
	r, err := o.fleet.look(ctx, m)
	if err == nil {
		o.provesOff = o.fleet.drivers[m.Driver].Abilities().ProvesOff
		if r.State == Off && r.Proof == Proven {
			o.wasOff = time.Now()
		}
	}
	return r, err
}

// sleep waits d and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
