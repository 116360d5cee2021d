package recorder

import (
	"strings"
	"testing"
	"time"

	"lightsout/internal/record"
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

// A recorder that stood still, or had not begun, sent no requests: nobody knows what clients noticed.
// What the API server dates then is dated.
func TestAnOutageInWhichTheRecorderDidNotRunIsUnknown(t *testing.T) {
	for name, begin := range map[string]func(s *screen){
		"within the outage": func(s *screen) {
			s.look(3)
			s.fails("n2")
			s.answers(4)
		},
		"over its beginning": func(s *screen) {
			s.look(3)
			s.setTime(s.now.Add(time.Second))
			s.fails("n2")
		},
		"before the recorder began": func(s *screen) { s.fails("n2") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreenOf(t, 1<<20, func(o *Options) { o.Past = 15 * time.Minute })
			s.loadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1})
			begin(s)
			s.setTime(s.now.Add(5 * time.Minute)) // SIGSTOP, or a suspended machine
			s.answers(4)
			delete(s.down, "n2")
			s.answers(15)
			sum := s.only(record.SeverityUnknown)
			if len(sum.Blind) != 1 || !sum.Blind[0].StoodStill || sum.Blind[0].To-sum.Blind[0].From < 300 {
				t.Errorf("the blind spans are %+v", sum.Blind)
			}
			for _, p := range sum.Phases {
				if p.Name == view.PhaseDetected && (p.Observed == nil || *p.Observed > 1 && name != "within the outage") {
					t.Errorf("the node was marked NotReady when the outage began: %+v", p)
				}
				if p.Name == view.PhaseErrors {
					t.Errorf("nobody knows of errors, nor that there were none: %+v", p)
				}
				if p.Before && name == "before the recorder began" {
					t.Errorf("nobody saw how it was before: %+v", p)
				}
			}
		})
	}
}

// Requests that were due and not sent, or that the operator ended, do not show what clients
// noticed: not if some were ok either, unless only few were not sent and none hung.
func TestRequestsThatWereNotSentProveNothing(t *testing.T) {
	const unknown, noneFailed = record.SeverityUnknown, record.SeverityNoneFailed
	for name, tc := range map[string]struct {
		class  loadgen.Class
		oks, n int
		hung   time.Duration
		want   record.Severity
		why    string
		late   int // requests after the return
	}{
		"none":                  {loadgen.ClassUnsent, 0, 0, 0, unknown, "lightsout sent no requests", 0},
		"all unsent":            {loadgen.ClassUnsent, 0, 60, 0, unknown, "lightsout did not send requests all the time", 0},
		"many unsent":           {loadgen.ClassUnsent, 30, 30, 0, unknown, "lightsout did not send requests all the time", 0},
		"one unsent":            {loadgen.ClassUnsent, 60, 1, 0, noneFailed, "", 0},
		"all ended by us":       {loadgen.ClassCancelled, 0, 60, 0, unknown, "too few requests were answered", 0},
		"one ended by us":       {loadgen.ClassCancelled, 60, 1, 0, noneFailed, "", 0},
		"no way to send":        {loadgen.ClassLocal, 30, 30, 0, unknown, "lightsout could not send requests (through the bastion: refused)", 0},
		"one hung until ended":  {loadgen.ClassCancelled, 60, 1, 40 * time.Second, unknown, "requests hung until lightsout ended them", 0},
		"only after the return": {loadgen.ClassOK, 0, 0, 0, unknown, "lightsout sent no requests during an outage", 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			s.loadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1})
			s.fails("n2")
			s.look(4)
			s.answers(tc.oks)
			for range tc.n {
				q := loadgen.Record{Run: 7, Shape: loadgen.Rate, Class: tc.class, Scheduled: s.now.Add(-tc.hung), End: s.now, Error: "through the bastion: refused"}
				if tc.class != loadgen.ClassUnsent {
					q.Sent = q.Scheduled
				}
				s.Record(q)
				s.look(1)
			}
			delete(s.down, "n2")
			s.look(3)
			s.answers(tc.late)
			s.look(12)
			if got := s.only(tc.want).Unplanned.Why; got != tc.why {
				t.Errorf("it is unknown since %q", got)
			}
		})
	}
}

// A recorder with a wrong URL has never had an answer: its failures show nothing about clients.
func TestARecorderThatWasNeverAnsweredCallsNoOutageDown(t *testing.T) {
	for _, class := range []loadgen.Class{loadgen.ClassRefused, loadgen.ClassConnectTimeout, loadgen.Class5xx} {
		s := newScreen(t)
		s.opt.Every, s.requests.every = time.Second, time.Second
		s.loadStarted(7, loadgen.Spec{Shape: loadgen.Rate, PerSecond: 1})
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
		if said := strings.Join(s.printed, " "); strings.Contains(said, "errors") || !strings.Contains(said, "no request has ever succeeded") {
			t.Errorf("%s: %s", class, said)
		}
	}
}
