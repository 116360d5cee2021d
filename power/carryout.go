package power

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lightsout/internal/text"
)

// unreadLimit is the number of consecutive polls, failed or unanswered, after which a
// weaker source of the state is polled. An answer without On or Off does not count: the
// machine is then in a state that the weaker source cannot see.
const unreadLimit = 3

// carryOut sends the request and waits for the wanted power state. It returns the operation's
// last stage and a sentence.
func (o *operation) carryOut(ctx context.Context) (Stage, string) {
	deadline, cancel := context.WithTimeout(ctx, o.fleet.cfg.timeout(o.action))
	defer cancel()
	if o.again {
		if stage, text := o.await(ctx, deadline); stage != "" {
			return stage, text
		}
	}
	for {
		if stage, text := o.once(ctx, deadline); stage != "" {
			return stage, text
		}
	}
}

// level returns the service level with which a VM is powered on, and whether that is an
// assumption.
func (o *operation) level() string {
	level := o.machine.Params[ParamServiceLevel]
	switch {
	case o.action != ActionOn || level == "":
		return ""
	case o.machine.Params[ParamServiceLevelFrom] == ServiceLevelAssumed:
		return " as " + level + " (assumed)"
	}
	return " as " + level
}

// answered reports the result of a request, unless it is the same as the last one.
func (o *operation) answered(stage Stage, answer, then string) {
	if answer != o.answer {
		o.answer = answer
		o.say(stage, "%s%s", answer, then)
	}
}

// once sends the request one time, and returns the resulting stage and a sentence; no
// stage if it may be sent again.
func (o *operation) once(ctx, deadline context.Context) (Stage, string) {
	fate, err := o.send(deadline)
	if errors.Is(err, errNothingSent) {
		return o.timeOver(ctx)
	}
	o.attempts++
	o.again = o.action == ActionOn && fate != Accepted
	final := errors.As(err, new(*RefusedError)) || o.action != ActionOn
	switch {
	case fate == Accepted:
		o.answered(StageAccepted, fmt.Sprintf("%s accepted the request to %s %s", o.machine.Driver, Verb(o.action), o.machine.Called()), "")
	case fate == Unconfirmed:
		o.answered(StageAccepted, err.Error(), "; polling the machine")
	case final:
		return o.refused(deadline, err)
	default:
		until, _ := deadline.Deadline()
		o.answered(StageSending, err.Error(), fmt.Sprintf("; asked %s, and again every %s for %s more",
			text.Count(o.attempts, "time", "times"), o.fleet.retryPause, text.Span(time.Until(until))))
		Sleep(deadline, o.fleet.retryPause)
		return "", ""
	}
	return o.await(ctx, deadline)
}

// timeOver is the end of an operation that can't ask any more.
func (o *operation) timeOver(ctx context.Context) (Stage, string) {
	switch {
	case o.attempts == 0:
		return StageFailed, errNothingSent.Error()
	case o.arrival.Fate != NotSent:
		return o.gaveUp(ctx, nil)
	}
	return StageFailed, fmt.Sprintf("%s (asked %s)", o.answer, text.Count(o.attempts, "time", "times"))
}

var errNothingSent = errors.New("lightsout sent nothing: the deadline passed or the request was cancelled")

// send lets the driver send the request, and returns what became of it. A driver asks maySend immediately
// before it sends the request: one that fails earlier has sent nothing.
func (o *operation) send(ctx context.Context) (Fate, error) {
	end, waited, err := o.turn(ctx)
	if err != nil {
		return NotSent, err
	}
	defer end()
	var sent time.Time
	if o.action != ActionOn {
		ctx = Permit(ctx, func(ctx context.Context) error {
			sent = time.Time{}
			err := o.maySend(ctx)
			if err == nil {
				sent = time.Now()
			}
			return err
		})
	}
	if err = BeforeSend(ctx); err == nil {
		err = o.sameBoot(ctx)
	}
	began := time.Now()
	sent = time.Time{} // nothing yet has switched the machine
	if err == nil {
		if waited || o.attempts == 0 {
			o.say(StageSending, "asking %s to %s %s%s", o.machine.Driver, Verb(o.action), o.machine.Called(), o.level())
		}
		until, _ := ctx.Deadline()
		done := o.slowly(fmt.Sprintf("waiting for %s to answer the request to %s %s, until %s at most", o.machine.Driver, Verb(o.action), o.machine.Called(), until.Local().Format(time.TimeOnly)))
		err = o.fleet.drivers[o.machine.Driver].Switch(ctx, o.action, o.machine)
		done()
	}
	a := arrivalOf(began, sent, err)
	if a.Fate != NotSent {
		o.arrival = a
	}
	return a.Fate, err
}

// sameBoot refuses to switch off a system that is not the node's, or that does not answer. If
// it cannot tell, the question has warned of that.
func (o *operation) sameBoot(ctx context.Context) error {
	if o.action == ActionOn || o.binding.Node.BootID == "" {
		return nil
	}
	defer o.slowly("nothing was sent yet: lightsout compares the boot ID of " + o.machine.Called())()
	err := o.fleet.sameBoot(ctx, o.binding.Node, o.machine)
	switch {
	case errors.As(err, new(*NoBootIDError)):
		return nil
	case errors.As(err, new(*OtherBootError)):
		return &vetoedError{Why: err.Error()}
	}
	return err
}

// slowly reports a wait of the operation unless done is called soon.
func (o *operation) slowly(text string) (done func()) {
	p := Progress{Action: o.action, Node: o.binding.Node.Name, Stage: StageWaiting, Text: text}
	return slowly(func() { o.tell(p) })
}

// maySend returns nil while lightsout may send the request: its judgement still holds, and nobody has powered
// the machine on since the journal has the intent.
func (o *operation) maySend(ctx context.Context) error {
	if !o.fleet.journal.mayBeSent(o.id) {
		return &vetoedError{Why: o.machine.Called() + " was powered on again since it was agreed to"}
	}
	if o.judgement != nil {
		defer o.slowly(judgingWaitsFor)()
		if err := o.judgement.fresh(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// await polls until the machine reaches the wanted power state or the deadline passes.
// The wait ends early, without a stage, when the machine is to be powered on again.
func (o *operation) await(ctx, deadline context.Context) (Stage, string) {
	began := time.Now()
	unread := 0
	var lastErr error
	var waited time.Time // until when lightsout has reported to wait
	for {
		polling := deadline
		if o.last.RequestedAt.IsZero() { // the driver may have taken all the time
			polling = ctx
		}
		r, err := o.poll(polling)
		if (err != nil || r.State == Unknown && r.NoAnswer) && deadline.Err() == nil {
			lastErr = err
			if unread++; unread >= unreadLimit {
				if other, ok := o.pollOther(deadline); ok && (err != nil || other.State != Unknown) {
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
			until, mayUndo := o.mayUndo(r)
			if o.wanted(r) && !until.IsZero() && !until.Equal(waited) {
				waited = until
				o.say(StageWaiting, "%s is %s, but an earlier request may still switch it off until %s: lightsout waits", o.machine.Called(), r.State, until.Local().Format("15:04:05"))
			}
			if o.wanted(r) && !mayUndo {
				return StageDone, fmt.Sprintf("%s is %s, %s (%s)", o.machine.Called(), r.State, r.Proof, r.Detail)
			}
			if changed {
				o.say(StageAccepted, "waiting: %s is %s (%s)", o.machine.Called(), r.State, r.Detail)
			}
			// A machine that is on, but may go off by an earlier request, is polled
			// until it has, and then asked again.
			o.again = o.again || o.wanted(r)
			if o.again && r.State == Off && (o.attempts == 0 || time.Since(began) > o.fleet.retryPause) {
				return "", ""
			}
		}
		if Sleep(deadline, o.fleet.cfg.PollInterval) {
			continue
		}
		return o.gaveUp(ctx, lastErr)
	}
}

// gaveUp ends an operation whose power state was not seen; lastErr is the error of the
// last poll, if it failed.
func (o *operation) gaveUp(ctx context.Context, lastErr error) (Stage, string) {
	stage := StageFailed
	if ctx.Err() != nil || o.last.Proof != Proven || o.wanted(o.last) {
		stage = StageUncertain
	}
	seen := fmt.Sprintf("it was last seen %s (%s)", o.last.State, o.last.Detail)
	switch {
	case lastErr != nil:
		seen = "its state can't be read: " + lastErr.Error()
	case o.last.RequestedAt.IsZero():
		seen = "lightsout has not polled its state since"
	case o.wanted(o.last):
		return stage, fmt.Sprintf("%s is %s (%s), but an earlier request may still switch it off; the journal keeps it: check again with: %s", o.machine.Called(), o.last.State, o.last.Detail, o.fleet.cfg.WayBack)
	}
	if ctx.Err() != nil {
		return stage, fmt.Sprintf("stopped polling %s after the request to %s; %s", o.machine.Called(), Verb(o.action), seen)
	}
	return stage, fmt.Sprintf("lightsout did not see %s %s within %s of the request to %s; %s", o.machine.Called(), o.action.Wanted(), o.fleet.cfg.timeout(o.action), Verb(o.action), seen)
}

// poll reads the state from the source that counts for this action: the machine's
// driver, or a power API that proves Off.
func (o *operation) poll(ctx context.Context) (Reading, error) {
	m := o.machine
	if best, ok := o.fleet.stateMachine(o.binding); ok {
		m = best
	}
	return o.pollMachine(ctx, m)
}

// pollOther asks the machine's other driver, when the first does not answer.
func (o *operation) pollOther(ctx context.Context) (Reading, bool) {
	best, ok := o.fleet.stateMachine(o.binding)
	for _, m := range o.binding.machines() {
		if ok && m.Driver == best.Driver {
			continue
		}
		if r, err := o.pollMachine(ctx, *m); err == nil {
			return r, true
		}
	}
	return Reading{}, false
}

func (o *operation) pollMachine(ctx context.Context, m Machine) (Reading, error) {
	if turns, ok := o.fleet.polls[m.Driver]; ok { // otherwise poll returns an error
		if !turns.TryAcquire(1) {
			reported := o.slowly(fmt.Sprintf("lightsout polls %s as soon as it may: %s works on %d other polls", m.Called(), m.Driver, o.fleet.cfg.Parallel))
			err := turns.Acquire(ctx, 1)
			reported()
			if err != nil {
				return Reading{}, err
			}
		}
		defer passOn(turns, shortTurn)()
	}
	r, err := o.fleet.poll(ctx, m)
	if err == nil && r.Proves(Off) && !o.shared {
		o.wasOff = r.RequestedAt
	}
	return r, err
}

// Sleep waits d and reports whether the context is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
