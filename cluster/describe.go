package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"lightsout/internal/text"
)

// Kinds that can be described, beside those of Kinds.
const (
	KindRevision       Kind = "revision"        // Knative's
	KindKnativeService Kind = "knative service" // Knative's
	KindStatefulSet    Kind = "statefulset"
	KindDaemonSet      Kind = "daemonset"
	KindJob            Kind = "job"
	KindService        Kind = "service"
)

// resource is where the objects of a kind are.
type resource struct {
	apiVersion, plural, kind string
}

// of addresses q to these objects of a namespace; empty: of all.
func (r resource) of(q *rest.Request, namespace string) *rest.Request {
	root := "/apis/"
	if r.apiVersion == "v1" {
		root = "/api/"
	}
	return q.MaxRetries(0).AbsPath(root+r.apiVersion).NamespaceIfScoped(namespace, namespace != "").Resource(r.plural)
}

// resources are where the objects are.
var resources = map[Kind]resource{
	KindNode:           {"v1", "nodes", "Node"},
	KindPod:            {"v1", "pods", "Pod"},
	KindDeployment:     {"apps/v1", "deployments", "Deployment"},
	KindReplicaSet:     {"apps/v1", "replicasets", "ReplicaSet"},
	KindStatefulSet:    {"apps/v1", "statefulsets", "StatefulSet"},
	KindDaemonSet:      {"apps/v1", "daemonsets", "DaemonSet"},
	KindJob:            {"batch/v1", "jobs", "Job"},
	KindService:        {"v1", "services", "Service"},
	KindNamespace:      {"v1", "namespaces", "Namespace"},
	KindVolume:         {"v1", "persistentvolumes", "PersistentVolume"},
	KindClaim:          {"v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
	KindQuota:          {"v1", "resourcequotas", "ResourceQuota"},
	KindStorageClass:   {"storage.k8s.io/v1", "storageclasses", "StorageClass"},
	KindCSIDriver:      {"storage.k8s.io/v1", "csidrivers", "CSIDriver"},
	KindBudget:         {"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"},
	KindLease:          {"coordination.k8s.io/v1", "leases", "Lease"},
	KindEndpointSlice:  {"discovery.k8s.io/v1", "endpointslices", "EndpointSlice"},
	KindRevision:       {"serving.knative.dev/v1", "revisions", "Revision"},
	KindKnativeService: {"serving.knative.dev/v1", "services", "Service"},
}

// events are watched, and belong to the object described.
var events = resource{"v1", "events", "Event"}

// Description is everything that the API server reports about one object at the time of
// the request. Its texts are safe for a terminal. Immutable.
type Description struct {
	// Owner is the object that controls it, where that can be described; the
	// zero Ref if there is none.
	Owner      Ref
	Conditions []Condition
	// Containers are those of a pod, or of the pods that it makes.
	Containers []Container
	// Events are the newest of the events on it, oldest first; EventsErr is the reason,
	// in one sentence, why they are unavailable.
	Events    []ObjectEvent
	EventsErr string
	// Services are those that select the pods of it; ServicesErr is the reason, in one
	// sentence, why they are unknown.
	Services    []Service
	ServicesErr string
	// YAML is the object, line by line, without what only the server needs.
	YAML []string
}

// Condition is one of an object's conditions.
type Condition struct {
	Type, Status, Reason, Message string
	Since                         time.Time
}

// Container is a container of a pod, or of a pod template (then only its name,
// image, requests and limits are known).
type Container struct {
	Name, Image string
	// Init: it runs before the others.
	Init  bool
	Ready bool
	// State is "running", "waiting" or "terminated"; Reason and Message are the
	// state's own. Since is when the state began.
	State, Reason, Message string
	Since                  time.Time
	// Last describes how it last ended; empty if it never did.
	Last     string
	Restarts int
	// Requests and Limits are as "cpu 500m, memory 1Gi".
	Requests, Limits string
}

// ObjectEvent is an event of the cluster on one object.
type ObjectEvent struct {
	At              time.Time
	Warning         bool
	Reason, Message string
	Count           int
}

const (
	yamlLines     = 5000
	describeEvent = 20
)

// described holds the fields read of an object of any kind.
type described struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		corev1.PodSpec
		Template corev1.PodTemplateSpec
	}
	Status struct {
		Conditions                               []metav1.Condition
		ContainerStatuses, InitContainerStatuses []corev1.ContainerStatus
	}
}

// Describe reads an object and the events on it, by list, which is the right
// that watching it needs anyway.
func (c *Client) Describe(ctx context.Context, ref Ref) (*Description, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r, ok := c.resourceOf(ref.Kind)
	if !ok {
		return nil, fmt.Errorf("a %s has no details", ref.Kind)
	}
	raw, err := c.listed(ctx, r, ref.Namespace, "metadata.name="+ref.Name)
	switch {
	case err != nil:
		return nil, sentence(fmt.Sprintf("%s can't be read: %s", ref, c.why(ctx, err, "list on "+r.plural, "the cluster has no "+r.plural)), err)
	case len(raw) == 0:
		return nil, fmt.Errorf("%s is no longer there", harmless(ref.String()))
	}
	var o described
	lines, err := yamlOf(raw[0], r)
	if err = cmp.Or(json.Unmarshal(raw[0], &o), err); err != nil {
		return nil, sentence(fmt.Sprintf("%s can't be read: lightsout cannot parse the answer", ref), err)
	}
	d := &Description{Owner: ownerOf(&o, ref), Containers: containersOf(&o), YAML: lines}
	d.Conditions = text.Each(o.Status.Conditions, func(c metav1.Condition) Condition {
		return Condition{harmless(c.Type), harmless(string(c.Status)), harmless(c.Reason), harmless(c.Message), moment(c.LastTransitionTime.Time)}
	})
	d.Events, d.EventsErr = c.eventsOn(ctx, r, &o)
	d.Services, d.ServicesErr = c.servicesOf(ctx, ref.Kind, &o)
	return d, nil
}

// listed gives the objects of a kind that a field selector leaves, as JSON.
func (c *Client) listed(ctx context.Context, r resource, namespace, fields string) ([]json.RawMessage, error) {
	var list struct{ Items []json.RawMessage }
	err := fetch(ctx, r.of(c.get(), namespace).Param("fieldSelector", fields), "application/json", &list)
	return list.Items, err
}

// eventsOn reads the events on an object, oldest first.
func (c *Client) eventsOn(ctx context.Context, r resource, o *described) (out []ObjectEvent, why string) {
	fields := "involvedObject.name=" + o.Name + ",involvedObject.kind=" + r.kind
	raw, err := c.listed(ctx, events, o.Namespace, fields)
	if err != nil {
		return nil, harmless(c.why(ctx, err, "list on events", ""))
	}
	for _, item := range raw {
		var e corev1.Event
		// A node's events are known by its name alone: its kubelet has no other uid.
		if json.Unmarshal(item, &e) != nil || r.kind != "Node" && e.InvolvedObject.UID != "" && e.InvolvedObject.UID != o.UID {
			continue
		}
		at, count := lastOf(&e)
		out = append(out, ObjectEvent{At: at, Warning: e.Type == corev1.EventTypeWarning, Reason: harmless(e.Reason), Message: harmless(e.Message), Count: max(1, count)})
	}
	slices.SortStableFunc(out, func(a, b ObjectEvent) int { return a.At.Compare(b.At) })
	return out[max(0, len(out)-describeEvent):], ""
}

// ownerOf finds what controls an object. Knative's labels say it where the
// owner is not written down.
func ownerOf(o *described, ref Ref) Ref {
	beside := func(kind Kind, name string) Ref { return Ref{kind, Key{ref.Namespace, nameOf(name)}} }
	if ref.Kind == KindDeployment && o.Labels[knativeRevision] != "" {
		return beside(KindRevision, o.Labels[knativeRevision])
	}
	if ref.Kind == KindRevision && o.Labels[knativeService] != "" {
		return beside(KindKnativeService, o.Labels[knativeService])
	}
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return Ref{}
	}
	for kind, r := range resources {
		if r.kind == owner.Kind && r.apiVersion == owner.APIVersion {
			if kind == KindNode { // a static pod's
				return Ref{KindNode, Key{Name: nameOf(owner.Name)}}
			}
			return beside(kind, owner.Name)
		}
	}
	return Ref{}
}

func containersOf(o *described) (out []Container) {
	spec := o.Spec.PodSpec
	if len(spec.Containers) == 0 {
		spec = o.Spec.Template.Spec
	}
	add := func(all []corev1.Container, statuses []corev1.ContainerStatus, first bool) {
		for _, c := range all {
			v := Container{Name: nameOf(c.Name), Image: harmless(c.Image), Init: first,
				Requests: amounts(c.Resources.Requests), Limits: amounts(c.Resources.Limits)}
			for i := range statuses {
				if statuses[i].Name == c.Name {
					v.take(&statuses[i])
				}
			}
			out = append(out, v)
		}
	}
	add(spec.InitContainers, o.Status.InitContainerStatuses, true)
	add(spec.Containers, o.Status.ContainerStatuses, false)
	return out
}

// take adds a container's status.
func (v *Container) take(s *corev1.ContainerStatus) {
	v.Ready, v.Restarts = s.Ready, int(s.RestartCount)
	switch {
	case s.State.Running != nil:
		v.State, v.Since = "running", moment(s.State.Running.StartedAt.Time)
	case s.State.Waiting != nil:
		v.State, v.Reason, v.Message = "waiting", harmless(s.State.Waiting.Reason), harmless(s.State.Waiting.Message)
	case s.State.Terminated != nil:
		v.State, v.Reason, v.Message = "terminated", endedAs(s.State.Terminated), harmless(s.State.Terminated.Message)
		v.Since = moment(s.State.Terminated.FinishedAt.Time)
	}
	if t := s.LastTerminationState.Terminated; t != nil {
		v.Last = endedAs(t) + " at " + t.FinishedAt.Local().Format("2006-01-02 15:04:05")
	}
}

func endedAs(t *corev1.ContainerStateTerminated) string {
	return strings.TrimSpace(fmt.Sprintf("%s (exit code %d)", harmless(t.Reason), t.ExitCode))
}

// amounts writes resources in the order of their names.
func amounts(list corev1.ResourceList) string {
	var out []string
	for name, q := range list {
		out = append(out, harmless(string(name)+" "+q.String()))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// confidential are names of variables whose values are not shown.
var confidential = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`)

// yamlOf writes an object as YAML, without what only the server needs and
// without the values of variables that may be secrets.
func yamlOf(raw []byte, r resource) ([]string, error) {
	var o map[string]any
	if err := yaml.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	o["apiVersion"], o["kind"] = r.apiVersion, r.kind // items of a list have none
	if meta, ok := o["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		if notes, ok := meta["annotations"].(map[string]any); ok {
			delete(notes, corev1.LastAppliedConfigAnnotation) // the same once more
		}
	}
	hideSecrets(o)
	if r.full() == "secrets" {
		hideValues(o)
	}
	data, err := yaml.Marshal(o)
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) > yamlLines {
		lines = append(lines[:yamlLines], fmt.Sprintf("# %d more lines", len(lines)-yamlLines))
	}
	return text.Each(lines, text.Cells), err
}

// hideValues hides everything of a Secret but its names, keys and type: its annotations may
// repeat its data.
func hideValues(secret map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		values, _ := secret[field].(map[string]any)
		for key := range values {
			values[key] = "(not shown)"
		}
	}
	if meta, ok := secret["metadata"].(map[string]any); ok {
		delete(meta, "annotations")
	}
}

// hideSecrets goes through an object and hides the values of environment
// variables that are called like secrets.
func hideSecrets(v any) {
	switch v := v.(type) {
	case map[string]any:
		name, named := v["name"].(string)
		if _, has := v["value"].(string); named && has && confidential.MatchString(name) {
			v["value"] = "(not shown)"
		}
		for _, part := range v {
			hideSecrets(part)
		}
	case []any:
		for _, part := range v {
			hideSecrets(part)
		}
	}
}
