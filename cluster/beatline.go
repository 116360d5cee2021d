package cluster

import (
	"context"
	"time"
)

// keepHeartbeats asks on the heartbeats' line whenever somebody checks it, until it
// answers, and tells the owner whether it does.
//
// Silence is concluded by such answers: what the server had sent before one comes
// before it, however slow the line is. So all renewals up to when it was asked for
// are known.
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
			// Right after a watch was taken up again what was missed is still coming.
			if from != nil && from == w.leasesFrom.Load() && began.Sub(*from) > settledAfter {
				t.note(&t.complete, began)
			}
			w.send(ctx, lineAsked{})
		default:
			failures++
			w.send(ctx, lineAsked{w.failed(heartbeatLine, describe(err, w.client.cfg.Server), err)})
			if failures > 1 && isTimeout(err) {
				t.cut(heartbeatLine)
			}
			w.lostPause(ctx, heartbeatLine, pauseAfter(err, failures, retryMin, retryMax))
		}
	}
}

// failed says that a line, or what is read on it, has failed, and up to when it is
// known what it told.
func (w *Watcher) failed(l line, why string, err error) Access {
	if l == heartbeatLine && standsStill(err) {
		why = "their connection to the API server at " + hostOf(w.client.cfg.Server) + " stands still: whether nodes are silent is not known"
	}
	return Access{Err: why, Until: w.client.traffic.knownUntil(l)}
}

// lineAsked: the heartbeats' line has answered, or has not and why.
type lineAsked struct{ Access }

func (d lineAsked) apply(s *state) {
	if d.Err != "" {
		d.Until = earliest(s.heartbeats.Until, d.Until)
	}
	if s.heartbeats == d.Access {
		return
	}
	s.heartbeats = d.Access
	s.sumAccess(KindLease)
	s.heartbeatsWatched(time.Now())
}

// heartbeatsWatched starts and stops the clocks of silence.
func (s *state) heartbeatsWatched(now time.Time) {
	leases := s.access[KindLease]
	switch {
	case leases.Err != "" && s.heartbeatsTo.IsZero():
		if s.heartbeatsTo = leases.Until; leases.Until.IsZero() {
			s.heartbeatsTo = now
		}
	case leases.Err != "":
	case !s.heartbeatsTo.IsZero() && now.Sub(s.heartbeatsTo) < briefBreak:
		s.heartbeatsTo, s.nextLook, s.dirty = time.Time{}, now, true
	case !s.heartbeatsTo.IsZero() || s.heartbeatsFrom.IsZero():
		s.heartbeatsTo = time.Time{}
		s.resetHeartbeatClocks(now)
	}
}
