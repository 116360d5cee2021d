package recorder

import (
	"slices"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// A machine is off by plan while another node's outage is recorded. That record does not list it
// as down, and when it does not return after its plan, that is a sign.
func TestAPlannedNodeThatDoesNotReturnAfterAnotherOutageIsASign(t *testing.T) {
	s := newScreen(t)
	s.opt.Kept = nil
	s.noted["n1"] = true
	s.look(3)
	s.fails("n1")
	s.look(20)
	s.fails("n2")
	s.look(10)
	delete(s.down, "n2")
	s.look(30)
	if s.Recording() {
		t.Fatal("the record of n2 did not end")
	}
	first, err := record.Open(s.Newest())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range first.Events {
		if e.Code == view.CodeOutageOver && len(e.Nodes) > 0 {
			t.Errorf("the record lists a planned machine: %s", e.Sentence())
		}
	}
	delete(s.noted, "n1") // its plan has ended, and it does not boot
	s.look(700)
	all := s.summaries()
	if len(all) != 2 || !slices.ContainsFunc(all[1].Unplanned.Signs, func(x record.Sign) bool { return x.Kind == view.SignNotBack && x.Subject == "n1" }) {
		t.Errorf("%d records: n1 is not back", len(all))
	}
}

// Requests fail while a machine is off by plan, and another outage's record ends meanwhile. When
// they go on to fail after the machine's return, that is a sign.
func TestFailuresThatOutliveAPlanAreASignAfterAnotherOutage(t *testing.T) {
	now := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	g, p := newSigns(15*time.Minute), &probes{count: true}
	n := &cluster.Node{Name: "n1", Ready: cluster.TriTrue, LeaseDuration: 40 * time.Second, BootID: "first"}
	look := func(seconds int, off bool, class loadgen.Class) (news []record.Sign) {
		for range seconds {
			now = now.Add(time.Second)
			p.note(loadgen.Record{Class: class, End: now}, now)
			if !off {
				n.Renewed, n.RenewSeen = now, now
			}
			seen := *n
			news = append(news, g.observe(oneNode(now, &seen), p, false, now)...)
		}
		return news
	}
	look(5, false, loadgen.ClassOK)
	n.Annotations = annotated(power.Note{By: "me@here", Boot: "first"}.Text())
	look(2, false, loadgen.ClassOK)
	news := look(120, true, loadgen.ClassRefused)
	g.settle(p, now)
	n.Annotations, n.BootID = nil, "second"
	if news = append(news, look(30, false, loadgen.ClassRefused)...); len(news) > 0 {
		t.Errorf("the plan explains them: %+v", news)
	}
	if news := look(120, false, loadgen.ClassRefused); len(news) != 1 || news[0].Kind != view.SignRequests {
		t.Errorf("they outlive the plan: %+v", news)
	}
}
