package report

import (
	"testing"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// reportsBoot adds that a node reports a boot ID from then on.
func reportsBoot(r *record.Record, node string, s float64, id string) {
	r.Samples = append(r.Samples, record.Sample{At: at(s), Key: s == 0, Cluster: &record.Cluster{At: at(s), Nodes: []*cluster.Node{{Name: node, Ready: cluster.TriTrue, BootID: id}}}})
}

// A machine that its driver found off did not run on, although nobody saw its node boot.
func TestAMachineThatWasOffDidNotRunOn(t *testing.T) {
	for kind, ran := range map[view.SpanKind]bool{view.SpanSilent: true, view.SpanOff: false} {
		r := bare()
		reportsBoot(r, "k8s2", 0, "one")
		down(r, "k8s2", kind, 21, 50)
		reportsBoot(r, "k8s2", 50, "one")
		if got := returnsOf(r); (len(got) > 0) != ran {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

// Only a node that reports the same boot ID before and after shows that its machine ran on.
func TestANodeWithoutABootIDMayHaveBooted(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		first         float64 // when the record first shows the node
		ran           bool
	}{
		"the same boot ID":                  {before: "one", after: "one", ran: true},
		"no boot ID":                        {},
		"no boot ID before":                 {after: "one"},
		"no boot ID after":                  {before: "one"},
		"another boot ID, without an event": {before: "one", after: "two"},
		"first shown while it was down":     {before: "one", after: "one", first: 60},
	} {
		r := bare()
		reportsBoot(r, "k8s2", c.first, c.before)
		reportsBoot(r, "k8s2", 150, c.after)
		down(r, "k8s2", view.SpanSilent, 21, 150)
		down(r, "k8s2", view.SpanNotReady, 60, 150)
		if got := returnsOf(r); (len(got) > 0) != c.ran {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A record may begin after a node's last heartbeat. If it shows the node before that was overdue,
// the boot ID is the old one; if the node was down already, it may have booted before.
func TestTheBootIDOfANodeThatIsDownMayBeNew(t *testing.T) {
	for name, c := range map[string]struct {
		first, down float64 // when the record first shows the node, and from when on it shows it down
		kind        view.SpanKind
		sign        view.Sign
		ran         bool
	}{
		"seen between its last heartbeat and the overdue one": {22, 25, view.SpanSilent, view.SignSilent, true},
		"silent when the record begins":                       {24, 24, view.SpanSilent, view.SignSilent, false},
		"booted and not Ready when the record begins":         {24, 24, view.SpanNotReady, view.SignNotReady, false},
	} {
		r := bare()
		sign := view.NewEvent(view.CodeOutageSign, "k8s2", view.Facts{Sign: c.sign})
		sign.At, sign.Seen = at(21), at(26)
		r.Zero, r.Events = at(21), append(r.Events, sign)
		reportsBoot(r, "k8s2", c.first, "one")
		down(r, "k8s2", c.kind, c.down, 34)
		reportsBoot(r, "k8s2", 34, "one")
		r.Summary = &record.Summary{Zero: at(21), Unplanned: &record.Unplanned{}}
		if got := returnsOf(r); (len(got) > 0) != c.ran {
			t.Errorf("%s: %v", name, got)
		}
	}
}

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
