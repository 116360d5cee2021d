package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// quietSession keeps what a recorder adds to the timeline.
type quietSession struct {
	Session
	events []view.Event
}

func (s *quietSession) Say(e view.Event) { s.events = append(s.events, e) }

func TestSomebodyAlwaysReports(t *testing.T) {
	now := time.Now()
	var l cluster.LeaseState
	var s quietSession
	var printed []string
	r := New(&s, Options{Now: func() time.Time { return now }, Lease: func() cluster.LeaseState { return l }, Print: func(line string) { printed = append(printed, line) }})
	step := func(what string, after time.Duration, leads bool) {
		t.Helper()
		now = now.Add(after)
		if r.takeLead(now); r.lead.leads != leads {
			t.Errorf("%s: reports %t", what, r.lead.leads)
		}
	}
	step("before the first answer", time.Second, false)
	l = cluster.LeaseState{Holder: "a", Renewed: now}
	step("beside a leader", time.Second, false)
	l.Renewed = now
	step("a renewal later", unledAfter-time.Second, false)
	l.Err = "the lease default/x cannot be used"
	step("without the API server, beside a leader", 2*time.Second, true)
	l = cluster.LeaseState{Holder: "a", Renewed: now}
	step("the leader is there again", time.Second, false)
	l = cluster.LeaseState{Holder: "b", Mine: true, Renewed: now}
	step("as the leader", time.Second, true)
	step("without the API server, as the leader", time.Hour, true)
	l = cluster.LeaseState{Holder: "a", Renewed: now}
	step("after another one took over", time.Second, false)
	if len(s.events) != 5 || len(printed) != 5 || !strings.Contains(printed[1], "the lease default/x cannot be used") {
		t.Errorf("timeline %+v\nprinted %q", s.events, printed)
	}
	r = New(&s, Options{Now: time.Now})
	if r.takeLead(now); !r.lead.leads {
		t.Error("without a lease a recorder reports")
	}
}
