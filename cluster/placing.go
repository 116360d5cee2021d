package cluster

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kinds that decide where pods go. An account that cannot read one of them loses only
// the forecasts that need it.
const (
	KindVolume       Kind = "persistentvolume"
	KindClaim        Kind = "persistentvolumeclaim"
	KindStorageClass Kind = "storageclass"
	KindCSIDriver    Kind = "csidriver"
	KindQuota        Kind = "resourcequota"
	KindBudget       Kind = "poddisruptionbudget"
	KindNamespace    Kind = "namespace"
	// KindNeighbour is the pods in namespaces that lightsout does not watch: they use
	// room on nodes too.
	KindNeighbour Kind = "neighbour"
)

// PlaceKinds lists the kinds of Snapshot.Objects.
var PlaceKinds = []Kind{KindVolume, KindClaim, KindStorageClass, KindCSIDriver, KindQuota, KindJob, KindBudget, KindNamespace, KindNeighbour}

// clustered are those of them without a namespace, and namespaced those with one, beside two kinds
// of workloads.
var (
	clustered  = []Kind{KindVolume, KindStorageClass, KindCSIDriver, KindNamespace}
	namespaced = []Kind{KindClaim, KindQuota, KindJob, KindBudget, KindStatefulSet, KindDaemonSet}
)

// placeSources returns the sources of Objects: for forecasts of where pods go, and of
// workloads. When lightsout watches only some namespaces, one more source follows the pods of all
// other namespaces.
func placeSources(namespaces []string) (all []*source) {
	for _, kind := range clustered {
		all = append(all, &source{kind: kind, trim: trimObject})
	}
	others := "status.phase!=Succeeded,status.phase!=Failed"
	for _, ns := range namespaces {
		for _, kind := range namespaced {
			all = append(all, &source{kind: kind, namespace: ns, trim: trimObject})
		}
		others += ",metadata.namespace!=" + ns
	}
	if namespaces[0] != "" {
		all = append(all, &source{kind: KindNeighbour, fields: others, trim: trimNeighbour})
	}
	return all
}

// Object is an object that decides where pods go, or a workload, trimmed to the fields
// that matter. Immutable.
type Object struct {
	Kind Kind
	Key
	// Value is a *corev1.PersistentVolume, *corev1.PersistentVolumeClaim,
	// *storagev1.StorageClass, *storagev1.CSIDriver, *corev1.ResourceQuota,
	// *batchv1.Job, *policyv1.PodDisruptionBudget, *corev1.Namespace, *Pod or *Workload. Its text is not yet
	// safe for a terminal.
	Value any
}

func (o *Object) id() Key { return o.Key }

func (o *Object) put(s *state, _ time.Time, _ bool) {
	if old := s.t.objects.first(func(x *Object) bool { return !x.less(o) }); old != nil && reflect.DeepEqual(old, o) {
		return
	}
	s.t.objects.set(o)
	s.dirty = true
}

func (o *Object) drop(s *state, _ time.Time) { s.dirty = s.t.objects.del(o) || s.dirty }

func (o *Object) less(x *Object) bool {
	return o.Kind < x.Kind || o.Kind == x.Kind && o.Key.less(x.Key)
}

// Objects returns the objects of one of PlaceKinds, or of KindStatefulSet or
// KindDaemonSet, sorted by namespace and name.
func (s *Snapshot) Objects(kind Kind) []*Object {
	return s.objects.span(func(o *Object) bool { return o.Kind >= kind }, func(o *Object) bool { return o.Kind > kind })
}

func trimNeighbour(o runtime.Object) object {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	full := trimPod(p)
	return &Object{KindNeighbour, full.Key, &Pod{
		Key: full.Key, UID: full.UID, Node: full.Node, Phase: full.Phase, Ready: full.Ready, Created: full.Created, Deleting: full.Deleting,
		OwnerKind: full.OwnerKind, OwnerName: full.OwnerName, Deployment: full.Deployment, Labels: full.Labels, Static: full.Static,
		UnreachableFor: full.UnreachableFor, NotReadyFor: full.NotReadyFor, Spec: full.Spec,
	}}
}

// trimObject keeps the fields of an object that decide where pods go.
func trimObject(o runtime.Object) object {
	m, ok := o.(metav1.Object)
	if !ok {
		return nil
	}
	out := &Object{Key: Key{word(m.GetNamespace()), nameOf(m.GetName())}}
	meta := metav1.ObjectMeta{Name: m.GetName(), Namespace: m.GetNamespace()}
	switch x := o.(type) {
	case *corev1.PersistentVolume:
		meta.Labels = maps.Clone(x.Labels)
		source := attachedInTree(x.Spec.PersistentVolumeSource)
		if csi := x.Spec.CSI; csi != nil {
			source.CSI = &corev1.CSIPersistentVolumeSource{Driver: csi.Driver, VolumeHandle: csi.VolumeHandle}
		}
		out.Kind, out.Value = KindVolume, &corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{
			Capacity: x.Spec.Capacity, AccessModes: x.Spec.AccessModes, ClaimRef: x.Spec.ClaimRef, StorageClassName: x.Spec.StorageClassName,
			VolumeMode: x.Spec.VolumeMode, NodeAffinity: x.Spec.NodeAffinity, PersistentVolumeSource: source,
		}, Status: corev1.PersistentVolumeStatus{Phase: x.Status.Phase}}
	case *corev1.PersistentVolumeClaim:
		x.Spec.DataSource, x.Spec.DataSourceRef = nil, nil
		meta.DeletionTimestamp = x.DeletionTimestamp
		out.Kind, out.Value = KindClaim, &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: x.Spec, Status: corev1.PersistentVolumeClaimStatus{Phase: x.Status.Phase}}
	case *storagev1.StorageClass:
		out.Kind, out.Value = KindStorageClass, &storagev1.StorageClass{ObjectMeta: meta, Provisioner: x.Provisioner,
			VolumeBindingMode: x.VolumeBindingMode, AllowedTopologies: x.AllowedTopologies}
	case *storagev1.CSIDriver:
		out.Kind, out.Value = KindCSIDriver, &storagev1.CSIDriver{ObjectMeta: meta, Spec: storagev1.CSIDriverSpec{AttachRequired: x.Spec.AttachRequired}}
	case *corev1.ResourceQuota:
		out.Kind, out.Value = KindQuota, &corev1.ResourceQuota{ObjectMeta: meta, Spec: x.Spec, Status: corev1.ResourceQuotaStatus{Used: x.Status.Used}}
	case *batchv1.Job:
		x.Spec.Template, x.Spec.Selector = corev1.PodTemplateSpec{}, nil
		out.Kind, out.Value = KindJob, &batchv1.Job{ObjectMeta: meta, Spec: x.Spec, Status: batchv1.JobStatus{
			Active: x.Status.Active, Succeeded: x.Status.Succeeded, Failed: x.Status.Failed, FailedIndexes: x.Status.FailedIndexes, Conditions: ends(x)}}
	case *policyv1.PodDisruptionBudget:
		out.Kind, out.Value = KindBudget, &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: x.Spec, Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: x.Status.DisruptionsAllowed, CurrentHealthy: x.Status.CurrentHealthy, DesiredHealthy: x.Status.DesiredHealthy, ExpectedPods: x.Status.ExpectedPods}}
	case *corev1.Namespace:
		meta.Labels = maps.Clone(x.Labels)
		out.Kind, out.Value = KindNamespace, &corev1.Namespace{ObjectMeta: meta}
	case *appsv1.StatefulSet:
		out.Kind, out.Value = KindStatefulSet, trimStatefulSet(x)
	case *appsv1.DaemonSet:
		out.Kind, out.Value = KindDaemonSet, trimDaemonSet(x)
	default:
		return nil
	}
	return out
}

// Spec is the demand of a pod on its node. Pods of one template share one Spec, and
// equal ones compare as equal. The zero Spec demands nothing.
type Spec struct{ bytes unique.Handle[string] }

// NewSpec trims a pod's specification to the fields that decide where the pod goes.
func NewSpec(full *corev1.PodSpec, ownerKind string) Spec {
	out := corev1.PodSpec{
		NodeSelector: full.NodeSelector, Affinity: full.Affinity, Tolerations: full.Tolerations,
		TopologySpreadConstraints: full.TopologySpreadConstraints, Overhead: full.Overhead, Resources: full.Resources,
		Priority: full.Priority, PriorityClassName: full.PriorityClassName, PreemptionPolicy: full.PreemptionPolicy,
		SchedulingGates: full.SchedulingGates, SchedulerName: full.SchedulerName, ActiveDeadlineSeconds: full.ActiveDeadlineSeconds,
		TerminationGracePeriodSeconds: full.TerminationGracePeriodSeconds,
	}
	if out.SchedulerName == corev1.DefaultSchedulerName {
		out.SchedulerName = ""
	}
	if ownerKind == "DaemonSet" && out.Affinity != nil {
		// The node affinity of a DaemonSet's pod names its node, which it never leaves.
		out.Affinity = &corev1.Affinity{PodAffinity: out.Affinity.PodAffinity, PodAntiAffinity: out.Affinity.PodAntiAffinity}
	}
	out.Containers, out.InitContainers = trimContainers(full.Containers), trimContainers(full.InitContainers)
	for i := range full.ResourceClaims {
		out.ResourceClaims = append(out.ResourceClaims, corev1.PodResourceClaim{Name: full.ResourceClaims[i].Name})
	}
	for _, v := range full.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			claim := corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim}
			out.Volumes = append(out.Volumes, corev1.Volume{VolumeSource: claim})
		case v.Ephemeral != nil:
			out.Volumes = append(out.Volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{Ephemeral: v.Ephemeral}})
		}
	}
	b, _ := out.Marshal() // an object of the API server
	return Spec{unique.Make(string(b))}
}

func trimContainers(all []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(all))
	for i, c := range all {
		out[i] = corev1.Container{RestartPolicy: c.RestartPolicy,
			Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits}}
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out[i].Ports = append(out[i].Ports, corev1.ContainerPort{HostPort: p.HostPort, HostIP: p.HostIP, Protocol: p.Protocol})
			}
		}
	}
	return out
}

// Decode returns the trimmed specification; each call returns a new copy.
func (s Spec) Decode() *corev1.PodSpec {
	out := &corev1.PodSpec{}
	if s != (Spec{}) {
		_ = out.Unmarshal([]byte(s.bytes.Value())) // NewSpec marshalled it
	}
	return out
}

// extraResources lists the resources beside CPU, memory and pods: see Node.Resources.
func extraResources(all corev1.ResourceList) string {
	var pairs []string
	for name, q := range all {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods:
		default:
			pairs = append(pairs, string(name)+"="+strconv.FormatInt(q.Value(), 10))
		}
	}
	slices.SortFunc(pairs, cmp.Compare)
	return word(strings.Join(pairs, ","))
}
