package scenario

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The vagrant scenario: six web pods on two workers behind a NodePort, which
// is entered at the control plane's machine.
const (
	vagrantDeployment = "nginx-webserver"
	vagrantNodePort   = 31514
	vagrantScale      = 6
)

func vagrant(s *Scenario) {
	s.APIServer = "10.0.0.10:6443"
	for i := range 3 {
		s.Machines = append(s.Machines, MachineSpec{
			Name: fmt.Sprintf("k8s%d", i+1), IP: fmt.Sprintf("10.0.0.%d", 10+i), ControlPlane: i == 0,
			CPUs: 2, MemoryGiB: 4, Pods: 110, ServiceLevel: "guarantee",
		})
	}
	s.Load = Load{
		URL:        fmt.Sprintf("http://10.0.0.10:%d/", vagrantNodePort),
		Profile:    "http",
		Timeout:    3 * time.Second,
		Deployment: "default/" + vagrantDeployment,
		Burst:      12,
		Hold:       2,
	}
	labels := map[string]string{"app": vagrantDeployment}
	s.Objects = append(s.Objects,
		kubeProxy(),
		service("default", vagrantDeployment, vagrantDeployment,
			corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt(80), NodePort: vagrantNodePort}),
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: vagrantDeployment, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr(int32(vagrantScale)),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{
						Name:  "nginx",
						Image: "nginx:1.29",
						Ports: []corev1.ContainerPort{{ContainerPort: 80}},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("100m"),
						}},
					}}},
				},
			},
		},
	)
}
