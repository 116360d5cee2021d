package recorder

import (
	"cmp"
	"fmt"
	"strings"

	"lightsout/cluster"
)

// judgedBy are the kinds by which an outage shows.
var judgedBy = []cluster.Kind{cluster.KindNode, cluster.KindLease, cluster.KindPod, cluster.KindEndpointSlice}

// unread are the kinds of judgedBy that a snapshot does not have, and why. wait: one of them may
// come, so that the snapshot is not complete enough for a judgement. Without nodes, unless they are
// forbidden, none is.
func unread(s *cluster.Snapshot) (kinds []string, wait bool) {
	wait = s.Link.State != cluster.LinkLive
	for _, k := range judgedBy {
		if a := s.Access[k]; !a.Synced {
			kinds = append(kinds, fmt.Sprintf("%s (%s)", k, cmp.Or(a.Err, "forbidden")))
			wait = wait || !a.Forbidden && (a.Err == "" || k == cluster.KindNode)
		}
	}
	return kinds, wait
}

// sees reports whether the recorder begins with a snapshot, the first that is complete enough. It
// prints what the recorder does not see, and once why it waits.
func (r *Recorder) sees(s *cluster.Snapshot) bool {
	kinds, wait := unread(s)
	if wait {
		why := s.Access[cluster.KindNode].Err
		if s.Link.State == cluster.LinkDisconnected {
			why = s.Link.Err
		}
		if why != "" && !r.saidUnseen {
			r.saidUnseen = true
			r.tell("lightsout has not seen the cluster yet, and notices no outage before it has: " + why)
		}
		return false
	}
	if len(kinds) > 0 {
		r.tell("lightsout has not read these kinds, and notices no outage by them: " + strings.Join(kinds, ", ") + "; lightsout check tests the rights")
	} else {
		r.tell("the cluster is in view: outages are noticed from now on")
	}
	return true
}
