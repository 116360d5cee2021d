package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lightsout/cluster"
	"lightsout/cluster/place"
	"lightsout/internal/text"
)

// forcedDetach is how long after the deletion of the last pod that uses it the control plane
// detaches a volume from a node that is not Ready and has not unmounted it
// (maxWaitForUnmountDuration of pkg/controller/volume/attachdetach). A pod that hangs in
// Terminating is not deleted.
const forcedDetach = 6 * time.Minute

// detaching states when a volume becomes free that is attached to a lost node.
var detaching = fmt.Sprintf("it detaches when the node returns, %s after somebody deletes the old pod by force, or at once with the taint %s",
	text.Span(forcedDetach), cluster.TaintOutOfService)

// attachLines name the replacements that wait for a volume, and what frees it.
func attachLines(o *place.Outcome) (out []Line) {
	waiting := slices.DeleteFunc(slices.Clone(o.Workloads), func(w place.Workload) bool { return len(w.Attached) == 0 })
	for _, w := range waiting {
		out = append(out, Line{Text: text.Clean(fmt.Sprintf("%s: %s in ContainerCreating: %s", w.Key, w.Stuck.Count("replacement waits", "replacements wait"), Attached(w.Attached)), 400), Of: "workloads that wait for volumes", Warn: true})
	}
	if len(waiting) > 0 {
		out = append(out, Line{Text: "volume of a lost node: " + detaching + "; a drain before detaches it", Warn: true})
	}
	return out
}

// BoundTo returns the claim of a pod whose volume only the pod's node can use: a pod that replaces it waits until
// the node is back. It is empty if there is none that the account can read.
func BoundTo(s *cluster.Snapshot, p *cluster.Pod) string { return place.BoundTo(s, p) }

// Attached states which volumes stay attached to which nodes.
func Attached(all []place.Attachment) string {
	parts := text.Each(all, func(a place.Attachment) string { return "volume " + a.Volume + " stays attached to " + a.Node })
	return strings.Join(text.Few(parts, namesShown, "more"), ", ")
}

// Delayed is the reason why replacements of a workload do not start soon although they fit:
// their volumes stay attached to a lost node. It is empty if there is none.
func (h Hits) Delayed(workload cluster.Key) string {
	if w := h.Place.Of(workload); len(w.Attached) > 0 {
		return Attached(w.Attached) + ": " + detaching
	}
	return ""
}
