package recorder

import (
	"time"

	"lightsout/internal/view"
)

const (
	// unledAfter is how long a recorder must see no change of the Lease until it reports
	// outages without holding it: the leader may be gone together with the API server.
	unledAfter = time.Minute
	// standbyWaits is how much longer a recorder that reports nothing goes on with a record.
	// It takes over from a leader that ended within less, and then reports the end.
	standbyWaits = 30 * time.Second
)

// lead finds whether this recorder reports outages: without a Lease, if it was the holder
// when it saw the Lease last, or if it has not seen the Lease change for unledAfter.
func (r *Recorder) lead(now time.Time) {
	if r.opt.Lease == nil {
		r.leads = true
		return
	}
	l := r.opt.Lease()
	if l.Renewed.After(r.led) {
		r.led = l.Renewed
	}
	unled := now.Sub(r.led) >= unledAfter
	r.leads = l.Mine || unled
	f := view.Facts{Name: l.Holder}
	switch {
	case l.Mine:
		f.Reported = "it holds the lease"
	case unled:
		f.Reported = "nobody seems to renew the lease"
	case l.Holder == "":
		return
	}
	e := view.NewEvent(view.CodeLeads, "recorder", f)
	role := e.Sentence()
	if l.Err != "" {
		role += "; " + l.Err
	}
	if role != r.role {
		r.role = role
		r.s.Say(e)
		r.opt.Print("this recorder " + role)
	}
}
