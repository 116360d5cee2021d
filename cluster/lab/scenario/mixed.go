package scenario

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The mixed scenario: three zones of two workers, and workloads whose pods can't go
// everywhere. The website spreads over the zones, the model needs GPUs, each cache a node
// of its own, the database local volumes, and the batch gives way to all others.
const (
	mixedWeb      = "web"
	mixedModel    = "model"
	mixedCache    = "cache"
	mixedDatabase = "database"
	mixedBatch    = "batch"
	mixedNodePort = 31515
	mixedLocal    = "local" // the storage class
	mixedSpare    = "spare" // the priority class of the batch
)

func mixed(s *Scenario) {
	s.APIServer = "10.0.0.10:6443"
	s.Machines = []MachineSpec{{Name: "cp1", IP: "10.0.0.10", ControlPlane: true, CPUs: 4, MemoryGiB: 8, Pods: 110, ServiceLevel: "guarantee"}}
	for i := range 6 {
		zone := string(rune('a' + i/2))
		m := MachineSpec{Name: fmt.Sprintf("node-%s%d", zone, 1+i%2), IP: fmt.Sprintf("10.0.0.%d", 11+i), CPUs: 8, MemoryGiB: 16, Pods: 110,
			ServiceLevel: "guarantee", Labels: map[string]string{corev1.LabelTopologyZone: zone}}
		switch m.Name {
		case "node-a1", "node-b1":
			m.MemoryGiB, m.GPUs = 32, 2
		case "node-a2", "node-b2", "node-c2":
			s.Objects = append(s.Objects, localVolume(m.Name))
		}
		s.Machines = append(s.Machines, m)
	}
	s.Load = Load{URL: fmt.Sprintf("http://10.0.0.10:%d/", mixedNodePort), Profile: "http", Timeout: 3 * time.Second,
		Deployment: "default/" + mixedWeb, Burst: 12, Hold: 2}

	web, cache := mixedPods(mixedWeb, "cpu", "500m", "memory", "512Mi"), mixedPods(mixedCache, "cpu", "1", "memory", "10Gi")
	web.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: web.Labels}}}
	cache.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: cache.Labels}}}}}
	model, batch := mixedPods(mixedModel, "cpu", "2", "memory", "4Gi"), mixedPods(mixedBatch, "cpu", "1500m", "memory", "1Gi")
	gpu := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	model.Spec.Containers[0].Resources.Limits = gpu
	batch.Spec.PriorityClassName = mixedSpare
	s.Objects = append(s.Objects,
		kubeProxy(),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: mixedLocal}, Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: ptr(storagev1.VolumeBindingWaitForFirstConsumer)},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: mixedSpare}, Value: -10},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: mixedDatabase}, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": mixedDatabase}}}},
		service("default", mixedWeb, mixedWeb, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt(80), NodePort: mixedNodePort}),
		database(),
		mixedDeployment(3, model), mixedDeployment(4, cache), mixedDeployment(6, web), mixedDeployment(8, batch))
}

// mixedPods returns pods of nginx that request these resources.
func mixedPods(app string, requests ...string) corev1.PodTemplateSpec {
	list := corev1.ResourceList{}
	for i := 0; i < len(requests); i += 2 {
		list[corev1.ResourceName(requests[i])] = resource.MustParse(requests[i+1])
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: app, Image: "nginx:1.29", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Resources: corev1.ResourceRequirements{Requests: list}}}}}
}

func mixedDeployment(replicas int32, pods corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pods.Labels["app"], Labels: pods.Labels},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pods.Labels}, Template: pods}}
}

// database is a stateful set whose pods keep their data on volumes of single nodes.
func database() *appsv1.StatefulSet {
	pods := mixedPods(mixedDatabase, "cpu", "500m", "memory", "1Gi")
	pods.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: mixedDatabase, Labels: pods.Labels},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: pods.Labels}, Template: pods,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: ptr(mixedLocal), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}}}}
}

// localVolume is a volume on the disk of one node.
func localVolume(node string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-" + node}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: mixedLocal, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}}}
}
