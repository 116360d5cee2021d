package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"lightsout/cluster"
	"lightsout/internal/text"
)

// zone is one zone as the node lifecycle controller counts it.
type zone struct {
	cluster.ZoneCount
	// partial: it is in the controller's state PartialDisruption.
	partial bool
}

// slowRate is the rate of evictions in a zone that is partially disrupted.
func (z zone) slowRate(set cluster.Settings) float64 {
	if float64(z.Nodes) > set.LargeCluster.Value {
		return set.SecondaryEvictionRate.Value
	}
	return 0
}

// zones gives the state of every zone by name, with the nodes in down counted as
// not ready as well. The rule (ComputeZoneState): no node ready is
// FullDisruption; more than 2 and at least UnhealthyZone of them not ready is
// PartialDisruption.
func zones(s *cluster.Snapshot, down map[string]bool) []zone {
	out := text.Each(s.Zones(), func(z cluster.ZoneCount) zone { return zone{ZoneCount: z} })
	for name, off := range down {
		if n := s.Node(name); off && n != nil && n.Ready == cluster.TriTrue && n.Gone.IsZero() && !n.ExcludeDisruption {
			out[slices.IndexFunc(out, func(z zone) bool { return z.Zone == n.Zone })].NotReady++
		}
	}
	for i := range out {
		z := &out[i]
		z.partial = z.NotReady > 2 && z.NotReady < z.Nodes && float64(z.NotReady)/float64(z.Nodes) >= s.Settings.UnhealthyZone.Value
	}
	slices.SortFunc(out, func(a, b zone) int { return cmp.Compare(a.Zone, b.Zone) })
	return out
}

func allFull(zones []zone) bool {
	return len(zones) > 0 && !slices.ContainsFunc(zones, func(z zone) bool { return z.NotReady < z.Nodes })
}

// zoneSentence describes how the zone rule changes evictions; empty if it changes
// nothing.
func zoneSentence(set cluster.Settings, zones []zone) string {
	if allFull(zones) {
		return "zone rule: no node is ready: the control plane removes its taints and evicts nothing"
	}
	i := slices.IndexFunc(zones, func(z zone) bool { return z.partial })
	if i < 0 {
		return ""
	}
	z, where := zones[i], ""
	if z.Zone != "" {
		where = " in zone " + z.Zone
	}
	out := fmt.Sprintf("zone rule: %d of %d nodes not ready%s (at least %.0f %% and more than 2): ", z.NotReady, z.Nodes, where, 100*set.UnhealthyZone.Value)
	if gap := pause(z.slowRate(set)); gap > 0 {
		return out + "evictions slow down to one node in " + text.Span(gap)
	}
	return out + "only pods of nodes that are tainted already are evicted, the others will NOT move"
}
