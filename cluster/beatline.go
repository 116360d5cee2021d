package cluster

import (
	"cmp"
	"context"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"lightsout/internal/clock"
)

// keepHeartbeats asks on the heartbeats' connection whenever somebody checks it, until
// the server answers, and reports to the owner whether it does.
//
// lightsout concludes silence from such answers: data that the server sent before an
// answer arrives before it, however slow the connection. So every renewal up to the
// time of the request is known.
func (w *Watcher) keepHeartbeats(ctx context.Context) {
	t := w.client.traffic
	for failures := 0; ; {
		if failures == 0 {
			select {
			case <-ctx.Done():
				return
			case <-w.checks[heartbeatLine]:
			}
		}
		began, from := time.Now(), w.leasesFrom.Load()
		err := w.probe(ctx, heartbeatLine)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
			// Right after a watch resumes, the events that it missed are still
			// arriving.
			if from != nil && from == w.leasesFrom.Load() && began.Sub(*from) > settledAfter {
				t.complete.set(began)
			}
			w.send(ctx, func(s *state) { s.beatline(Access{}) })
		default:
			failures++
			failed := w.failed(heartbeatLine, describe(err, w.client.cfg), err)
			w.send(ctx, func(s *state) { s.beatline(failed) })
			if isOtherCluster(err) || failures > 1 && utilnet.IsTimeout(err) {
				t.cut(heartbeatLine)
			}
			lostPause(ctx, w, heartbeatLine, pauseAfter(err, failures, retryMin, retryMax))
		}
	}
}

// failed reports that a connection, or a watch on it, has failed, and up to when its
// data is complete.
func (w *Watcher) failed(l line, why string, err error) Access {
	if l == heartbeatLine && timedOut(err) {
		why = "their connection to the API server at " + hostOf(w.client.cfg.Server) + " is stuck: lightsout cannot tell whether nodes are silent"
	}
	return Access{Err: why, Until: w.client.traffic.knownUntil(l)}
}

// beatline: the heartbeats' line has answered, or has not and why.
func (s *state) beatline(a Access) {
	if a.Err != "" {
		a.Until = clock.Earliest(s.heartbeats.Until, a.Until)
	}
	if s.heartbeats == a {
		return
	}
	s.heartbeats = a
	s.sumAccess(KindLease)
	s.heartbeatsWatched(time.Now())
}

// heartbeatsWatched starts and stops the clocks of silence.
func (s *state) heartbeatsWatched(now time.Time) {
	leases := s.access[KindLease]
	switch {
	case leases.Err != "" && s.heartbeatsTo.IsZero():
		s.heartbeatsTo = cmp.Or(leases.Until, now)
	case leases.Err != "":
	case !s.heartbeatsTo.IsZero() && now.Sub(s.heartbeatsTo) < briefBreak:
		s.heartbeatsTo, s.nextCheck, s.dirty = time.Time{}, now, true
	case !s.heartbeatsTo.IsZero() || s.heartbeatsFrom.IsZero():
		s.heartbeatsTo = time.Time{}
		s.resetHeartbeatClocks(now)
	}
}
