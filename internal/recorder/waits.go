package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
)

// judgedBy are the kinds by which an outage shows.
var judgedBy = []cluster.Kind{cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindEndpointSlice}

// inView is the sentence about the first complete snapshot.
func inView(s *cluster.Snapshot) string {
	var unread []string
	for _, k := range judgedBy {
		if a := s.Access[k]; !a.Synced {
			unread = append(unread, fmt.Sprintf("%s (%s)", k, cmp.Or(a.Err, "forbidden")))
		}
	}
	if len(unread) > 0 {
		return "lightsout has not read these kinds, and notices no outage by them: " + strings.Join(unread, ", ") + "; lightsout check tests the rights"
	}
	return "the cluster is in view: outages are noticed from now on"
}

// okWithin is the time within which requests should succeed at first.
const okWithin = 10 * time.Second

// sayWaits prints, once each, that the API server or requests do not answer from the beginning: it
// notices no outage, or no failures, before they do.
func (r *Recorder) sayWaits(s *cluster.Snapshot, now time.Time) {
	why := s.Access[cluster.KindNode].Err
	if s.Link.State == cluster.LinkDisconnected {
		why = s.Link.Err
	}
	if r.began.IsZero() && why != "" && !r.saidAPI {
		r.saidAPI = true
		r.tell("lightsout has not seen the cluster yet, and notices no outage before it has: " + why)
	}
	if !r.probing.IsZero() && r.requests.first.IsZero() && now.Sub(r.probing) >= okWithin && !r.saidRequests {
		r.saidRequests = true
		r.tell("no request has succeeded yet: lightsout notices failures only once one has")
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
