package scenario

import (
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The mdx scenario: a language model as a Knative service of 16 pods on 4
// workers, one request a pod.
const (
	mdxService     = "llm-jp-31-13b"
	mdxRevision    = mdxService + "-00001"
	mdxDeployment  = mdxRevision + "-deployment"
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
	key := "sk-" + rand.Text()
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
	s.Serving = true
	s.Objects = append(s.Objects, kubeProxy(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: mdxSecret},
		StringData: map[string]string{"api-key": key},
	})
	s.Objects = append(s.Objects, servingObjects(s.Pace)...)
	s.Objects = append(s.Objects, servingService(mdxService, mdxScale))
}

func mdxUserContainer() corev1.Container {
	return corev1.Container{
		Image: "llama.cpp:server",
		Args:  []string{"--model", "/models/" + mdxModel + ".gguf", "--alias", mdxModel, "--port", "8080", "--parallel", "1"},
		Env: []corev1.EnvVar{{
			Name: "LLAMA_API_KEY",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: mdxSecret}, Key: "api-key",
			}},
		}},
		Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(mdxPodCPUs, resource.DecimalSI),
			corev1.ResourceMemory: resource.MustParse("24Gi"),
		}},
	}
}
