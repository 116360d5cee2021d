package loadgen

import "time"

// digest sums up the single requests of all runs; the ledger's lock guards it.
type digest struct {
	failed                                 Record     // the newest failed request; without an ID: none
	took, sent, late, firstToken, perToken *histogram // nil: empty
}

// take adds the record of a request that has ended.
func (d *digest) take(r *Record) {
	if !r.Dial.IsZero() {
		d.late = d.late.with(r.Dial.Sub(r.Scheduled))
	}
	if r.Class.Failed() {
		d.failed = *r
	}
	if r.Class != ClassOK {
		return
	}
	d.took = d.took.with(r.End.Sub(r.Scheduled))
	if !r.Sent.IsZero() {
		d.sent = d.sent.with(r.End.Sub(r.Sent))
		if !r.FirstToken.IsZero() {
			d.firstToken = d.firstToken.with(r.FirstToken.Sub(r.Sent))
		}
	}
	if r.Tokens > 1 && !r.FirstToken.IsZero() {
		d.perToken = d.perToken.with(r.LastToken.Sub(r.FirstToken) / time.Duration(r.Tokens-1))
	}
}

func (d *digest) latency() Latency {
	return Latency{
		Scheduled: d.took.quantiles(), Sent: d.sent.quantiles(), Late: d.late.quantiles(),
		FirstToken: d.firstToken.quantiles(), PerToken: d.perToken.quantiles(),
	}
}

// lastError is one sentence on the newest failed request; empty: none.
func (d *digest) lastError() string {
	if d.failed.ID == "" {
		return ""
	}
	return "request " + d.failed.ID + ": " + d.failed.Class.String() + ": " + d.failed.Error
}
