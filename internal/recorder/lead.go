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

// lead is whether this recorder reports outages, and when it saw the Lease change last.
type lead struct {
	leads   bool
	changed time.Time
}

// takeLead finds whether this recorder reports outages: without a Lease, if it was the holder
// when it saw the Lease last, or if it has not seen the Lease change for unledAfter.
func (r *Recorder) takeLead(now time.Time) {
	if r.opt.Lease == nil {
		r.lead.leads = true
		return
	}
	l := r.opt.Lease()
	if l.Renewed.After(r.lead.changed) {
		r.lead.changed = l.Renewed
	}
	unled := now.Sub(r.lead.changed) >= unledAfter
	r.lead.leads = l.Mine || unled
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
	if r.said.news("role", role) {
		r.s.Say(e)
		r.opt.Print("this recorder " + role)
	}
}
