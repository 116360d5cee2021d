package recorder

import (
	"strings"
	"testing"

	"lightsout/cluster"
)

// The recorder prints what it may not read, or could not yet; without the nodes it does not claim to
// notice outages, unless they are forbidden.
func TestTheRecorderPrintsWhatItDoesNotSee(t *testing.T) {
	t.Parallel()
	broken := cluster.Access{Err: "10.0.0.10:6443 keeps no connection open"}
	for name, tc := range map[string]struct {
		unread cluster.Kind
		access cluster.Access
		want   string // the only line
	}{
		"all":             {"", cluster.Access{}, "the cluster is in view"},
		"nodes forbidden": {cluster.KindNode, cluster.Access{Forbidden: true}, "has not read these kinds, and notices no outage by them: " + string(cluster.KindNode) + " (forbidden)"},
		"nodes unread":    {cluster.KindNode, broken, "has not seen the cluster yet, and notices no outage before it has: " + broken.Err},
		"pods unread":     {cluster.KindPod, broken, "has not read these kinds, and notices no outage by them: " + string(cluster.KindPod) + " (" + broken.Err},
		"pods to come":    {cluster.KindPod, cluster.Access{}, ""},
	} {
		s := newScreenOf(t, 1<<20, func(o *Options) { o.Trial = nil })
		s.change = func(c *cluster.Contents) {
			if tc.unread != "" {
				c.Access[tc.unread] = tc.access
			}
		}
		s.look(3)
		if said := strings.Join(s.printed, "\n"); !strings.Contains(said, tc.want) || strings.Contains(said, "\n") || tc.want == "" && said != "" {
			t.Errorf("%s: printed %q", name, said)
		}
		s.End()
	}
}
