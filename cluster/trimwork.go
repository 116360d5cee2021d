package cluster

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func trimDeployment(d *appsv1.Deployment) *Deployment {
	out := &Deployment{
		Key: Key{word(d.Namespace), word(d.Name)}, UID: harmless(string(d.UID)),
		Replicas: int(ptr.Deref(d.Spec.Replicas, 1)), Total: int(d.Status.Replicas), Updated: int(d.Status.UpdatedReplicas),
		ReadyReplicas: int(d.Status.ReadyReplicas), Available: int(d.Status.AvailableReplicas), Labels: labels(d.Labels),
		Behind: d.Status.ObservedGeneration < d.Generation,
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			out.ProgressFailed = c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
			// The reason becomes NewReplicaSetAvailable when the rollout is complete,
			// and stays so whatever becomes of the pods afterwards
			// (pkg/controller/deployment/progress.go).
			out.RollingOut = rolloutReasons[c.Reason] && d.Annotations["deployment.kubernetes.io/revision"] != "1"
		}
	}
	if ru := d.Spec.Strategy.RollingUpdate; ru != nil && ru.MaxUnavailable != nil {
		if n, err := intstr.GetScaledValueFromIntOrPercent(ru.MaxUnavailable, out.Replicas, false); err == nil {
			out.MaxUnavailable = n
		}
	} else if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		out.MaxUnavailable = out.Replicas
	}
	out.Knative = knativeOf(d)
	out.Word = deploymentWord(out)
	return out
}

// rolloutReasons are those of the Progressing condition while a rollout runs.
var rolloutReasons = map[string]bool{"NewReplicaSetCreated": true, "FoundNewReplicaSet": true, "ReplicaSetUpdated": true}

const (
	queueProxy      = "queue-proxy"
	knativeService  = "serving.knative.dev/service"
	knativeRevision = "serving.knative.dev/revision"
)

func knativeOf(d *appsv1.Deployment) *Knative {
	// Knative's annotations have had two spellings; both are still accepted.
	scale := func(of string) int {
		const prefix = "autoscaling.knative.dev/"
		return cmp.Or(natural(d.Annotations[prefix+of+"-scale"]), natural(d.Annotations[prefix+of+"Scale"]))
	}
	k := &Knative{
		Service: word(d.Labels[knativeService]), Revision: word(d.Labels[knativeRevision]),
		MinScale: scale("min"), MaxScale: scale("max"),
	}
	if k.Revision == "" {
		return nil
	}
	for i := range d.Spec.Template.Spec.Containers {
		if c := &d.Spec.Template.Spec.Containers[i]; c.Name == queueProxy {
			k.ContainerConcurrency = envInt(c.Env, "CONTAINER_CONCURRENCY")
			k.TimeoutSeconds = envInt(c.Env, "REVISION_TIMEOUT_SECONDS")
		}
	}
	return k
}

func envInt(env []corev1.EnvVar, name string) int {
	for _, e := range env {
		if e.Name == name {
			return natural(e.Value)
		}
	}
	return 0
}

// natural reads a number; 0 for anything that is not one up to a million.
func natural(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1e6 {
		return 0
	}
	return n
}

// slice is an endpoint slice, trimmed to the state of its endpoints.
type slice struct {
	name, service Key
	endpoints     []endpoint
}

// endpoint is one of a slice. Ready: its pod is ready, too: where a Service has
// publishNotReadyAddresses, the condition ready is true for each endpoint.
type endpoint struct {
	// id is the same in all slices of the service that have the endpoint, of either
	// address family.
	id, node           string
	ready, terminating bool
}

func trimSlice(es *discoveryv1.EndpointSlice) *slice {
	service := es.Labels[discoveryv1.LabelServiceName]
	if service == "" {
		return nil
	}
	ns := word(es.Namespace)
	out := &slice{name: Key{ns, nameOf(es.Name)}, service: Key{ns, word(service)}, endpoints: make([]endpoint, len(es.Endpoints))}
	for i := range es.Endpoints {
		e := &es.Endpoints[i]
		// A condition that is not told counts as ready, and serving as ready is
		// (discovery/v1, EndpointConditions).
		ready := ptr.Deref(e.Conditions.Ready, true)
		out.endpoints[i] = endpoint{
			id: harmless(strings.Join(e.Addresses, ",")), node: word(ptr.Deref(e.NodeName, "")),
			ready: ready && ptr.Deref(e.Conditions.Serving, ready), terminating: ptr.Deref(e.Conditions.Terminating, false),
		}
		if of := e.TargetRef; of != nil {
			out.endpoints[i].id = harmless(string(of.UID) + "/" + of.Name)
		}
	}
	return out
}

// component is a pod of the control plane, trimmed to where it runs and what
// the flags it was started with say.
type component struct {
	pod, node string
	settings  Settings
}

func trimComponent(p *corev1.Pod) *component {
	if p.DeletionTimestamp != nil {
		return nil
	}
	out := &component{pod: nameOf(p.Name), node: word(p.Spec.NodeName)}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if c.Name == controllerManager || c.Name == apiServer {
			args := append(append([]string(nil), c.Command...), c.Args...)
			out.settings = out.settings.or(settingsFromArgs(c.Name, args))
		}
	}
	return out
}

// clusterEvent is an Event of Kubernetes that is worth a Transition.
type clusterEvent struct {
	uid             string
	subject         Ref
	reason, message string
	health          Health
	count           int
	at              time.Time
}

// notable are the events' reasons that tell something about an outage.
var notable = map[string]bool{
	// about nodes
	"NodeNotReady": true, "NodeReady": true, "NodeNotSchedulable": true, "NodeSchedulable": true,
	"Rebooted": true, "Shutdown": true, "Starting": true, "RegisteredNode": true, "RemovingNode": true,
	"DeletingNode": true, "NodeShutdown": true,
	// about pods
	"TaintManagerEviction": true, "Killing": true, "FailedScheduling": true, "Evicted": true, "Preempted": true,
	"Preempting": true, "BackOff": true, "Failed": true, "Unhealthy": true, "FailedMount": true,
	"FailedAttachVolume": true, "SuccessfulAttachVolume": true, "FailedCreatePodSandBox": true, "FailedKillPod": true, "NodeAffinity": true,
	// about what owns them
	"FailedCreate": true, "ScalingReplicaSet": true, "ProgressDeadlineExceeded": true,
}

func trimEvent(e *corev1.Event) *clusterEvent {
	if !notable[e.Reason] {
		return nil
	}
	out := &clusterEvent{uid: string(e.UID), reason: word(e.Reason), message: harmless(e.Message), health: eventHealths[e.Type]}
	out.at, out.count = lastOf(e)
	kind := cmp.Or(eventKinds[e.InvolvedObject.Kind], KindEvent)
	out.subject = Ref{kind, Key{word(e.InvolvedObject.Namespace), nameOf(e.InvolvedObject.Name)}}
	return out
}

var eventKinds = map[string]Kind{"Node": KindNode, "Pod": KindPod, "Deployment": KindDeployment, "ReplicaSet": KindReplicaSet}

// lastOf is when an event happened last, and how often it has.
func lastOf(e *corev1.Event) (at time.Time, count int) {
	count = int(e.Count)
	if s := e.Series; s != nil {
		at, count = moment(s.LastObservedTime.Time), int(s.Count)
	}
	return cmp.Or(at, moment(e.LastTimestamp.Time), moment(e.EventTime.Time), moment(e.FirstTimestamp.Time), moment(e.CreationTimestamp.Time)), count
}
