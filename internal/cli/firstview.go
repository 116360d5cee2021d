package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// viewWait bounds how long a command waits for the first view of the cluster.
const viewWait = 30 * time.Second

// view waits for the first view of the cluster, answering questions meanwhile.
// An API server that does not answer is waited for as well.
func (a *app) view(ctx context.Context, c *console, wait time.Duration) (*cluster.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	said := patient{wait: wait}
	err := c.show(ctx, a.session, func(f *view.Frame) bool {
		if f.Snapshot == nil {
			return ctx.Err() != nil
		}
		said.report(f.Snapshot)
		return synced(f.Snapshot) && hitsKnown(f.Snapshot) || ctx.Err() != nil || f.Snapshot.Access[cluster.KindNode].Forbidden
	})
	snapshot := a.watcher.Snapshot()
	if err == nil && !synced(snapshot) {
		err = unseen(snapshot, wait)
	}
	if err == nil { // the guards may depend on the cluster's identity
		select {
		case <-a.asked:
		case <-ctx.Done():
		}
	}
	return snapshot, err
}

// pollWait bounds how long a command waits for the first poll of machines.
const pollWait = 5 * time.Second

// polled waits until lightsout has polled the machines of the nodes once: it need not
// ask about machines that are on already.
func (a *app) polled(ctx context.Context, c *console, nodes []string) error {
	ctx, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	return c.show(ctx, a.session, func(f *view.Frame) bool {
		return ctx.Err() != nil || !slices.ContainsFunc(nodes, func(n string) bool {
			return f.Snapshot.Node(n) != nil && f.Power[n].Reading.Arrived.IsZero()
		})
	})
}

// patient prints that it waits for an API server, and the reason.
type patient struct {
	wait time.Duration
	said string
}

func (p *patient) report(s *cluster.Snapshot) {
	if s != nil && s.Link.State == cluster.LinkDisconnected && s.Link.Err != p.said {
		p.said = s.Link.Err
		fmt.Fprintf(stderr, "the API server does not answer (%s); waiting for it, %s at most\n", p.said, p.wait)
	}
}

// unseen is the error that the nodes have not been seen in that time; s may be nil.
func unseen(s *cluster.Snapshot, within time.Duration) error {
	why := fmt.Sprintf("it has not answered within %s", within)
	switch {
	case s == nil:
	case s.Access[cluster.KindNode].Forbidden:
		why = fmt.Sprintf("the account of context %s may not list nodes; it needs get, list and watch on them", s.Context)
	case s.Link.State == cluster.LinkDisconnected:
		why = s.Link.Err
	}
	return fmt.Errorf("lightsout cannot see the cluster: %s", why)
}

// readable reports whether the nodes have been seen, or the account may not read them.
func readable(s *cluster.Snapshot) bool {
	return synced(s) || s != nil && s.Access[cluster.KindNode].Forbidden
}

// synced reports whether the nodes have been seen.
func synced(s *cluster.Snapshot) bool {
	return s != nil && s.Access[cluster.KindNode].Synced
}

// hitsKnown reports whether the snapshot has everything, as far as the account can read
// it, that decides which pods an outage hits and when, including heartbeats and the
// control plane's settings.
func hitsKnown(s *cluster.Snapshot) bool {
	for _, k := range []cluster.Kind{cluster.KindLease, cluster.KindPod, cluster.KindDeployment} {
		if a := s.Access[k]; !a.Synced && !a.Forbidden && a.Err == "" {
			return false
		}
	}
	return s.SettingsRead
}
