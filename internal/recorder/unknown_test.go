package recorder

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/record"
	"lightsout/internal/report"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// ends has a request of the operator's load end.
func (s *screen) ends(class loadgen.Class) {
	s.Record(loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: class, Scheduled: s.now, Sent: s.now, End: s.now})
}

// answers lets seconds pass, with a look and an answered request in each.
func (s *screen) answers(seconds int) {
	for range seconds {
		s.ends(loadgen.ClassOK)
		s.look(1)
	}
}

// only ends the session and reads its only record, which has that severity.
func (s *screen) only(want record.Severity) *record.Summary {
	s.t.Helper()
	all := s.summaries()
	if len(all) != 1 {
		s.t.Fatalf("%d records", len(all))
	}
	if got := all[0].Unplanned.Severity; got != want {
		s.t.Errorf("the severity is %s and not %s", got, want)
	}
	return all[0]
}

// A recorder that stood still sent no requests: nobody knows what clients noticed, also if it
// stood still before it noticed the outage.
func TestAnOutageInWhichTheRecorderStoodStillIsNotUnnoticed(t *testing.T) {
	for name, before := range map[string]bool{"within the outage": false, "over its beginning": true} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
			s.answers(1)
			if before {
				s.setTime(s.now.Add(time.Second))
			}
			s.fails("n2")
			if !before {
				s.answers(4)
			}
			s.setTime(s.now.Add(5 * time.Minute)) // SIGSTOP, or a suspended machine
			s.answers(4)
			delete(s.down, "n2")
			s.answers(15)
			sum := s.only(record.SeverityUnknown)
			if len(sum.Blind) != 1 || !sum.Blind[0].StoodStill || sum.Blind[0].To-sum.Blind[0].From < 300 {
				t.Errorf("the blind spans are %+v", sum.Blind)
			}
			detected := slices.IndexFunc(sum.Phases, func(p view.Phase) bool { return p.Name == view.PhaseDetected })
			if p := sum.Phases[detected]; before && (p.Observed == nil || *p.Observed > 1 || p.HiddenFrom == nil) {
				t.Errorf("the node was marked NotReady when the outage began: %+v", p)
			}
			rec, err := record.Open(s.Newest())
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(report.Opening(rec), " "); !strings.Contains(said, "no request is known to have failed") {
				t.Errorf("%q", said)
			}
		})
	}
}

// After a lost link the watch delivers at once that pods went and that they returned: no snapshot
// shows the worst, and the transitions do.
func TestTheLeastNumberOfPodsIsThatOfTheTimeline(t *testing.T) {
	s := newScreen(t)
	s.fails("n2")
	s.look(4)
	for _, n := range []int{15, 12, 16} {
		s.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindDeployment}, Change: cluster.ChangeReplicas, Available: n, Seen: s.now})
	}
	s.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindDeployment, Key: cluster.Key{Name: "other"}}, Change: cluster.ChangeReplicas, Seen: s.now})
	delete(s.down, "n2")
	s.look(15)
	if least := s.only(record.SeverityUnknown).LowestAvailable; least == nil || *least != 12 {
		t.Errorf("%v", least)
	}
}

// Pods go, and others come, between the last heartbeat of a node and the moment at which the
// recorder notices its silence. What went before does not count.
func TestTheLeastNumberOfPodsIsThatOfTheWholeOutage(t *testing.T) {
	s := newScreen(t)
	counts := func(all ...int) {
		for _, n := range all {
			s.Transition(cluster.Transition{Subject: cluster.Ref{Kind: cluster.KindDeployment}, Change: cluster.ChangeReplicas, Available: n, Seen: s.now})
		}
	}
	counts(9, 16)
	s.look(2)
	s.fails("n2")
	s.setTime(s.now.Add(time.Second))
	counts(15, 12, 16)
	if s.outage != nil {
		t.Fatal("the recorder has noticed the outage")
	}
	s.look(4)
	delete(s.down, "n2")
	s.look(15)
	if least := s.only(record.SeverityUnknown).LowestAvailable; least == nil || *least != 12 {
		t.Errorf("%v", least)
	}
}

// A pause that was over when an outage began hides nothing of it.
func TestAPauseBeforeAnOutageDoesNotMakeItUnknown(t *testing.T) {
	s := newScreen(t)
	s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
	s.setTime(s.now.Add(5 * time.Minute))
	s.answers(10)
	s.fails("n2")
	s.answers(4)
	delete(s.down, "n2")
	s.answers(15)
	if sum := s.only(record.SeverityUnnoticed); len(sum.Blind) > 0 {
		t.Errorf("the blind spans are %+v", sum.Blind)
	}
}

// Requests that were due and not sent, or that the operator ended, do not show what clients
// noticed: not if some were ok either, unless only few were not sent and none hung.
func TestRequestsThatWereNotSentAreNotUnnoticed(t *testing.T) {
	const unknown, unnoticed = record.SeverityUnknown, record.SeverityUnnoticed
	for name, tc := range map[string]struct {
		class  loadgen.Class
		oks, n int
		hung   time.Duration
		want   record.Severity
	}{
		"all unsent":           {loadgen.ClassUnsent, 0, 60, 0, unknown},
		"many unsent":          {loadgen.ClassUnsent, 30, 30, 0, unknown},
		"one unsent":           {loadgen.ClassUnsent, 60, 1, 0, unnoticed},
		"all ended by us":      {loadgen.ClassCancelled, 0, 60, 0, unknown},
		"one ended by us":      {loadgen.ClassCancelled, 60, 1, 0, unnoticed},
		"one hung until ended": {loadgen.ClassCancelled, 60, 1, 40 * time.Second, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
			s.fails("n2")
			s.answers(tc.oks)
			for range tc.n {
				q := loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: tc.class, Scheduled: s.now.Add(-tc.hung), End: s.now}
				if tc.class != loadgen.ClassUnsent {
					q.Sent = q.Scheduled
				}
				s.Record(q)
				s.look(1)
			}
			delete(s.down, "n2")
			s.look(15)
			s.only(tc.want)
			said := strings.Join(s.printed, " ")
			if sure := strings.Contains(said, "no request failed"); sure != (tc.want == unnoticed) {
				t.Errorf("%q", said)
			}
		})
	}
}

// A recorder with a wrong URL has never had an answer: its failures show nothing about clients.
func TestARecorderThatWasNeverAnsweredCallsNoOutageDown(t *testing.T) {
	for _, class := range []loadgen.Class{loadgen.ClassRefused, loadgen.ClassConnectTimeout, loadgen.Class5xx} {
		s := newScreen(t)
		s.probes = newProbes(time.Second)
		s.LoadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1}, s.now)
		fail := func(seconds int) {
			for range seconds {
				s.ends(class)
				s.look(1)
			}
		}
		fail(5)
		s.fails("n2")
		fail(12)
		delete(s.down, "n2")
		fail(15)
		s.only(record.SeverityUnknown)
		for _, dir := range folders(s.opt.Dir) {
			r, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, sentence := range []string{strings.Join(report.Opening(r), " "), report.SoFar(r, false)} {
				if strings.Contains(sentence, "errors") || !strings.Contains(sentence, "no request has ever succeeded") {
					t.Errorf("%s: %s", class, sentence)
				}
			}
		}
	}
}
