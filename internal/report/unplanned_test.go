package report

import (
	"testing"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// Nobody knows what clients noticed of an outage if lightsout sent nothing, not all, or nothing for
// a while, and also if its requests hung or had no end.
func TestTheReportShowsWhyASeverityIsUnknown(t *testing.T) {
	for want, c := range map[string]struct {
		n    loadgen.Counts
		hung int
		why  []record.Blind
	}{
		"lightsout sent no requests":                   {why: []record.Blind{{To: 30, StoodStill: true}}},
		"40 requests hung until lightsout ended them":  {n: loadgen.Counts{Scheduled: 40, Cancelled: 40}, hung: 40},
		"4 requests had not ended when the record did": {n: loadgen.Counts{Scheduled: 5, OK: 1, InFlight: 4}},
		"no request has ever succeeded":                {n: loadgen.Counts{Scheduled: 60, Failed: 60}},
		"lightsout did not send requests all the time": {n: loadgen.Counts{Scheduled: 60, OK: 30, Unsent: 30}},
		"lightsout did not send requests all the time and 40 requests hung until lightsout ended them": {
			n: loadgen.Counts{Scheduled: 40, Cancelled: 40}, hung: 40, why: []record.Blind{{To: 30, StoodStill: true}}},
		"too few requests were answered": {n: loadgen.Counts{Scheduled: 1, OK: 1}},
	} {
		r := bare()
		l := record.Load{Sent: c.n.Scheduled - c.n.Unsent, Counts: c.n}
		if c.hung > 0 {
			l.Hung = &loadgen.Counts{Scheduled: c.hung, Cancelled: c.hung}
		}
		r.Summary = &record.Summary{Load: []record.Load{l}, Ledger: record.Ledger{Counts: c.n}, Blind: c.why, Unplanned: &record.Unplanned{Severity: record.SeverityUnknown}}
		if got := pageOf(r).Why; len(got) != 1 || got[0] != want+": what clients noticed is unknown" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
