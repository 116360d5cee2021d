package power

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lightsout/internal/text"
)

// unreadLimit is after how many looks in a row that failed, or got no answer, a
// weaker source of the state is asked. An answer without an On or Off in it is
// none of these: the machine is then in a state that the weaker source can't see.
const unreadLimit = 3

// carryOut sends the request and waits for the wanted state. It returns the
// phase in which the operation ends and a sentence.
func (o *operation) carryOut(ctx context.Context) (Phase, string) {
	o.say(PhaseAsking, "asking %s to %s %s%s", o.machine.Driver, Verb(o.action), o.machine.Title(), o.level())
	deadline, cancel := context.WithTimeout(ctx, o.fleet.cfg.timeout(o.action))
	defer cancel()
	for {
		if phase, text := o.once(ctx, deadline); phase != "" {
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

// answered says what came of a request, unless the same came of the one before.
func (o *operation) answered(phase Phase, answer, then string) {
	if answer != o.answer {
		o.answer = answer
		o.say(phase, "%s%s", answer, then)
	}
}

// once sends the request one time, and gives the phase in which that ends and a
// sentence; no phase where it may be sent another time.
func (o *operation) once(ctx, deadline context.Context) (Phase, string) {
	err := o.ask(deadline)
	if errors.Is(err, errNotAsked) {
		return o.timeOver(ctx)
	}
	o.asked++
	var unconfirmed *UnconfirmedError
	var refused *RefusedError
	switch {
	case err == nil:
		o.sent = true
		o.answered(PhaseAccepted, fmt.Sprintf("%s accepted the request to %s %s", o.machine.Driver, Verb(o.action), o.machine.Title()), "")
	case errors.As(err, &unconfirmed):
		o.sent = true
		o.answered(PhaseAccepted, unconfirmed.Error(), "; looking at the machine")
	case errors.As(err, &refused), errors.Is(err, ErrCannot), errors.Is(err, ErrNoMachine), o.action != ActionOn:
		return PhaseFailed, err.Error()
	default:
		until, _ := deadline.Deadline()
		o.answered(PhaseAsking, err.Error(), fmt.Sprintf("; asked %s, and again every %s for %s more",
			text.Count(o.asked, "time", "times"), o.fleet.retryPause, text.Span(time.Until(until))))
		sleep(deadline, o.fleet.retryPause)
		return "", ""
	}
	return o.await(ctx, deadline, unconfirmed != nil && o.action == ActionOn)
}

// timeOver is the end of an operation that can't ask any more.
func (o *operation) timeOver(ctx context.Context) (Phase, string) {
	switch {
	case o.asked == 0:
		return PhaseFailed, errNotAsked.Error()
	case o.sent:
		return o.gaveUp(ctx, nil)
	}
	why := fmt.Sprintf("%s (asked %s)", o.answer, text.Count(o.asked, "time", "times"))
	if ctx.Err() != nil {
		return PhaseUncertain, "stopped: " + why
	}
	return PhaseFailed, why
}

var errNotAsked = errors.New("it ended before anything was sent")

// ask sends the request, holding a slot.
func (o *operation) ask(ctx context.Context) error {
	if o.fleet.asks.Acquire(ctx, 1) != nil {
		return errNotAsked
	}
	defer o.fleet.asks.Release(1)
	if ctx.Err() != nil {
		return errNotAsked
	}
	return o.fleet.drivers[o.machine.Driver].Switch(ctx, o.action, o.machine)
}

// await looks until the wanted state is seen or the deadline has passed.
// mayResend ends the wait early, without a phase, when the machine stays in its
// old state.
func (o *operation) await(ctx, deadline context.Context, mayResend bool) (Phase, string) {
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
				return PhaseDone, fmt.Sprintf("%s is %s, %s (%s)", o.machine.Title(), r.State, r.Proof, r.Detail)
			}
			if stays := r.State != o.action.Wanted() && (r.State == On || r.State == Off); changed && stays {
				o.say(PhaseAccepted, "still %s, waiting: %s (%s)", r.State, o.machine.Title(), r.Detail)
			} else if changed {
				o.say(PhaseAccepted, "%s is %s (%s)", o.machine.Title(), r.State, r.Detail)
			}
			// One that is on and may yet go off by what it was asked before is
			// looked at until it has, and asked again then.
			mayResend = mayResend || o.wanted(r)
			if mayResend && r.State == Off && time.Since(began) > o.fleet.retryPause {
				return "", ""
			}
		}
		if sleep(deadline, o.fleet.cfg.PollInterval) {
			continue
		}
		return o.gaveUp(ctx, lastErr)
	}
}

// gaveUp is the end of an operation whose wanted state was not seen; lastErr is
// why the last look failed, if it did.
func (o *operation) gaveUp(ctx context.Context, lastErr error) (Phase, string) {
	phase := PhaseFailed
	if ctx.Err() != nil || o.last.Proof != Proven || o.wanted(o.last) {
		phase = PhaseUncertain
	}
	seen := fmt.Sprintf("it was last seen %s (%s)", o.last.State, o.last.Detail)
	switch {
	case lastErr != nil:
		seen = "its state can't be read: " + lastErr.Error()
	case o.last.At.IsZero():
		seen = "its state was never seen"
	case o.wanted(o.last):
		return phase, fmt.Sprintf("%s is %s (%s), and may still go off by what it was asked before; the journal keeps it: look again with lightsout restore", o.machine.Title(), o.last.State, o.last.Detail)
	}
	if ctx.Err() != nil {
		return phase, fmt.Sprintf("stopped looking at %s after it was asked to %s; %s", o.machine.Title(), Verb(o.action), seen)
	}
	return phase, fmt.Sprintf("%s did not %s within %s; %s", o.machine.Title(), Verb(o.action), o.fleet.cfg.timeout(o.action), seen)
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
	for _, m := range o.binding.machines() {
		if ok && m.Driver == best.Driver {
			continue
		}
		if r, err := o.lookAt(ctx, *m); err == nil {
			return r, true
		}
	}
	return Reading{}, false
}

func (o *operation) lookAt(ctx context.Context, m Machine) (Reading, error) {
	if err := o.fleet.looks.Acquire(ctx, 1); err != nil {
		return Reading{}, err
	}
	defer o.fleet.looks.Release(1)
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
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
