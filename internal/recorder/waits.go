package recorder

import (
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
)

// judgedBy are the kinds by which an outage shows.
var judgedBy = []cluster.Kind{cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindEndpointSlice}

// inView is the sentence about the first complete snapshot.
func inView(s *cluster.Snapshot) string {
	var forbidden, failed []string
	why := ""
	for _, k := range judgedBy {
		switch a := s.Access[k]; {
		case a.Forbidden:
			forbidden = append(forbidden, string(k))
		case !a.Synced:
			failed, why = append(failed, string(k)), a.Err
		}
	}
	var said []string
	if len(forbidden) > 0 {
		said = append(said, "lightsout may not read these kinds, and notices no outage by them: "+strings.Join(forbidden, ", ")+" (lightsout check tests the rights)")
	}
	if len(failed) > 0 {
		said = append(said, "lightsout has not read these kinds yet, and notices no outage by them until it has: "+strings.Join(failed, ", ")+" ("+why+")")
	}
	if len(said) > 0 {
		return strings.Join(said, "; ")
	}
	return "the cluster is in view: outages are noticed from now on"
}

// okWithin is the time within which requests should succeed at first.
const okWithin = 10 * time.Second

// sayWaits prints, once each, that the API server or requests do not answer from the beginning: it
// notices no outage, or no failures, before they do.
func (r *Recorder) sayWaits(s *cluster.Snapshot, now time.Time) {
	if r.opt.Kept != nil {
		return // the screen shows it
	}
	why := s.Access[cluster.KindNode].Err
	if s.Link.State == cluster.LinkDisconnected {
		why = s.Link.Err
	}
	if r.began.IsZero() && why != "" && !r.saidAPI {
		r.saidAPI = true
		r.opt.Print("lightsout has not seen the cluster yet, and notices no outage before it has: " + why)
	}
	if !r.probing.IsZero() && r.requests.first.IsZero() && now.Sub(r.probing) >= okWithin && !r.saidRequests {
		r.saidRequests = true
		r.opt.Print("no request has succeeded yet: lightsout notices failures only once one has")
	}
}

// seen reports whether a snapshot is complete enough for a judgement: all kinds by which
// an outage shows have been read, or cannot be. Nodes must have been read, unless that is
// forbidden.
func seen(s *cluster.Snapshot) bool {
	return s.Link.State == cluster.LinkLive && !slices.ContainsFunc(judgedBy, func(k cluster.Kind) bool {
		a := s.Access[k]
		return !a.Synced && !a.Forbidden && (a.Err == "" || k == cluster.KindNode)
	})
}
