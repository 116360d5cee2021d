package report

import (
	"testing"

	"lightsout/internal/record"
	"lightsout/loadgen"
)

// Nobody knows what clients noticed of an outage if lightsout sent nothing, not all, or nothing for
// a while, and also if its requests hung or had no end.
func TestTheReportShowsWhyASeverityIsUnknown(t *testing.T) {
	load := func(c loadgen.Counts) record.Load { return record.Load{Sent: c.Scheduled - c.Unsent, Counts: c} }
	hung := load(loadgen.Counts{Scheduled: 40, Cancelled: 40})
	hung.Hung = &loadgen.Counts{Scheduled: 40, Cancelled: 40}
	stood := []record.Blind{{To: 30, StoodStill: true}}
	for want, s := range map[string]record.Summary{
		"lightsout sent no requests":                                                                   {Blind: stood},
		"40 requests hung until lightsout ended them":                                                  {Load: []record.Load{hung}},
		"4 requests had not ended when the record did":                                                 {Load: []record.Load{load(loadgen.Counts{Scheduled: 5, OK: 1, InFlight: 4})}},
		"lightsout ended 60 requests, and none was ok":                                                 {Load: []record.Load{load(loadgen.Counts{Scheduled: 60, Cancelled: 60})}},
		"no request has ever succeeded":                                                                {Load: []record.Load{load(loadgen.Counts{Scheduled: 60, Failed: 60})}},
		"lightsout did not send 30 of the 60 requests that were due":                                   {Load: []record.Load{load(loadgen.Counts{Scheduled: 60, OK: 30, Unsent: 30})}},
		"lightsout did not send requests all the time":                                                 {Load: []record.Load{load(loadgen.Counts{Scheduled: 60, OK: 59, InFlight: 1})}, Blind: stood},
		"lightsout did not send requests all the time and 40 requests hung until lightsout ended them": {Load: []record.Load{hung}, Blind: stood},
	} {
		s.Unplanned = &record.Unplanned{Severity: record.SeverityUnknown}
		r := bare()
		r.Summary = &s
		if got := pageOf(r).Why; len(got) != 1 || got[0] != want+": what clients noticed is unknown" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
