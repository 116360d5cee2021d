package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"lightsout/internal/text"
	"lightsout/power/internal/permit"
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
	if o.goesOff {
		if stage, text := o.await(ctx, deadline, true); stage != "" {
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
	err := o.send(deadline)
	if errors.Is(err, errNothingSent) {
		return o.timeOver(ctx)
	}
	o.attempts++
	var unconfirmed *UnconfirmedError
	var refused *RefusedError
	var conflict *ConflictError
	switch {
	case err == nil:
		o.answered(StageAccepted, fmt.Sprintf("%s accepted the request to %s %s", o.machine.Driver, Verb(o.action), o.machine.Title()), "")
	case errors.As(err, &unconfirmed):
		o.answered(StageAccepted, unconfirmed.Error(), "; polling the machine")
	case o.action == ActionOn && errors.As(err, &conflict) && errors.As(err, &refused):
		// Another request is under way, or the machine has another state by now: a controller may
		// refuse every request for seconds after a power cut.
		o.answered(StageSending, err.Error(), "; polling the machine, and asking again while it is off")
		return o.await(ctx, deadline, true)
	case errors.As(err, &refused), errors.Is(err, ErrCannot), errors.Is(err, ErrNoMachine), o.action != ActionOn:
		return o.refused(deadline, err)
	default:
		until, _ := deadline.Deadline()
		o.answered(StageSending, err.Error(), fmt.Sprintf("; asked %s, and again every %s for %s more",
			text.Count(o.attempts, "time", "times"), o.fleet.retryPause, text.Span(time.Until(until))))
		sleep(deadline, o.fleet.retryPause)
		return "", ""
	}
	return o.await(ctx, deadline, unconfirmed != nil && o.action == ActionOn)
}

// refusedPolls is how often lightsout polls a machine after the power API has refused to switch
// it off.
const refusedPolls = 5

// refused returns the stage after a refusal. A power API may carry out what it refuses to do: if
// the machine is then proven off, the request counts as carried out; otherwise it may go off, and the
// journal lists it. Neither holds if nothing was sent, or if another
// request is under way, which may switch the machine off as well.
func (o *operation) refused(deadline context.Context, refusal error) (Stage, string) {
	if errors.As(refusal, new(*ConflictError)) || errors.As(refusal, new(*NotSentError)) {
		o.sentAt = time.Time{}
	}
	if o.action == ActionOn || o.sentAt.IsZero() {
		return StageFailed, refusal.Error()
	}
	o.refusal = true
	o.answered(StageSending, refusal.Error(), "; polling the machine anyway")
	if o.afterRefusal(deadline) {
		return StageDone, fmt.Sprintf("%s is off (%s), although the power API refused: %s", o.machine.Title(), o.last.Detail, refusal)
	}
	stage := StageUncertain
	if o.last.State == On {
		stage = StageFailed
	}
	return stage, fmt.Sprintf("%s; %s was last seen %s (%s), and may still go off until %s: check again with: %s", refusal, o.machine.Title(),
		o.last.State, o.last.Detail, time.Now().Add(refusedWithin).Local().Format(time.TimeOnly), o.fleet.cfg.WayBack)
}

// afterRefusal polls the machine, and reports whether it is proven off since the request.
func (o *operation) afterRefusal(deadline context.Context) bool {
	o.last = Reading{}
	for i := range refusedPolls {
		if i > 0 && !sleep(deadline, o.fleet.cfg.PollInterval) {
			break
		}
		if r, err := o.poll(deadline); err == nil && r.State != Unknown {
			o.last = r
		}
		if o.last.State == Off && o.last.Proof == Proven && o.last.CountsFrom().After(o.sentAt) {
			return true
		}
	}
	return false
}

// timeOver is the end of an operation that can't ask any more.
func (o *operation) timeOver(ctx context.Context) (Stage, string) {
	switch {
	case o.attempts == 0:
		return StageFailed, errNothingSent.Error()
	case !o.sentAt.IsZero():
		return o.gaveUp(ctx, nil)
	}
	why := fmt.Sprintf("%s (asked %s)", o.answer, text.Count(o.attempts, "time", "times"))
	if ctx.Err() != nil {
		return StageUncertain, "stopped: " + why
	}
	return StageFailed, why
}

var errNothingSent = errors.New("lightsout sent nothing: the deadline passed or the request was cancelled")

// send sends the request.
func (o *operation) send(ctx context.Context) error {
	end, err := o.turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	sentAt := o.sentAt
	if o.action != ActionOn {
		ctx = permit.With(ctx, o.permit)
	}
	if err := BeforeSend(ctx); err != nil {
		return err
	}
	err = o.sameBoot(ctx)
	o.sentAt = sentAt // nothing since has switched the machine
	if err != nil {
		return err
	}
	began := time.Now()
	defer o.slowly(fmt.Sprintf("waiting for %s to answer the request to %s %s%s", o.machine.Driver, Verb(o.action), o.machine.Title(), until(ctx)))()
	err = o.fleet.drivers[o.machine.Driver].Switch(ctx, o.action, o.machine)
	if o.sentAt.IsZero() && (err == nil || errors.As(err, new(*UnconfirmedError))) {
		o.sentAt = began // its driver does not ask before it sends
	}
	return err
}

// sameBoot refuses to switch off a system that is not the node's, or that does not answer. If
// it cannot tell, the question has warned of that.
func (o *operation) sameBoot(ctx context.Context) error {
	if o.action == ActionOn || o.binding.Node.BootID == "" {
		return nil
	}
	defer o.slowly("nothing was sent yet: lightsout compares the boot ID of " + o.machine.Title())()
	err := o.fleet.sameBoot(ctx, o.binding.Node, o.machine)
	switch {
	case errors.As(err, new(*NoBootIDError)):
		return nil
	case errors.As(err, new(*OtherBootError)):
		return &RefusedError{Why: "lightsout sent nothing: " + err.Error()}
	}
	return err
}

// slowly reports a wait of the operation unless done is called soon.
func (o *operation) slowly(text string) (done func()) {
	return slowly(o.tell, Progress{Op: o.id, Action: o.action, Node: o.binding.Node.Name, Machine: o.machine, Stage: StageWaiting, Text: text})
}

// until names the time at which a context ends.
func until(ctx context.Context) string {
	if at, ok := ctx.Deadline(); ok {
		return ", until " + at.Local().Format(time.TimeOnly) + " at most"
	}
	return ""
}

// permit returns nil while lightsout may send the request: its judgement still holds, and nobody has powered
// the machine on since the journal has the intent. A driver asks it immediately before it sends the request: one
// that fails earlier has sent nothing.
func (o *operation) permit(ctx context.Context) error {
	o.sentAt = time.Time{}
	err := o.overtaken()
	if err == nil && o.judgement != nil {
		done := o.slowly(judgingWaitsFor)
		err = o.judgement.fresh(ctx)
		done()
	}
	if err = cmp.Or(err, ctx.Err()); err == nil {
		o.sentAt = time.Now()
	}
	return err
}

// overtaken returns an error if somebody has powered the machine on since the intent.
func (o *operation) overtaken() error {
	if !o.fleet.journal.mayBeSent(o.id) {
		return &RefusedError{Why: "lightsout did not send the request: " + o.machine.Title() + " was powered on again since it was agreed to"}
	}
	return nil
}

// await polls until the machine reaches the wanted power state or the deadline passes.
// mayResend ends the wait early, without a stage, when the machine stays in its old
// state.
func (o *operation) await(ctx, deadline context.Context, mayResend bool) (Stage, string) {
	began := time.Now()
	unread := 0
	var lastErr error
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
			until := o.mayGoOff(r)
			if o.wanted(r) && !until.IsZero() {
				o.waits("%s is %s, but an earlier request may still switch it off until %s: lightsout waits", o.machine.Title(), r.State, until.Local().Format("15:04:05"))
			}
			if o.wanted(r) && until.IsZero() {
				return StageDone, fmt.Sprintf("%s is %s, %s (%s)", o.machine.Title(), r.State, r.Proof, r.Detail)
			}
			if stays := r.State != o.action.Wanted() && (r.State == On || r.State == Off); changed && stays {
				o.say(StageAccepted, "still %s, waiting: %s (%s)", r.State, o.machine.Title(), r.Detail)
			} else if changed {
				o.say(StageAccepted, "%s is %s (%s)", o.machine.Title(), r.State, r.Detail)
			}
			// A machine that is on, but may go off by an earlier request, is polled
			// until it has, and then asked again.
			mayResend = mayResend || o.wanted(r)
			if mayResend && r.State == Off && (o.attempts == 0 || time.Since(began) > o.fleet.retryPause) {
				return "", ""
			}
		}
		if sleep(deadline, o.fleet.cfg.PollInterval) {
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
		return stage, fmt.Sprintf("%s is %s (%s), but an earlier request may still switch it off; the journal keeps it: check again with: %s", o.machine.Title(), o.last.State, o.last.Detail, o.fleet.cfg.WayBack)
	}
	if ctx.Err() != nil {
		return stage, fmt.Sprintf("stopped polling %s after the request to %s; %s", o.machine.Title(), Verb(o.action), seen)
	}
	return stage, fmt.Sprintf("lightsout did not see %s %s within %s of the request to %s; %s", o.machine.Title(), o.action.Wanted(), o.fleet.cfg.timeout(o.action), Verb(o.action), seen)
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
			reported := o.slowly(fmt.Sprintf("lightsout polls %s as soon as it may: %s works on %d other polls", m.Title(), m.Driver, o.fleet.cfg.Parallel))
			err := turns.Acquire(ctx, 1)
			reported()
			if err != nil {
				return Reading{}, err
			}
		}
		defer passOn(turns, shortTurn)()
	}
	r, err := o.fleet.poll(ctx, m)
	o.unanswered = err != nil || r.NoAnswer
	if err == nil && r.State == Off && r.Proof == Proven && !o.shared {
		o.wasOff = r.CountsFrom()
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
