package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server whose clock is minutes off: silence of nodes is told by our own clock,
// and that its times are off is said.
func TestWatcherReportsAServersWrongClock(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.clock = off
			lease := func(name string) {
				l := apiLease(name, 10)
				l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(off)}
				f.put("leases", l)
			}
			f.put("nodes", apiNode("a", "True"))
			f.put("nodes", apiNode("b", "True"))
			lease("a")
			lease("b")
			w := watchFake(t, f)
			s := w.until("everything", synced)
			if d := (s.Ahead() - off).Abs(); d > clockNoise {
				t.Errorf("its clock is %v ahead, wanted %v", s.Ahead(), off)
			}
			if got := s.Contents().Link.Ahead; (got - off).Abs() > clockNoise {
				t.Errorf("the record says %v", got)
			}
			s = w.until("a is silent", func(s *Snapshot) bool {
				lease("b")
				return s.Node("a").Overdue
			})
			if s.Node("b").Overdue {
				t.Error("b is silent, though it renews its lease")
			}
			if since, silent := s.Silent(s.Node("a"), time.Now()); !silent || since > 30*time.Second {
				t.Errorf("a is silent: %v, for %v", silent, since)
			}
		})
	}
}

// A program that has just started has heard no heartbeat itself. The first list of the
// Leases proves how long a node has been silent, by the server's clock.
func TestAnOldLeaseIsSilenceAtOnce(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.clock = off
			lease := func(name string, ago time.Duration) {
				l := apiLease(name, 40)
				l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(off - ago)}
				f.put("leases", l)
			}
			for name, ago := range map[string]time.Duration{"dead": 48 * time.Second, "alive": 9 * time.Second} {
				f.put("nodes", apiNode(name, "True"))
				lease(name, ago)
			}
			w := watchFake(t, f)
			s := w.until("everything", synced)
			for _, name := range []string{"dead", "alive"} {
				if _, silent := s.Silent(s.Node(name), time.Now()); silent != (name == "dead") || silent != s.Node(name).HeartbeatLate(time.Now()) {
					t.Errorf("%s is silent: %v, %s", name, silent, s.NodeWord(s.Node(name), time.Now()))
				}
			}
			lease("dead", 0)
			w.until("it is heard again", func(s *Snapshot) bool {
				_, silent := s.Silent(s.Node("dead"), time.Now())
				return !silent
			})
		})
	}
}
