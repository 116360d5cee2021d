package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// What became of a request at a power API is decided in this file: whether it counts as sent (arrivalOf), until
// when it may be carried out (Arrival.until), and what lightsout says when the power API refuses it and may carry
// it out (refused). Two rules on late requests are elsewhere: evidence.seenOff says whether a machine that goes off
// after it was on has obeyed one, and Journal.mayUndo that a power-on does not wait for a refused one. All this is
// about switching off: a power-on that fails counts as not sent, because it may be sent twice.

// Fate is what became of a request to switch a machine.
type Fate string

// Fates. A request that may have arrived counts as sent.
const (
	NotSent     Fate = ""            // lightsout sent nothing, or what it sent certainly did nothing
	Unconfirmed Fate = "unconfirmed" // it was sent, and nobody can tell whether it arrived
	Rejected    Fate = "rejected"    // the power API refused it, and may carry it out within refusedWithin
	Accepted    Fate = "accepted"    // the power API accepted it
)

// Arrival is the fate of a request, and when it was sent; it is zero if the request was not.
type Arrival struct {
	Fate Fate      `json:"fate,omitempty"`
	Sent time.Time `json:"sent,omitzero"`
}

// arrivalOf returns what became of a request by its driver's error. began is when the driver was called, and
// permitted when lightsout let it send the request: zero if it did not, or if the driver does not ask.
func arrivalOf(began, permitted time.Time, err error) Arrival {
	a := Arrival{Rejected, cmp.Or(permitted, began)}
	switch {
	case err == nil:
		a.Fate = Accepted
	case errors.As(err, new(*UnconfirmedError)):
		a.Fate = Unconfirmed
	case permitted.IsZero(), errors.As(err, new(*NotSentError)):
		return Arrival{}
	}
	return a
}

// until returns when the power API can't carry out the request any more, which was last under way at underWay.
// within is the journal's carriedOut.
func (a Arrival) until(underWay time.Time, within time.Duration) time.Time {
	if a.Fate == Rejected {
		within = min(within, refusedWithin)
	}
	return underWay.Add(within)
}

// UnconfirmedError reports that a request was sent, and that the driver cannot tell
// whether it was carried out: poll, and never send it again without that.
type UnconfirmedError struct{ Why string }

// Error returns the reason why the outcome is unknown.
func (e *UnconfirmedError) Error() string {
	return "cannot tell whether the request arrived: " + e.Why
}

// RefusedError reports that a driver or the other side refused for a reason that a
// repetition does not change (a wrong token, a missing VM, a state from which the
// action is impossible).
type RefusedError struct{ Why string }

// Error gives the reason, which is one whole sentence.
func (e *RefusedError) Error() string { return e.Why }

// vetoedError reports that lightsout itself did not let a driver send the request.
type vetoedError struct{ Why string }

// Error gives the reason.
func (e *vetoedError) Error() string { return "lightsout did not send the request: " + e.Why }

// NotSentError reports that lightsout sent or started nothing, or that what it started did
// nothing, although the driver had called BeforeSend: a machine that goes off later was switched
// off by somebody else.
type NotSentError struct{ Err error }

// Error is the reason.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// ConflictError reports that the other side refused a request because of another one, which is
// under way or has switched the machine. HTTP has status 409 for it. That other one may be this request itself, if
// a proxy sent it twice: it counts as refused, like any other.
type ConflictError struct{ Why string }

// Error is the reason.
func (e *ConflictError) Error() string { return e.Why }

const (
	// refusedWithin is how long after its refusal a power API may still carry out a request to switch a
	// machine off: as long as lightsout waits for a shutdown that was accepted.
	refusedWithin = 3 * time.Minute
	// refusedPolls is how often lightsout polls a machine after the power API has refused to switch
	// it off.
	refusedPolls = 5
)

// refused returns the stage after an error that ends the operation. A power API may carry out what it
// refuses to do: if the machine is then proven off, the request counts as carried out; otherwise it may go
// off, and the journal lists it for refusedWithin.
func (o *operation) refused(deadline context.Context, refusal error) (Stage, string) {
	if o.arrival.Fate != Rejected {
		return StageFailed, refusal.Error()
	}
	o.answered(StageSending, refusal.Error(), "; polling the machine anyway")
	if o.offAfterRefusal(deadline) {
		return StageDone, fmt.Sprintf("%s is off (%s), although the power API refused: %s", o.machine.Called(), o.last.Detail, refusal)
	}
	stage := StageUncertain
	if o.last.State == On {
		stage = StageFailed
	}
	return stage, fmt.Sprintf("%s; %s was last seen %s (%s), and may still go off until %s: check again with: %s", refusal, o.machine.Called(),
		o.last.State, o.last.Detail, o.arrival.until(time.Now(), o.fleet.journal.left.carriedOut).Local().Format(time.TimeOnly), o.fleet.cfg.WayBack)
}

// offAfterRefusal polls the machine, and reports whether it is proven off since the request.
func (o *operation) offAfterRefusal(deadline context.Context) bool {
	o.last = Reading{}
	for i := range refusedPolls {
		if i > 0 && !Sleep(deadline, o.fleet.cfg.PollInterval) {
			break
		}
		if r, err := o.poll(deadline); err == nil && r.State != Unknown {
			o.last = r
		}
		if o.last.Proves(Off) && o.last.RequestedAt.After(o.arrival.Sent) {
			return true
		}
	}
	return false
}
