package loadgen

import (
	"cmp"
	"slices"
	"time"
)

// Digest sums up single requests, for the details of a load. It is immutable.
type Digest struct {
	// Failed are the failed requests by class and endpoint, most first.
	Failed []FailedGroup
	// Failures and Answers are the last failed and the last ok requests, newest first.
	Failures, Answers []Record
}

// FailedGroup counts the requests that failed with one class at one endpoint.
type FailedGroup struct {
	Class Class
	// Endpoint is the address that was dialed or that answered; empty if there was
	// none, or if there are too many endpoints to list.
	Endpoint string
	N        int
}

const (
	// mostGroups is the largest number of groups, and mostKept that of single requests
	// in each list.
	mostGroups = 128
	mostKept   = 64
)

// digest collects what is shown of single requests over all runs; the ledger's lock guards it.
type digest struct {
	groups                                 []FailedGroup
	failures, answered                     []Record   // oldest first
	took, sent, late, firstToken, perToken *histogram // nil: empty
}

// take adds the record of a request that has ended.
func (d *digest) take(r *Record) {
	if !r.Dial.IsZero() {
		d.late = d.late.with(r.Dial.Sub(r.Scheduled))
	}
	if r.Class.Failed() {
		d.group(r).N++
		d.failures = keep(d.failures, r)
	}
	if r.Class != ClassOK {
		return
	}
	d.answered = keep(d.answered, r)
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
	if len(d.failures) == 0 {
		return ""
	}
	r := d.failures[len(d.failures)-1]
	return "request " + r.ID + ": " + r.Class.String() + ": " + r.Error
}

func keep(all []Record, r *Record) []Record {
	if len(all) >= 2*mostKept {
		all = append(all[:0], all[len(all)-mostKept:]...)
	}
	return append(all, *r)
}

// group returns the group of a failed request.
func (d *digest) group(r *Record) *FailedGroup {
	endpoint := cmp.Or(r.Entry, r.Remote)
	for {
		i := slices.IndexFunc(d.groups, func(g FailedGroup) bool { return g.Class == r.Class && g.Endpoint == endpoint })
		switch {
		case i >= 0:
			return &d.groups[i]
		case len(d.groups) < mostGroups || endpoint == "":
			d.groups = append(d.groups, FailedGroup{Class: r.Class, Endpoint: endpoint})
			return &d.groups[len(d.groups)-1]
		}
		endpoint = "" // too many endpoints: one group for all others
	}
}

// newest are the last requests that are kept, newest first.
func newest(all []Record) []Record {
	out := slices.Clone(all[max(0, len(all)-mostKept):])
	slices.Reverse(out)
	return out
}

// Digest returns a summary of single requests; it is never nil.
func (g *Generator) Digest() *Digest {
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	return g.ledger.single.shown()
}

func (d *digest) shown() *Digest {
	out := &Digest{Failed: slices.Clone(d.groups), Failures: newest(d.failures), Answers: newest(d.answered)}
	slices.SortStableFunc(out.Failed, func(a, b FailedGroup) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Class, b.Class)) })
	return out
}
