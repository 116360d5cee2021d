package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/power"
)

// A worker whose taints keep pods off does not count as left: the guard and the
// question agree.
func TestATaintedWorkerDoesNotCountAsLeft(t *testing.T) {
	s := mdxSnapshot()
	c := s.Contents()
	for i, n := range c.Nodes {
		if m := *n; n.Name != "kube-node1" && !n.ControlPlane {
			m.Taints = []cluster.Taint{{Key: "gpu", Effect: "NoSchedule"}}
			c.Nodes[i] = &m
		}
	}
	tainted := cluster.NewSnapshot(c)
	view, err := session.ClusterReader{Watcher: &still{s: tainted}, Now: time.Now}.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range view.Nodes {
		if !n.ControlPlane && n.Schedulable != (n.Name == "kube-node1") {
			t.Errorf("%s takes pods: %v", n.Name, n.Schedulable)
		}
	}
}

// A worker whose last heartbeat is old does not count as left, although the watch of the
// heartbeats has only just begun.
func TestAWorkerWithAnOldHeartbeatDoesNotCountAsLeft(t *testing.T) {
	now := time.Now()
	c := mdxSnapshot().Contents()
	c.HeartbeatsSince = now
	for i, n := range c.Nodes {
		m := *n
		m.Ready, m.LeaseDuration, m.RenewSeen, m.Renewed = cluster.TriTrue, 40*time.Second, now, now
		if n.Name == "kube-node1" {
			m.RenewSeen, m.Renewed = now.Add(-48*time.Second), now.Add(-48*time.Second)
		}
		c.Nodes[i] = &m
	}
	view, err := session.ClusterReader{Watcher: &still{s: cluster.NewSnapshot(c)}, Now: time.Now}.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range view.Nodes {
		if (n.Presence == power.Down) != (n.Name == "kube-node1") {
			t.Errorf("%s: not left: %q", n.Name, n.Why)
		}
	}
	// Nobody is silent while the API server is.
	c.Link.State = cluster.LinkDisconnected
	view, err = session.ClusterReader{Watcher: &still{s: cluster.NewSnapshot(c)}, Now: time.Now}.State(t.Context())
	if err != nil || !slices.ContainsFunc(view.Nodes, func(n power.Node) bool { return strings.Contains(n.Why, "the API server does not answer") }) {
		t.Errorf("%v, %+v", err, view.Nodes)
	}
}

// A Lease that was read may have the time of a wrong clock: only a renewal that lightsout
// received proves that a worker runs.
func TestOnlyAReceivedHeartbeatProvesAWorker(t *testing.T) {
	c := mdxSnapshot().Contents()
	for i, n := range c.Nodes {
		m := *n
		m.Ready, m.LeaseDuration, m.RenewSeen = cluster.TriTrue, 40*time.Second, time.Now()
		if n.Name == "kube-node1" {
			m.LeaseDuration, m.RenewSeen = 0, time.Time{} // it has no Lease
		}
		c.Nodes[i] = &m
	}
	s := cluster.NewSnapshot(c)
	s.Access[cluster.KindLease] = cluster.Access{}
	if view, err := (session.ClusterReader{Watcher: &still{s: s}, Now: time.Now}).State(t.Context()); err != nil || view.Nodes[1].Presence != power.Awaited {
		t.Errorf("before the Leases are read: %+v, %v", view.Nodes, err)
	}
	for _, forbidden := range []bool{false, true} {
		s.Access[cluster.KindLease] = cluster.Access{Synced: !forbidden, Forbidden: forbidden}
		view, err := session.ClusterReader{Watcher: &still{s: s}, Now: time.Now}.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range view.Nodes {
			if unheard := n.Presence != power.Runs; unheard != (n.Name == "kube-node1" && !forbidden) {
				t.Errorf("forbidden %v: %s: %q", forbidden, n.Name, n.Why)
			}
		}
	}
}

// The nodes of etcd's members are known only when the control plane's own pods have been
// read, which are in a namespace that lightsout need not watch.
func TestWhoRunsEtcdIsUnknownUntilTheControlPlanesPodsAreRead(t *testing.T) {
	for _, read := range []bool{false, true} {
		s := cluster.NewSnapshot(mdxSnapshot().Contents())
		s.SettingsRead = read
		view, err := session.ClusterReader{Watcher: &still{s: s}, Now: time.Now}.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if unknown := strings.Contains(strings.Join(view.Stale, " "), "Which nodes run etcd is unknown"); unknown == read {
			t.Errorf("read %v: %q", read, view.Stale)
		}
	}
}

// asked is a watcher whose API server answers as answer does.
type asked struct {
	*still
	answer func(ctx context.Context) error
}

func (a asked) Confirm(ctx context.Context) error { return a.answer(ctx) }

// A Snapshot looks new after SIGSTOP, when what had arrived before is read. The
// judgement that counts needs an answer to a question asked now.
func TestLookNowNeedsAnAnswerFromTheAPIServer(t *testing.T) {
	s := mdxSnapshot()
	asks := 0
	for name, c := range map[string]struct {
		snapshot *cluster.Snapshot
		answer   func(context.Context) error
		asks     int
		want     string // of the error; empty: it works
	}{
		"answers":         {s, func(context.Context) error { return nil }, 1, ""},
		"does not answer": {s, func(context.Context) error { return errors.New("the API server did not answer") }, 3, "did not answer"},
		"answers late once": {s, func(ctx context.Context) error {
			if asks == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, 2, ""},
		"nodes are not watched": {notWatched(s, cluster.KindNode), func(context.Context) error { return nil }, 1, "The state of the nodes is unknown now"},
		"heartbeats are not":    {notWatched(s, cluster.KindLease), func(context.Context) error { return nil }, 1, "The state of the heartbeats"},
	} {
		t.Run(name, func(t *testing.T) {
			asks = 0
			before := time.Now()
			w := asked{&still{s: c.snapshot}, func(ctx context.Context) error { asks++; return c.answer(ctx) }}
			view, err := session.ClusterReader{Watcher: w, Now: time.Now}.FreshState(t.Context())
			if asks != c.asks {
				t.Errorf("asked %d times, want %d", asks, c.asks)
			}
			switch {
			case c.want == "" && (err != nil || view.At.Before(before)):
				t.Errorf("the view dates from %v after the start: %v", view.At.Sub(before), err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// notWatched is s when one of its kinds has not been watched for 10 s.
func notWatched(s *cluster.Snapshot, k cluster.Kind) *cluster.Snapshot {
	c := *s
	c.Access = map[cluster.Kind]cluster.Access{}
	for kind, a := range s.Access {
		c.Access[kind] = a
	}
	a := c.Access[k]
	a.Synced, a.Until = true, time.Now().Add(-10*time.Second)
	c.Access[k] = a
	return &c
}
