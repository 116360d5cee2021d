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
// all are done, else an *ActionError.
//
// For each machine: a look first, for what is already there is done, and
// nothing is sent; then the intent goes to the journal, and if it can't be
// written nothing is sent; then the request; then looks until the wanted state
// is seen. Where a power API stands for a machine that is switched off by
// another driver, the API's word is what counts. A failed power-on is asked for
// again until its deadline. A request to switch off is sent once, whatever
// becomes of it. When ctx ends, nothing new is sent, and what is under way is
// left and reported as uncertain.
func (f *Fleet) Do(ctx context.Context, a Action, bindings []Binding, report func(Progress)) error {
	var (
		mu     sync.Mutex
		failed = map[string]string{}
		wg     sync.WaitGroup
	)
	for _, b := range bindings {
		wg.Go(func() {
			op := &operation{fleet: f, action: a, binding: b, id: newOp()}
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
	wg.Wait()
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
	// sent: the request may have reached the machine.
	sent bool
	last Reading
}

func (o *operation) say(phase Phase, format string, args ...any) {
	o.tell(Progress{
		Op: o.id, Action: o.action, Node: o.binding.Node.Name, Machine: o.machine,
		Phase: phase, Reading: o.last, Text: Clean(fmt.Sprintf(format, args...)), At: time.Now(),
	})
}

func (o *operation) run(ctx context.Context) {
	f, name := o.fleet, o.binding.Node.Name
	m, err := f.Can(o.binding, o.action)
	if err == nil && f.cfg.ReadOnly {
		err = errReadOnly
	}
	if err == nil && f.journal == nil && !f.cfg.DryRun {
		err = errNoJournal
	}
	if err == nil {
		err = f.claim(name, o.action)
	}
	if err != nil {
		o.say(PhaseFailed, "%s", err)
		return
	}
	defer f.release(name)
	o.machine = m

	if o.alreadyThere(ctx) {
		return
	}
	if f.cfg.DryRun {
		o.say(PhaseDone, "dry run: %s would be asked to %s %s%s", m.Driver, Verb(o.action), m.Title(), o.level())
		return
	}
	if ctx.Err() != nil {
		o.say(PhaseFailed, "stopped before anything was sent")
		return
	}
	if err := f.journal.append(o.entry(EntryIntent)); err != nil {
		o.say(PhaseFailed, "nothing was sent: %s", err)
		return
	}
	phase, text := o.carryOut(ctx)
	out := o.entry(EntryOutcome)
	out.Phase, out.State, out.Proof, out.Sent, out.Text = phase, o.last.State.String(), o.last.Proof.String(), o.sent, Clean(text)
	if err := f.journal.append(out); err != nil {
		text += " (and its outcome is not in the journal: " + err.Error() + ")"
	}
	o.say(phase, "%s", text)
}

func (o *operation) entry(kind EntryKind) Entry {
	return Entry{Kind: kind, Op: o.id, Action: o.action, Node: o.binding.Node.Name, Binding: o.binding}
}

// alreadyThere looks before anything is sent.
func (o *operation) alreadyThere(ctx context.Context) bool {
	r, err := o.look(ctx)
	for said := false; err == nil && o.wanted(r) && o.mayGoOff(); r, err = o.look(ctx) {
		o.last = r
		if !said {
			o.say(PhaseAsking, "%s was asked to switch off not long ago and is still on: looking until it is off, or until %s after that", o.machine.Title(), o.fleet.cfg.CarriedOut)
		}
		said = true
		if !sleep(ctx, o.fleet.cfg.PollInterval) {
			return false
		}
	}
	if err != nil || !o.wanted(r) {
		return false
	}
	o.last = r
	text := fmt.Sprintf("%s is already %s (%s)", o.machine.Title(), r.State, r.Detail)
	if o.action == ActionOn && !o.fleet.cfg.DryRun {
		if err := o.fleet.journal.SeenOn(o.binding.Node.Name, "", text); err != nil {
			text += " (and that is not in the journal: " + err.Error() + ")"
		}
	}
	o.say(PhaseDone, "%s", text)
	return true
}

// mayGoOff reports whether a machine that is to be powered on was asked to
// switch off so short a while ago that it may yet do so.
func (o *operation) mayGoOff() bool {
	if o.action != ActionOn || o.fleet.cfg.DryRun {
		return false
	}
	left, err := o.fleet.journal.LeftOff()
	if err != nil {
		return false
	}
	for _, l := range left {
		if l.Node == o.binding.Node.Name {
			return l.Certainty == LeftOffUncertain && time.Since(l.Asked) < o.fleet.cfg.CarriedOut
		}
	}
	return false
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
			if o.wanted(r) {
				return false, PhaseDone, fmt.Sprintf("%s is %s, %s (%s)", o.machine.Title(), r.State, r.Proof, r.Detail)
			}
			if changed {
				o.say(PhaseAccepted, "%s is %s (%s)", o.machine.Title(), r.State, r.Detail)
			}
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
	if ctx.Err() != nil || o.last.Proof != Proven {
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
	return o.fleet.look(ctx, m)
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
