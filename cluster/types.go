package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Key names a namespaced object. The namespace of a cluster-scoped object is
// empty. Keys are comparable and are what rows and selections are keyed by.
type Key struct {
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name,omitzero"`
}

// String gives "namespace/name", or the name alone when there is no namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Kind is the kind of object of a Ref, in kubectl's singular words.
type Kind string

// The kinds that are watched, and KindReplicaSet, which events are about.
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
var Kinds = []Kind{KindNode, KindLease, KindPod, KindDeployment, KindEndpointSlice, KindEvent}

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
	// ChangeTraffic is how a Knative service splits its requests among revisions.
	ChangeTraffic Change = "traffic"
	// ChangeEvent is an Event of the cluster: its reason in To, its message in Why.
	ChangeEvent Change = "event"
)

// Words of Transitions that others read.
const (
	heartbeatOnTime  = "on time"
	heartbeatOverdue = "overdue"

	WordReady    = "Ready"
	WordNotReady = "NotReady"
	WordUnknown  = "Unknown"
	WordRunning  = "Running"
)

// Transition is one observed change of one thing: a node's status, a pod's
// status, a Knative service's traffic, a deployment's word, a service's ready endpoints, a taint. None is
// ever dropped or merged. Immutable once made.
type Transition struct {
	// Subject is what changed, Kind in which aspect.
	Subject Ref
	Change  Change
	// From and To are the words before and after; From is empty for a thing
	// seen for the first time, To is empty for one that is gone.
	From, To string
	// Was and Is classify From and To; Cause is the reason for the change.
	Was, Is Health
	Cause   Cause
	// Why is the reason and message of the source, made harmless for a terminal.
	Why string
	// SourceTime is the time of the change, if a source reports it: the
	// time in the object (a condition's lastTransitionTime, a Lease's
	// renewTime, a taint's timeAdded), when a heartbeat became overdue, or when a
	// number began to rise; else zero.
	SourceTime time.Time
	// When it became so: By is when the watch delivered it, and After is earlier if lightsout was
	// blind then.
	When When
	// Available is how many replicas of a deployment are available after the change, and Replicas
	// how many it should have.
	Available, Replicas int
}

// LinkState is the state of the connection to the API server.
type LinkState int

// Link states.
const (
	// LinkConnecting: nothing has been received yet.
	LinkConnecting LinkState = iota
	// LinkLive: the server answered within the last few seconds.
	LinkLive
	// LinkDisconnected: the server does not answer; everything shown is as old as
	// Link.LastContact says and is being retried for ever.
	LinkDisconnected
)

// String gives one lower-case word: connecting, live, disconnected.
func (s LinkState) String() string {
	return cmp.Or(map[LinkState]string{LinkLive: "live", LinkDisconnected: "disconnected"}[s], "connecting")
}

// Link is the state of the connection to the API server.
type Link struct {
	State LinkState `json:"state"`
	// LastContact is when the server last sent anything; zero if never. In a
	// Snapshot it is as of when that was made; see Snapshot.Contact.
	LastContact time.Time `json:"last_contact"`
	// Err is one sentence on the last failure; empty when live.
	Err string `json:"err"`
	// NextTry is when the next attempt is due; zero when live.
	NextTry time.Time `json:"next_try"`
	// Ahead is how much the server's clock is ahead of this machine's, 0 when that
	// is small or unknown. In a Snapshot it is as of when that was made; see
	// Snapshot.Ahead.
	Ahead time.Duration `json:"ahead,omitzero"`
}

// Access is how far one kind can be read.
type Access struct {
	// Synced: the first full list has arrived.
	Synced bool `json:"synced"`
	// Read is the number of objects that have arrived of the first list; 0 once the
	// list is complete.
	Read int `json:"read,omitzero"`
	// Forbidden: RBAC refuses it; the screen then shows "forbidden", never
	// an empty list.
	Forbidden bool `json:"forbidden"`
	// Err is one sentence on the last failure; empty when it is being watched.
	Err string `json:"err"`
	// Until is up to when its data is valid; zero while it is being
	// watched, and when it never was.
	Until time.Time `json:"until,omitzero"`
}

// Reading describes how much of a kind has arrived: "reading pods (12,400 so far)".
func (a Access) Reading(k Kind) string {
	if a.Read == 0 {
		return "reading " + k.plural()
	}
	return fmt.Sprintf("reading %s (%s so far)", k.plural(), thousands(a.Read))
}

// plural names objects of a kind.
func (k Kind) plural() string {
	if k == KindNeighbour {
		return "pods of other namespaces"
	}
	return string(k) + "s"
}

// thousands writes a number with a comma every three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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
	Key    string `json:"key,omitzero"`
	Effect string `json:"effect,omitzero"`
	// TimeAdded has a resolution of one second and is set for NoExecute by
	// the node lifecycle controller; zero otherwise.
	TimeAdded time.Time `json:"time_added,omitzero"`
	Value     string    `json:"value,omitzero"`
}

// TakesPods reports whether the scheduler may put a pod without tolerations on the node
// once it is Ready: it admits pods at all, and is neither cordoned nor tainted against
// them. The node lifecycle controller removes the taints that it sets for a node's
// conditions by itself.
func (n *Node) TakesPods() bool {
	return n.MaxPods > 0 && !n.Unschedulable && !slices.ContainsFunc(n.Taints, func(t Taint) bool {
		return (t.Effect == "NoSchedule" || t.Effect == "NoExecute") && t.Key != TaintNotReady && t.Key != TaintUnreachable
	})
}

// Node is a node as its API objects (Node and Lease) tell it. Immutable.
type Node struct {
	Name string `json:"name,omitzero"`
	UID  string `json:"uid,omitzero"`
	// ControlPlane: its labels say that it belongs to the control plane, or a pod of
	// the control plane runs on it.
	ControlPlane bool `json:"control_plane,omitzero"`
	// Roles are the names of node-role.kubernetes.io/ labels, sorted.
	Roles         []string `json:"roles,omitzero"`
	Unschedulable bool     `json:"unschedulable,omitzero"`
	// Ready is the Ready condition; Reason and Message are its own.
	Ready   Tri    `json:"ready,omitzero"`
	Reason  string `json:"reason,omitzero"`
	Message string `json:"message,omitzero"`
	// ReadySince is the Ready condition's lastTransitionTime (1 s resolution).
	ReadySince time.Time `json:"ready_since,omitzero"`
	// Renewed and RenewSeen are what Heartbeat gave when this value was made.
	Renewed   time.Time `json:"renewed,omitzero"`
	RenewSeen time.Time `json:"renew_seen,omitzero"`
	beat      *heartbeat
	// Overdue: a Watcher has concluded that a renewal is missing; it holds until
	// the next one is seen. See Snapshot.Silent.
	Overdue bool `json:"overdue,omitzero"`
	// LeaseDuration is the Lease's leaseDurationSeconds; a kubelet renews
	// every quarter of it (pkg/kubelet/kubelet.go).
	LeaseDuration time.Duration `json:"lease_duration,omitzero"`
	// ReadyEndpoints counts the endpoints on it whose pods are ready, over all services
	// that are watched.
	ReadyEndpoints int `json:"ready_endpoints,omitzero"`
	// Kubelet is the configuration that the node's kubelet reports; nil if lightsout
	// has not asked or the kubelet did not answer.
	Kubelet *Kubelet `json:"kubelet,omitzero"`
	BootID  string   `json:"boot_id,omitzero"`
	// SystemUUID is the UUID of the machine's firmware: the same after each boot, and
	// another one on another machine. It identifies hardware, so no record has it.
	SystemUUID string `json:"-"`
	// Labels are as Pod.Labels.
	Labels string `json:"labels,omitzero"`
	// Created is when it was added to the cluster.
	Created time.Time `json:"created,omitzero"`
	// Addresses are the node's InternalIPs, then its ExternalIPs, each in its order.
	Addresses      []string          `json:"addresses,omitzero"`
	ProviderID     string            `json:"provider_id,omitzero"`
	Annotations    map[string]string `json:"annotations,omitzero"` // only keys below lightsout.dev/
	Taints         []Taint           `json:"taints,omitzero"`
	KubeletVersion string            `json:"kubelet_version,omitzero"`
	OSImage        string            `json:"os_image,omitzero"`
	// CPUMilli and MemoryBytes are allocatable; MaxPods is allocatable pods.
	CPUMilli    int64 `json:"cpu_milli,omitzero"`
	MemoryBytes int64 `json:"memory_bytes,omitzero"`
	MaxPods     int64 `json:"max_pods,omitzero"`
	// Resources are its other allocatable resources:
	// "ephemeral-storage=100,nvidia.com/gpu=8".
	Resources string `json:"resources,omitzero"`
	// Zone is region/zone from the topology labels; empty when unlabelled.
	Zone string `json:"zone,omitzero"`
	// ExcludeDisruption: labelled node.kubernetes.io/exclude-disruption, so
	// it does not count in the zone rule.
	ExcludeDisruption bool `json:"exclude_disruption,omitzero"`
	// Changed is when the last Transition of this node was seen, and StatusChanged the last one of its status.
	Changed       time.Time `json:"changed,omitzero"`
	StatusChanged time.Time `json:"-"`
	// Gone is when the object was deleted; ended things stay visible a while.
	Gone time.Time `json:"gone,omitzero"`
}

// Pod is a pod, trimmed to the fields that lightsout uses. Immutable.
type Pod struct {
	Key
	UID   string `json:"uid,omitzero"`
	Node  string `json:"node,omitzero"`
	Phase string `json:"phase,omitzero"`
	// Status is the word in kubectl's STATUS column
	// (pkg/printers/internalversion/printers.go); see Snapshot.PodWord for
	// the word that is shown.
	Status string `json:"status,omitzero"`
	// ReadyContainers of Containers is kubectl's READY column. It keeps its
	// value when a node dies: nobody updates container statuses then.
	ReadyContainers int `json:"ready_containers,omitzero"`
	Containers      int `json:"containers,omitzero"`
	// Ready is the pod's Ready condition, which the control plane turns False
	// when the node goes silent; endpoints follow it.
	Ready       bool      `json:"ready,omitzero"`
	ReadySince  time.Time `json:"ready_since,omitzero"`
	Restarts    int       `json:"restarts,omitzero"`
	RestartedAt time.Time `json:"restarted_at,omitzero"`
	Created     time.Time `json:"created,omitzero"`
	// Deleting is when its deletion was asked for: the deletionTimestamp less the
	// grace period (1 s resolution); zero when the pod is not being deleted.
	Deleting time.Time `json:"deleting,omitzero"`
	// Finalizers are the names of those that hold it while it is being deleted, joined by commas.
	Finalizers string `json:"finalizers,omitzero"`
	// Evicted: the control plane deletes it because of a taint of its node, or because the
	// node is gone. See Snapshot.ReportsEvictions.
	Evicted bool   `json:"evicted,omitzero"`
	IP      string `json:"ip,omitzero"`
	// Unplaced is the scheduler's message on why no node takes it, without preemption.
	Unplaced string `json:"unplaced,omitzero"`
	// Owner is the controlling owner (a ReplicaSet, DaemonSet, StatefulSet, …)
	// and Deployment the deployment behind a ReplicaSet, where known.
	OwnerKind  string `json:"owner_kind,omitzero"`
	OwnerName  string `json:"owner_name,omitzero"`
	Deployment string `json:"deployment,omitzero"`
	// Labels are "key=value", joined by commas, in the order of the keys.
	Labels string `json:"labels,omitzero"`
	// Static: a mirror of a static pod (kubernetes.io/config.mirror).
	Static bool `json:"static,omitzero"`
	// UnreachableFor and NotReadyFor are the tolerationSeconds for the two
	// NoExecute taints of a lost node; negative means tolerated for ever,
	// zero means evicted at once.
	UnreachableFor time.Duration `json:"unreachable_for,omitzero"`
	NotReadyFor    time.Duration `json:"not_ready_for,omitzero"`
	// Concurrency is the container concurrency of a Knative revision's
	// queue-proxy (CONTAINER_CONCURRENCY); 0 when there is none or no limit.
	Concurrency int `json:"concurrency,omitzero"`
	// LocalData: it has an emptyDir, whose contents go with the pod.
	LocalData bool `json:"local_data,omitzero"`
	// CPUMilli is the sum of the containers' CPU requests.
	CPUMilli int64 `json:"cpu_milli,omitzero"`
	// Ports are the container ports, sorted; records keep them.
	Ports []int32 `json:"ports,omitzero"`
	// Spec decides which node the pod gets. Records leave it out.
	Spec    Spec      `json:"-"`
	Changed time.Time `json:"changed,omitzero"`
	Gone    time.Time `json:"gone,omitzero"`
}

// Deployment is a deployment, trimmed. Immutable.
type Deployment struct {
	Key
	UID string `json:"uid,omitzero"`
	// Replicas is spec.replicas; the others are the status counts.
	Replicas      int `json:"replicas,omitzero"`
	Total         int `json:"total,omitzero"`
	Updated       int `json:"updated,omitzero"`
	ReadyReplicas int `json:"ready_replicas,omitzero"`
	Available     int `json:"available,omitzero"`
	// Behind: the counts belong to an earlier generation of the spec; the controller
	// has not processed the current one yet.
	Behind bool `json:"behind,omitzero"`
	// RollingOut: according to its Progressing condition a rollout, which is not its
	// first, is not complete.
	RollingOut bool `json:"rolling_out,omitzero"`
	// ProgressFailed: Progressing is False with ProgressDeadlineExceeded.
	ProgressFailed bool `json:"progress_failed,omitzero"`
	MaxUnavailable int  `json:"max_unavailable,omitzero"`
	// Labels are as Pod.Labels.
	Labels string `json:"labels,omitzero"`
	// Word is lightsout's own: Running, Partly, Scaling, Updating, Down, Stopped, Failed.
	Word    string    `json:"word,omitzero"`
	Knative *Knative  `json:"knative,omitzero"`
	Changed time.Time `json:"changed,omitzero"`
	Gone    time.Time `json:"gone,omitzero"`
}

// Endpoints sums up a service's endpoint slices. Immutable.
type Endpoints struct {
	Service     Key       `json:"service,omitzero"`
	Ready       int       `json:"ready,omitzero"`
	Terminating int       `json:"terminating,omitzero"`
	Total       int       `json:"total,omitzero"`
	Changed     time.Time `json:"changed,omitzero"`
}
