package scenario

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lightsout/cluster/lab/knative"
)

// The mdx scenario: a language model as a Knative service of 16 pods on 4
// workers, one request a pod.
const (
	mdxService     = "llm-jp-31-13b"
	mdxRevision    = mdxService + "-00001"
	mdxDeployment  = mdxRevision + "-deployment"
	mdxPrivate     = mdxRevision + "-private"
	mdxHost        = mdxService + ".default.example.com"
	mdxModel       = "llm-jp-3.1-13b"
	mdxSecret      = "llm-api-key"
	mdxGatewayPort = 31080
	mdxScale       = 16
	mdxTimeout     = 1800 * time.Second

	// Four pods of 32 CPUs and a queue-proxy fit on a worker, five don't.
	mdxPodCPUs    = 32
	mdxWorkerCPUs = 132
)

func mdx(s *Scenario) {
	s.APIServer = "10.0.0.10:6443"
	s.Machines = []MachineSpec{
		{Name: "kube-cp1", IP: "10.0.0.10", ControlPlane: true, CPUs: 8, MemoryGiB: 16, Pods: 110, ServiceLevel: "guarantee"},
	}
	for i := 1; i <= 4; i++ {
		level := "guarantee"
		if i > 2 {
			level = "spot"
		}
		s.Machines = append(s.Machines, MachineSpec{
			Name: fmt.Sprintf("kube-node%d", i), IP: fmt.Sprintf("10.0.0.%d", 10+i),
			CPUs: mdxWorkerCPUs, MemoryGiB: 256, Pods: 110, ServiceLevel: level,
		})
	}
	key := newKey()
	s.Load = Load{
		URL:        fmt.Sprintf("http://10.0.0.11:%d/v1/chat/completions", mdxGatewayPort),
		Host:       mdxHost,
		Profile:    "chat",
		Model:      mdxModel,
		Prompt:     "What happens to a request when the node that serves it loses power?",
		MaxTokens:  64,
		APIKey:     key,
		Timeout:    mdxTimeout,
		Deployment: "default/" + mdxDeployment,
		Burst:      mdxScale,
		Hold:       mdxScale,
	}
	s.Routes = []knative.Route{{
		Host:        mdxHost,
		Namespace:   "default",
		Service:     mdxService,
		Revision:    mdxRevision,
		Endpoints:   mdxPrivate,
		Concurrency: 1,
		Timeouts:    knative.Timeouts{Total: mdxTimeout, ResponseStart: mdxTimeout},
	}}
	s.Objects = append(s.Objects,
		namespace("knative-serving"),
		namespace("kourier-system"),
		kubeProxy(),
		onControlPlane("kourier-system", "3scale-kourier-gateway", "kourier-gateway", knative.GatewayPort),
		service("kourier-system", "kourier", "3scale-kourier-gateway",
			corev1.ServicePort{Name: "http2", Port: 80, TargetPort: intstr.FromInt(knative.GatewayPort), NodePort: mdxGatewayPort}),
		onControlPlane(knative.ActivatorNamespace, "activator", "knative/activator", knative.ActivatorPort, knative.ActivatorMetricsPort),
		service(knative.ActivatorNamespace, knative.ActivatorService, "activator",
			corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt(knative.ActivatorPort)}),
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: mdxSecret},
			StringData: map[string]string{"api-key": key},
		},
	)
	s.Objects = append(s.Objects, mdxRevisionObjects()...)
}

// mdxRevisionObjects is what Knative makes of the service's first revision. The
// public service of the revision is left out: its endpoints are written by a
// reconciler that the lab does not have.
func mdxRevisionObjects() []runtime.Object {
	labels := map[string]string{
		"app":                               mdxRevision,
		"serving.knative.dev/service":       mdxService,
		"serving.knative.dev/configuration": mdxService,
		"serving.knative.dev/revision":      mdxRevision,
	}
	annotations := map[string]string{
		"autoscaling.knative.dev/min-scale": fmt.Sprint(mdxScale),
		"autoscaling.knative.dev/max-scale": fmt.Sprint(mdxScale),
	}
	seconds := int64(mdxTimeout / time.Second)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: mdxDeployment, Labels: labels, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr(int32(mdxScale)),
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{"serving.knative.dev/revision": mdxRevision}},
			RevisionHistoryLimit: ptr(int32(0)),
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr(intstr.FromInt(0))},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &seconds,
					Containers:                    []corev1.Container{mdxUserContainer(), mdxQueueProxy(seconds)},
				},
			},
		},
	}
	private := service("default", mdxPrivate, "",
		corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt(knative.QueuePort)},
		corev1.ServicePort{Name: "http-autometric", Port: knative.QueueStatPort, TargetPort: intstr.FromInt(knative.QueueStatPort)},
	)
	private.Labels = labels
	private.Annotations = map[string]string{"networking.internal.knative.dev/serviceType": "Private"}
	private.Spec.Selector = d.Spec.Selector.MatchLabels
	return []runtime.Object{private, d}
}

func mdxUserContainer() corev1.Container {
	return corev1.Container{
		Name:  "user-container",
		Image: "llama.cpp:server",
		Args:  []string{"--model", "/models/" + mdxModel + ".gguf", "--alias", mdxModel, "--port", "8080", "--parallel", "1"},
		Env: []corev1.EnvVar{{
			Name: "LLAMA_API_KEY",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: mdxSecret}, Key: "api-key",
			}},
		}},
		Ports: []corev1.ContainerPort{{Name: "user-port", ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(mdxPodCPUs, resource.DecimalSI),
			corev1.ResourceMemory: resource.MustParse("24Gi"),
		}},
	}
}

func mdxQueueProxy(timeoutSeconds int64) corev1.Container {
	return corev1.Container{
		Name:  "queue-proxy",
		Image: "knative/queue-proxy:v1.22",
		Env: []corev1.EnvVar{
			{Name: "SERVING_NAMESPACE", Value: "default"},
			{Name: "SERVING_SERVICE", Value: mdxService},
			{Name: "SERVING_CONFIGURATION", Value: mdxService},
			{Name: "SERVING_REVISION", Value: mdxRevision},
			{Name: "CONTAINER_CONCURRENCY", Value: "1"},
			{Name: "REVISION_TIMEOUT_SECONDS", Value: fmt.Sprint(timeoutSeconds)},
			{Name: "REVISION_RESPONSE_START_TIMEOUT_SECONDS", Value: fmt.Sprint(timeoutSeconds)},
			{Name: "USER_PORT", Value: "8080"},
			{Name: "SERVING_READINESS_PROBE", Value: `{"httpGet":{"path":"/health","port":8080},"successThreshold":1}`},
			{Name: "SERVING_POD", ValueFrom: fieldRef("metadata.name")},
			{Name: "SERVING_POD_IP", ValueFrom: fieldRef("status.podIP")},
		},
		Ports: []corev1.ContainerPort{
			{Name: "http-queueadm", ContainerPort: knative.QueueAdminPort},
			{Name: "http-autometric", ContainerPort: knative.QueueStatPort},
			{Name: "http-usermetric", ContainerPort: knative.QueueUserPort},
			{Name: "queue-port", ContainerPort: knative.QueuePort},
		},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Port:        intstr.FromInt(knative.QueuePort),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "K-Network-Probe", Value: "queue"}},
		}}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("25m"),
		}},
	}
}

func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	return "sk-" + hex.EncodeToString(b[:])
}
