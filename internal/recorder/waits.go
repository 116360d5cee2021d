package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// sayUnseen prints, once, why the recorder has not seen the cluster yet.
func (r *Recorder) sayUnseen(s *cluster.Snapshot) {
	why := s.Access[cluster.KindNode].Err
	if s.Link.State == cluster.LinkDisconnected {
		why = s.Link.Err
	}
	if why != "" && !r.saidUnseen {
		r.saidUnseen = true
		r.tell("lightsout has not seen the cluster yet, and notices no outage before it has: " + why)
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
