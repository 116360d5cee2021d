package cluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Key names a namespaced object. The namespace of a cluster-scoped object is
// empty. Keys are comparable and are what rows and selections are keyed by.
type Key struct {
	Namespace string `json:",omitzero"`
	Name      string `json:",omitzero"`
}

// String gives "namespace/name", or the name alone when there is no namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Kind says what sort of object a Ref points at, in kubectl's singular words.
type Kind string

// The kinds that are watched.
const (
	KindNode          Kind = "node"
	KindPod           Kind = "pod"
	KindDeployment    Kind = "deployment"
	KindReplicaSet    Kind = "replicaset"
	KindLease         Kind = "lease"
	KindEndpointSlice Kind = "endpointslice"
	KindEvent         Kind = "event"
)

// Kinds lists the watched kinds in the order in which they are shown.
var Kinds = []Kind{KindNode, KindLease, KindPod, KindDeployment, KindReplicaSet, KindEndpointSlice, KindEvent}

// Ref points at one object.
type Ref struct {
	Kind Kind
	Key
}

// String gives "kind namespace/name".
func (r Ref) String() string { return fmt.Sprintf("%s %s", r.Kind, r.Key) }

// Change is the aspect of a thing that a Transition is about.
type Change string

// The aspects that can change.
const (
	// ChangeStatus is the word of a node, a pod or a deployment.
	ChangeStatus Change = "status"
	// ChangeBoot: a node has another boot id.
	ChangeBoot Change = "boot"
	// ChangeTaint: a node got a taint, "key:effect" in To, or lost one, in From.
	ChangeTaint Change = "taint"
	// ChangeReady is a pod's Ready condition.
	ChangeReady Change = "ready"
	// ChangeEndpoints is the number of ready endpoints of a service, or on a node.
	ChangeEndpoints Change = "endpoints"
	// ChangeReplicas is how many replicas of a deployment are available.
	ChangeReplicas Change = "replicas"
	// ChangeNode: a node came or went, or a pod was bound to one.
	ChangeNode Change = "node"
	// ChangeCordon: a node may or may not be scheduled to.
	ChangeCordon Change = "cordon"
	// ChangeHeartbeat: a node's heartbeat became overdue or came again.
	ChangeHeartbeat Change = "heartbeat"
	// ChangeEvent is an Event of the cluster: its reason in To, its message in Why.
	ChangeEvent Change = "event"
)

// Words of Transitions that others read.
const (
	HeartbeatOnTime  = "on time"
	HeartbeatOverdue = "overdue"

	WordReady       = "Ready"
	WordNotReady    = "NotReady"
	WordUnknown     = "Unknown"
	WordPending     = "Pending"
	WordRunning     = "Running"
	WordTerminating = "Terminating"
)

// IsNotReady reports whether a node's word says NotReady, whatever stands in
// brackets after it.
func IsNotReady(word string) bool { return strings.HasPrefix(word, WordNotReady) }

// Transition is one observed change of one thing: a node's status, a pod's
// status, a deployment's word, a service's ready endpoints, a taint. None is
// ever dropped or merged. Immutable once made.
type Transition struct {
	// Subject is what changed, Kind in which aspect.
	Subject Ref
	Kind    Change
	// From and To are the words before and after; From is empty for a thing
	// seen for the first time, To is empty for one that is gone.
	From, To string
	// Why is the reason and message of the source, made harmless for a terminal.
	Why string
	// SourceTime is when it happened, where that is known better than by Seen: the
	// time the source itself gives (a condition's lastTransitionTime, a Lease's
	// renewTime, a taint's timeAdded), when a heartbeat became overdue, or when a
	// number began to rise; else zero. Seen is when the watch delivered it.
	SourceTime, Seen time.Time
}

// LinkState says what is known of the way to the API server.
type LinkState int

// Link states.
const (
	// LinkConnecting: nothing has been received yet.
	LinkConnecting LinkState = iota
	// LinkLive: the server answered within the last few seconds.
	LinkLive
	// LinkLost: the server does not answer; everything shown is as old as
	// Link.LastContact says and is being retried for ever.
	LinkLost
)

// String gives one lower-case word: connecting, live, lost.
func (s LinkState) String() string {
	return cmp.Or(map[LinkState]string{LinkLive: "live", LinkLost: "lost"}[s], "connecting")
}

// Link is the state of the connection to the API server.
type Link struct {
	State LinkState
	// LastContact is when the server last sent anything; zero if never. In a
	// Snapshot it is as of when that was made; see Snapshot.Contact.
	LastContact time.Time
	// Err is one sentence on the last failure; empty when live.
	Err string
	// NextTry is when the next attempt is due; zero when live.
	NextTry time.Time
	// Ahead is how much the server's clock is ahead of this machine's, 0 when that
	// is little or not known. In a Snapshot it is as of when that was made; see
	// Snapshot.Ahead.
	Ahead time.Duration `json:",omitzero"`
}

// Access is how far one kind can be read.
type Access struct {
	// Synced: the first full list has arrived.
	Synced bool
	// Forbidden: RBAC refuses it; what is shown of it is "forbidden", never
	// an empty list.
	Forbidden bool
	// Err is one sentence on the last failure; empty when it is being watched.
	Err string
	// Until is up to when what is known of it holds; zero while it is being
	// watched, and when it never was.
	Until time.Time `json:",omitzero"`
}

// Tri is a condition's status.
type Tri int

// Values of a condition's status. TriNone means the condition is not there.
const (
	TriNone Tri = iota
	TriTrue
	TriFalse
	TriUnknown
)

// Taint is a node's taint, trimmed.
type Taint struct {
	Key, Effect string `json:",omitzero"`
	// TimeAdded has a resolution of one second and is set for NoExecute by
	// the node lifecycle controller; zero otherwise.
	TimeAdded time.Time `json:",omitzero"`
}

// Node is a node as its API objects (Node and Lease) tell it. Immutable.
type Node struct {
	Name, UID string `json:",omitzero"`
	// ControlPlane: its labels say that it belongs to the control plane, or a pod of
	// the control plane runs on it.
	ControlPlane bool `json:",omitzero"`
	// Roles are the names of node-role.kubernetes.io/ labels, sorted.
	Roles         []string `json:",omitzero"`
	Unschedulable bool     `json:",omitzero"`
	// Ready is the Ready condition; Reason and Message are its own.
	Ready           Tri    `json:",omitzero"`
	Reason, Message string `json:",omitzero"`
	// ReadySince is the Ready condition's lastTransitionTime (1 s resolution).
	ReadySince time.Time `json:",omitzero"`
	// Renewed and RenewSeen are what Heartbeat gave when this value was made.
	Renewed, RenewSeen time.Time `json:",omitzero"`
	beat               *heartbeat
	// Overdue: a Watcher has concluded that a renewal is missing; it holds until
	// the next one is seen. See Snapshot.Silent.
	Overdue bool `json:",omitzero"`
	// LeaseDuration is the Lease's leaseDurationSeconds; a kubelet renews
	// every quarter of it (pkg/kubelet/kubelet.go).
	LeaseDuration time.Duration `json:",omitzero"`
	// ReadyEndpoints counts the endpoints on it that are ready and serving, over
	// all services that are watched.
	ReadyEndpoints int `json:",omitzero"`
	// Kubelet is what its kubelet told of its own configuration; nil when it
	// has not been asked or did not answer.
	Kubelet *Kubelet `json:",omitzero"`
	BootID  string   `json:",omitzero"`
	// Labels are as Pod.Labels.
	Labels string `json:",omitzero"`
	// Created is when it was added to the cluster.
	Created time.Time `json:",omitzero"`
	// Addresses are the node's InternalIPs and ExternalIPs, in its order.
	Addresses      []string          `json:",omitzero"`
	ProviderID     string            `json:",omitzero"`
	Annotations    map[string]string `json:",omitzero"` // only keys below lightsout.dev/
	Taints         []Taint           `json:",omitzero"`
	KubeletVersion string            `json:",omitzero"`
	OSImage        string            `json:",omitzero"`
	// CPUMilli and MemoryBytes are allocatable; MaxPods is allocatable pods.
	CPUMilli, MemoryBytes, MaxPods int64 `json:",omitzero"`
	// Zone is region/zone from the topology labels; empty when unlabelled.
	Zone string `json:",omitzero"`
	// ExcludeDisruption: labelled node.kubernetes.io/exclude-disruption, so
	// it does not count in the zone rule.
	ExcludeDisruption bool `json:",omitzero"`
	// Changed is when the last Transition of this node was seen.
	Changed time.Time `json:",omitzero"`
	// Gone is when the object was deleted; ended things stay visible a while.
	Gone time.Time `json:",omitzero"`
}

// Pod is a pod, trimmed to what is shown and counted with. Immutable.
type Pod struct {
	Key
	UID, Node string `json:",omitzero"`
	Phase     string `json:",omitzero"`
	// Status is the word in kubectl's STATUS column
	// (pkg/printers/internalversion/printers.go); see Snapshot.PodWord for
	// the word that is shown.
	Status string `json:",omitzero"`
	// ReadyContainers of Containers is kubectl's READY column. It keeps its
	// value when a node dies: nobody updates container statuses then.
	ReadyContainers, Containers int `json:",omitzero"`
	// Ready is the pod's Ready condition, which the control plane turns False
	// when the node goes silent; endpoints follow it.
	Ready       bool      `json:",omitzero"`
	ReadySince  time.Time `json:",omitzero"`
	Restarts    int       `json:",omitzero"`
	RestartedAt time.Time `json:",omitzero"`
	Created     time.Time `json:",omitzero"`
	// Deleting is when its deletion was asked for: the deletionTimestamp less the
	// grace period (1 s resolution); zero when the pod is not being deleted.
	Deleting time.Time `json:",omitzero"`
	IP       string    `json:",omitzero"`
	// Owner is the controlling owner (a ReplicaSet, DaemonSet, StatefulSet, …)
	// and Deployment the deployment behind a ReplicaSet, where known.
	OwnerKind, OwnerName string `json:",omitzero"`
	Deployment           string `json:",omitzero"`
	// Labels are "key=value", joined by commas, in the order of the keys.
	Labels string `json:",omitzero"`
	// Static: a mirror of a static pod (kubernetes.io/config.mirror).
	Static bool `json:",omitzero"`
	// UnreachableFor and NotReadyFor are the tolerationSeconds for the two
	// NoExecute taints of a lost node; negative means tolerated for ever,
	// zero means evicted at once.
	UnreachableFor, NotReadyFor time.Duration `json:",omitzero"`
	// Concurrency is the container concurrency of a Knative revision's
	// queue-proxy (CONTAINER_CONCURRENCY); 0 when there is none or no limit.
	Concurrency int `json:",omitzero"`
	// LocalData: it has an emptyDir, whose contents go with the pod.
	LocalData bool `json:",omitzero"`
	// CPUMilli is the sum of the containers' CPU requests.
	CPUMilli int64 `json:",omitzero"`
	// Ports names the container ports, e.g. 8012 "queue-port"; used to find a
	// metrics port. Sorted by number.
	Ports   []int32   `json:",omitzero"`
	Changed time.Time `json:",omitzero"`
	Gone    time.Time `json:",omitzero"`
}

// Knative is what a deployment's labels, annotations and queue-proxy say of
// the revision behind it.
type Knative struct {
	Service, Revision    string `json:",omitzero"`
	MinScale, MaxScale   int    `json:",omitzero"` // 0: not set
	ContainerConcurrency int    `json:",omitzero"` // 0: unlimited
	TimeoutSeconds       int    `json:",omitzero"` // 0: not told
}

// Deployment is a deployment, trimmed. Immutable.
type Deployment struct {
	Key
	UID string `json:",omitzero"`
	// Replicas is spec.replicas; the others are the status counts.
	Replicas, Total, Updated, ReadyReplicas, Available int `json:",omitzero"`
	// RollingOut: its Progressing condition says that a rollout, which is not its
	// first, has not come to its end.
	RollingOut bool `json:",omitzero"`
	// ProgressFailed: Progressing is False with ProgressDeadlineExceeded.
	ProgressFailed bool `json:",omitzero"`
	MaxUnavailable int  `json:",omitzero"`
	// Labels are as Pod.Labels.
	Labels string `json:",omitzero"`
	// Word is lightsout's own: Running, Scaling, Updating, Down, Stopped, Failed.
	Word    string    `json:",omitzero"`
	Knative *Knative  `json:",omitzero"`
	Changed time.Time `json:",omitzero"`
	Gone    time.Time `json:",omitzero"`
}

// Endpoints sums up a service's endpoint slices. Immutable.
type Endpoints struct {
	Service                            Key       `json:",omitzero"`
	Ready, Serving, Terminating, Total int       `json:",omitzero"`
	Changed                            time.Time `json:",omitzero"`
}
