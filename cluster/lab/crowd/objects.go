package crowd

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Size is how much there is of everything.
type Size struct{ Namespaces, Nodes, Deployments, Pods int }

// Sizes are those with a name.
var Sizes = map[string]Size{
	"S":  {3, 4, 6, 50},
	"M":  {10, 100, 200, 3_000},
	"L":  {30, 1_000, 2_000, 30_000},
	"XL": {60, 5_000, 10_000, 150_000}, // Kubernetes' own limit
}

const (
	leaseNamespace = "kube-node-lease"
	leaseSeconds   = 40
	renewEvery     = 10 * time.Second
	controllers    = "kube-controller-manager"
)

var services = [...]string{"api", "auth", "cache", "email", "front", "geo", "images", "orders", "queue", "stock", "tax", "users"}

// crowd makes the objects of one cluster.
type crowd struct {
	Size
	made metav1.Time
}

func (c crowd) meta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, UID: uuid.NewUUID(), CreationTimestamp: c.made, Generation: 1}
}

func nodeName(i int) string { return fmt.Sprintf("worker-%04d", i) }

func (c crowd) namespaceOf(deployment int) string {
	return fmt.Sprintf("space-%02d", deployment%c.Namespaces)
}

func deploymentName(d int) string { return fmt.Sprintf("%s-%04d", services[d%len(services)], d) }

func setName(d int) string { return fmt.Sprintf("%s-%08x", deploymentName(d), uint32(d)*2654435761) }

// podName is that of pod i, which is one of deployment i % Deployments.
func (c crowd) podName(i int) string {
	return fmt.Sprintf("%s-%05x", setName(i%c.Deployments), uint32(i)*2246822519>>12)
}

func labels(d int) map[string]string {
	return map[string]string{"app": deploymentName(d), "part-of": services[d%len(services)], "managed-by": "crowd"}
}

func owner(kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes}}
}

func (c crowd) namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: c.meta("", fmt.Sprintf("space-%02d", i), nil),
		Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func (c crowd) node(i int) *corev1.Node {
	name, zone := nodeName(i), fmt.Sprintf("zone-%c", 'a'+i%3)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("500Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: c.meta("", name, map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "zone", corev1.LabelInstanceTypeStable: "large",
		}),
		Spec: corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 64+i/256, i%256), ProviderID: "crowd:///" + zone + "/" + name},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.16.%d.%d", i/256, i%256)}, {Type: corev1.NodeHostName, Address: name}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: string(uuid.NewUUID()), SystemUUID: string(uuid.NewUUID()), BootID: string(uuid.NewUUID()), KernelVersion: "6.12.0",
				OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.2.0", KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64",
			},
		},
	}
	for _, t := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		status, reason := corev1.ConditionFalse, "KubeletHasNo"+string(t)
		if t == corev1.NodeReady {
			status, reason = corev1.ConditionTrue, "KubeletReady"
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: t, Status: status, Reason: reason, Message: "as the kubelet found it", LastHeartbeatTime: c.made, LastTransitionTime: c.made})
	}
	for k := range 12 { // the images on it are most of a real Node
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("images.example/%s@sha256:%064x", services[k], i*13+k), fmt.Sprintf("images.example/%s:%d", services[k], k)},
			SizeBytes: int64(50_000_000 + 1_000_003*k)})
	}
	n.ManagedFields = managed(n, "kubelet", "kubelet", c.made)
	return n
}

func (c crowd) lease(i int) *coordinationv1.Lease {
	name, seconds, now := nodeName(i), int32(leaseSeconds), metav1.NowMicro()
	l := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: c.meta(leaseNamespace, name, nil),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	l.ManagedFields = managed(l, "kubelet", "kubelet", c.made)[:1]
	return l
}

func template(d int) corev1.PodTemplateSpec {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 2, SuccessThreshold: 1, FailureThreshold: 3,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}}}
	}
	grace, wait, yes, no := int64(30), int64(300), true, false
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(d)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: fmt.Sprintf("images.example/%s:%d", services[d%len(services)], d%40), ImagePullPolicy: corev1.PullIfNotPresent,
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env: []corev1.EnvVar{
					{Name: "DATABASE", Value: "postgres://db.space.svc.cluster.local:5432/" + deploymentName(d)}, {Name: "LOG", Value: "json"},
					{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
				},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("512Mi")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}, {Name: "scratch", MountPath: "/scratch"},
					{Name: tokenVolume, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
				SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				LivenessProbe: probe("/alive"), ReadinessProbe: probe("/ready"),
				TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			Volumes: []corev1.Volume{
				{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: deploymentName(d)}}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				token(),
			},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &wait},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &wait},
			},
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: corev1.DefaultSchedulerName,
			TerminationGracePeriodSeconds: &grace, SecurityContext: &corev1.PodSecurityContext{}, EnableServiceLinks: &yes,
			ServiceAccountName: "default", DeprecatedServiceAccount: "default",
		},
	}
}

// Admission adds this volume and its token to every pod.
const tokenVolume = "kube-api-access-x7k2m"

func token() corev1.Volume {
	mode, seconds := int32(0o644), int64(3607)
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &seconds, Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}}}
}

// deployment gives a deployment and its replica set; each of its n pods is ready.
func (c crowd) deployment(d int, n int32) (*appsv1.Deployment, *appsv1.ReplicaSet) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": deploymentName(d)}}
	dep := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: c.meta(c.namespaceOf(d), deploymentName(d), labels(d)),
		Spec: appsv1.DeploymentSpec{Replicas: &n, Selector: selector, Template: template(d)},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"}}},
	}
	set := &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: c.meta(c.namespaceOf(d), setName(d), labels(d)),
		Spec:   appsv1.ReplicaSetSpec{Replicas: &n, Selector: selector, Template: template(d)},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n},
	}
	set.OwnerReferences = owner("Deployment", dep.Name, dep.UID)
	dep.ManagedFields = managed(dep, "helm", controllers, c.made)
	set.ManagedFields = managed(set, controllers, controllers, c.made)
	return dep, set
}

func (c crowd) pod(i int, set *appsv1.ReplicaSet) *corev1.Pod {
	t := template(i % c.Deployments)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: c.meta(set.Namespace, c.podName(i), t.Labels), Spec: t.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: fmt.Sprintf("172.16.%d.%d", i%c.Nodes/256, i%c.Nodes%256), PodIP: fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255),
			StartTime: &c.made, QOSClass: corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Ready: true, Image: t.Spec.Containers[0].Image, ImageID: fmt.Sprintf("images.example/main@sha256:%064x", i%c.Deployments),
				ContainerID: fmt.Sprintf("containerd://%064x", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.made}}}},
		},
	}
	p.GenerateName, p.Labels["pod-template-hash"] = set.Name+"-", strings.TrimPrefix(set.Name, deploymentName(i%c.Deployments)+"-")
	p.Annotations = map[string]string{"checksum/settings": fmt.Sprintf("%064x", i%c.Deployments), "prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
	p.Spec.NodeName = nodeName(i % c.Nodes)
	p.OwnerReferences = owner("ReplicaSet", set.Name, set.UID)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	for _, t := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: c.made})
	}
	p.ManagedFields = managed(p, controllers, "kubelet", c.made)
	return p
}
