package report

import (
	"slices"
	"strings"

	"lightsout/cluster"
)

// attachFailed is the reason of the attach/detach controller's events about a volume that it cannot
// attach, and multiAttach begins their message if the volume is still attached to another node.
const (
	attachFailed = "FailedAttachVolume"
	multiAttach  = "Multi-Attach error for volume "
)

// stillAttached is what an event says last of a volume for which pods waited that was still attached to
// another node: pods of one deployment or, with an empty name, any. It is empty if there is none.
func (c *causes) stillAttached(deployment string) string {
	for _, e := range slices.Backward(c.r.Events) {
		pod := cluster.Key{Namespace: e.Namespace, Name: e.Subject}.String()
		if e.Change == cluster.ChangeEvent && e.To == attachFailed && strings.HasPrefix(e.Why, multiAttach) &&
			(deployment == "" || strings.HasPrefix(pod, deployment+"-")) {
			return clean(pod + ": " + e.Why)
		}
	}
	return ""
}

// attachAdvice is what to do about such volumes.
const attachAdvice = "A volume that one node at a time can attach stays attached to a silent node while the old pod hangs there: a drain before, or the taint " +
	cluster.TaintOutOfService + " on a node whose machine is certainly off, frees it at once."
