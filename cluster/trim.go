package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// What is watched is trimmed to the value types as soon as it is decoded, so
// that memory follows the fields that are shown. Every string goes through
// word or harmless on its way.

// object is one that is watched, as it is kept.
type object interface {
	// id names it among those of its sort.
	id() Key
	// put takes it in, new or changed; quiet makes no transitions.
	put(s *state, seen time.Time, quiet bool)
	// drop takes it out.
	drop(s *state, seen time.Time)
}

// trimming is the trim function of a source; what f has no use for is nil.
func trimming[O runtime.Object, T any, P interface {
	*T
	object
}](f func(O) P) func(runtime.Object) object {
	return func(o runtime.Object) object {
		if x, ok := o.(O); ok {
			if out := f(x); out != nil {
				return out
			}
		}
		return nil
	}
}

// word is a name that many objects share, as nameOf makes it; it is stored once.
func word(s string) string {
	if s == "" {
		return ""
	}
	return unique.Make(nameOf(s)).Value()
}

// labels joins labels in the order of their keys. The pods of a replica set
// share one string.
func labels(all map[string]string) string { return word(selectors.Set(all).String()) }

// lease is a node's Lease, trimmed.
type lease struct {
	node     string
	renewed  time.Time
	duration time.Duration
}

func trimLease(l *coordinationv1.Lease) *lease {
	return &lease{
		node:     nameOf(l.Name), // not kept for long: no word
		renewed:  moment(ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).Time),
		duration: time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second,
	}
}

const (
	rolePrefix      = "node-role.kubernetes.io/"
	annotationOurs  = "lightsout.dev/"
	excludeLabel    = "node.kubernetes.io/exclude-disruption"
	regionLabel     = "topology.kubernetes.io/region"
	zoneLabel       = "topology.kubernetes.io/zone"
	staticPodMirror = "kubernetes.io/config.mirror"
)

// moment returns the time in an object, or the zero time if its year does not have four
// digits: RFC 3339, section 5.6, cannot represent it.
func moment(t time.Time) time.Time {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return time.Time{}
	}
	return t
}

// controlPlaneRoles are the roles of the control plane: kubeadm and k3s control-plane (and
// master before 1.24), RKE1 controlplane, k3s and RKE2 etcd. A node without one of them is
// a worker, whatever its other roles are called.
var controlPlaneRoles = map[string]bool{"control-plane": true, "master": true, "controlplane": true, "etcd": true}

func trimNode(n *corev1.Node) *Node {
	out := &Node{
		Name: word(n.Name), UID: harmless(string(n.UID)),
		Unschedulable:  n.Spec.Unschedulable,
		BootID:         harmless(n.Status.NodeInfo.BootID),
		SystemUUID:     harmless(n.Status.NodeInfo.SystemUUID),
		ProviderID:     harmless(n.Spec.ProviderID),
		KubeletVersion: word(n.Status.NodeInfo.KubeletVersion),
		OSImage:        word(n.Status.NodeInfo.OSImage),
		CPUMilli:       n.Status.Allocatable.Cpu().MilliValue(),
		MemoryBytes:    n.Status.Allocatable.Memory().Value(),
		MaxPods:        n.Status.Allocatable.Pods().Value(),
		Resources:      extraResources(n.Status.Allocatable),
		Labels:         labels(n.Labels),
		Created:        moment(n.CreationTimestamp.Time),
	}
	for k := range n.Labels {
		if role, ok := strings.CutPrefix(k, rolePrefix); ok && role != "" {
			out.Roles = append(out.Roles, word(role))
			out.ControlPlane = out.ControlPlane || controlPlaneRoles[role]
		}
	}
	slices.Sort(out.Roles)
	if region, zone := n.Labels[regionLabel], n.Labels[zoneLabel]; region != "" || zone != "" {
		out.Zone = word(region + "/" + zone)
	}
	_, out.ExcludeDisruption = n.Labels[excludeLabel]
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = tri(c.Status)
			out.Reason, out.Message = word(c.Reason), word(harmless(c.Message))
			out.ReadySince = moment(c.LastTransitionTime.Time)
		}
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range n.Status.Addresses {
			if a.Type == kind {
				out.Addresses = append(out.Addresses, harmless(a.Address))
			}
		}
	}
	for k, v := range n.Annotations {
		if strings.HasPrefix(k, annotationOurs) {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[harmless(k)] = harmless(v)
		}
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, Taint{word(t.Key), word(string(t.Effect)), moment(ptr.Deref(t.TimeAdded, metav1.Time{}).Time), word(t.Value)})
	}
	return out
}

func tri(s corev1.ConditionStatus) Tri {
	return cmp.Or(map[corev1.ConditionStatus]Tri{corev1.ConditionTrue: TriTrue, corev1.ConditionFalse: TriFalse}[s], TriUnknown)
}

// Reasons of the condition DisruptionTarget (pkg/controller/tainteviction/taint_eviction.go and
// pkg/controller/podgc/gc_controller.go).
const (
	byTaint = "DeletionByTaintManager"
	byPodGC = "DeletionByPodGC"
)

// byTaintLater bounds how far the clock of the controller manager may be ahead of the API server's.
// A pod that gets the condition later was being deleted already: the controller evicts it again.
const byTaintLater = 10 * time.Second

func trimPod(p *corev1.Pod) *Pod {
	c := columns(p)
	out := &Pod{
		Key: Key{word(p.Namespace), nameOf(p.Name)}, UID: harmless(string(p.UID)),
		Node: word(p.Spec.NodeName), Phase: word(string(p.Status.Phase)), Status: word(c.status),
		ReadyContainers: c.ready, Containers: c.containers,
		Restarts: c.restarts, RestartedAt: c.restarted,
		Created: moment(p.CreationTimestamp.Time), IP: harmless(p.Status.PodIP), Labels: labels(p.Labels),
	}
	if p.DeletionTimestamp != nil {
		out.Deleting = moment(p.DeletionTimestamp.Add(-time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second))
		out.Finalizers = word(strings.Join(p.Finalizers, ","))
	}
	for _, cond := range p.Status.Conditions {
		switch cond.Type {
		case corev1.PodReady:
			out.Ready = cond.Status == corev1.ConditionTrue
			out.ReadySince = moment(cond.LastTransitionTime.Time)
		case corev1.PodScheduled:
			if cond.Status == corev1.ConditionFalse {
				out.Unplaced = word(Unpreempted(cond.Message))
			}
		case corev1.DisruptionTarget:
			out.Evicted = cond.Status == corev1.ConditionTrue && (cond.Reason == byTaint || cond.Reason == byPodGC) &&
				(out.Deleting.IsZero() || cond.LastTransitionTime.Time.Before(out.Deleting.Add(byTaintLater)))
		}
	}
	if r := metav1.GetControllerOfNoCopy(p); r != nil {
		out.OwnerKind, out.OwnerName = word(r.Kind), word(r.Name)
	}
	if hash := p.Labels["pod-template-hash"]; hash != "" && out.OwnerKind == "ReplicaSet" {
		// A deployment names its replica sets after itself and this hash.
		if dep, ok := strings.CutSuffix(out.OwnerName, "-"+hash); ok {
			out.Deployment = word(dep)
		}
	}
	_, out.Static = p.Annotations[staticPodMirror]
	out.UnreachableFor = toleratedFor(p.Spec.Tolerations, TaintUnreachable)
	out.NotReadyFor = toleratedFor(p.Spec.Tolerations, TaintNotReady)
	out.LocalData = slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
	for i := range p.Spec.Containers {
		ct := &p.Spec.Containers[i]
		out.CPUMilli += ct.Resources.Requests.Cpu().MilliValue()
		for _, port := range ct.Ports {
			out.Ports = append(out.Ports, port.ContainerPort)
		}
		if ct.Name == queueProxy {
			out.Concurrency = envInt(ct.Env, "CONTAINER_CONCURRENCY")
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; isSidecar(c) {
			out.CPUMilli += c.Resources.Requests.Cpu().MilliValue()
		}
	}
	slices.Sort(out.Ports)
	out.Spec = NewSpec(&p.Spec, out.OwnerKind)
	return out
}

// toleratedFor is how long the tolerations let a pod stay under a NoExecute
// taint of this key without a value: the shortest of those with a limit; -1
// when there is none with a limit; 0 when nothing matches
// (pkg/controller/tainteviction, getMinTolerationTime).
func toleratedFor(ts []corev1.Toleration, key string) time.Duration {
	taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
	matched, limit := false, time.Duration(-1)
	for _, t := range ts {
		if !t.ToleratesTaint(klog.Logger{}, &taint, false) {
			continue
		}
		matched = true
		if t.TolerationSeconds != nil {
			d := time.Duration(max(0, *t.TolerationSeconds)) * time.Second
			if limit < 0 || d < limit {
				limit = d
			}
		}
	}
	if !matched {
		return 0
	}
	return limit
}
