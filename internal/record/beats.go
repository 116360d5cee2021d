package record

import (
	"cmp"
	"time"

	"lightsout/cluster"
)

// beats knows, by node, the heartbeats that have been written. They go on beside
// the snapshots, and without them a replay would take nodes for silent.
type beats map[string]time.Time

// into adds to a sample the heartbeats of s that it and those before it have not.
func (b beats) into(x *Sample, s *cluster.Snapshot) {
	if s == nil {
		return
	}
	if x.Cluster != nil {
		for _, n := range x.Cluster.Nodes {
			b[n.Name] = n.RenewSeen
		}
	}
	for _, n := range s.Nodes() {
		renewed, seen := n.Heartbeat()
		if seen.Equal(b[n.Name]) {
			continue
		}
		x.Cluster = cmp.Or(x.Cluster, &Cluster{Version: s.Version, At: s.At})
		if x.Cluster.Beats == nil {
			x.Cluster.Beats = map[string]Beat{}
		}
		x.Cluster.Beats[n.Name] = Beat{Renewed: renewed, Seen: seen}
		b[n.Name] = seen
	}
}
