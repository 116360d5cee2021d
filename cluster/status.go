package cluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Health classifies a status by its effect on users, whatever its text. The zero value
// is unknown.
type Health string

// Values of Health.
const (
	HealthGood     Health = "good"
	HealthBad      Health = "bad"
	HealthChanging Health = "changing" // somebody has requested another status, and the object is on its way there
)

// Cause is the reason for a Transition, where the objects contain one. The zero value
// is unknown.
type Cause string

// Values of Cause.
const (
	// CauseShutdown: the node's kubelet reports its own shutdown.
	CauseShutdown Cause = "shutdown"
	// CauseNodeNotReady: the pod's node is not Ready. Where the control plane does not report
	// evictions (see Snapshot.ReportsEvictions), such a pod that is deleted counts as evicted.
	CauseNodeNotReady Cause = "node_not_ready"
	// CauseEvicted: the control plane deletes the pod because its node is not Ready.
	CauseEvicted Cause = "evicted"
	// CauseDeleted: the object was deleted.
	CauseDeleted Cause = "deleted"
)

// Evicts reports whether a pod that is deleted for this reason is evicted.
func (c Cause) Evicts() bool { return c == CauseEvicted || c == CauseNodeNotReady }

func (n *Node) health() Health { return conditionHealth(n.Ready == TriTrue) }

// quietStatuses are kubectl's statuses of a pod that neither serves nor fails.
var quietStatuses = map[string]bool{
	"Pending": true, "Succeeded": true, "Completed": true, "ContainerCreating": true, "PodInitializing": true,
	"SchedulingGated": true, "NotReady": true, "Terminated": true,
}

func (p *Pod) health() Health {
	status := strings.TrimPrefix(p.Status, "Init:")
	switch {
	case !p.Deleting.IsZero():
		return HealthChanging
	case p.Status == WordRunning:
		return HealthGood
	case quietStatuses[status], status != p.Status && status != "" && status[0] >= '0' && status[0] <= '9':
		return ""
	}
	return HealthBad
}

// conditionHealth returns the health of a condition.
func conditionHealth(ok bool) Health {
	if ok {
		return HealthGood
	}
	return HealthBad
}

// deploymentHealths maps the statuses of a deployment.
var deploymentHealths = map[string]Health{
	"Running": HealthGood, "Down": HealthBad, "Failed": HealthBad, "Scaling": HealthChanging, WordPartly: HealthChanging,
}

// eventHealths maps the types of Events of the cluster.
var eventHealths = map[string]Health{corev1.EventTypeWarning: HealthBad}
