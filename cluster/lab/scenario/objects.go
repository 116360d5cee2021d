package scenario

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"lightsout/cluster/lab/workload"
)

func ptr[T any](v T) *T { return &v }

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// service is a service for pods labelled app=app, with a NodePort if one of
// its ports has one.
func service(namespace, name, app string, ports ...corev1.ServicePort) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{"app": app},
			Ports:    ports,
		},
	}
	for _, p := range ports {
		if p.NodePort != 0 {
			s.Spec.Type = corev1.ServiceTypeNodePort
		}
	}
	return s
}

// onControlPlane is a deployment of one pod on the control plane's machine.
func onControlPlane(namespace, name, image string, ports ...int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	c := corev1.Container{
		Name:  name,
		Image: image + ":" + servingVersion,
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(ports[0])},
		}},
	}
	for _, p := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: p})
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"node-role.kubernetes.io/control-plane": ""},
					Tolerations: []corev1.Toleration{{
						Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
					}},
					Containers: []corev1.Container{c},
				},
			},
		},
	}
}

// kubeProxy is the daemon set that kubeadm installs.
func kubeProxy() *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": "kube-proxy"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-proxy", Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostNetwork: true,
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:  []corev1.Container{{Name: "kube-proxy", Image: "kube-proxy:v1.36.3"}},
				},
			},
		},
	}
}

// create creates one object and leaves an existing one unchanged. It waits for a
// namespace, a kind or a webhook that does not exist yet.
func create(ctx context.Context, custom dynamic.Interface, object runtime.Object) error {
	o, ok := object.(*unstructured.Unstructured)
	if !ok {
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			return fmt.Errorf("the scenario has an object of a type that it can't create: %w", err)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("the scenario has a %s that can't be encoded: %w", kinds[0].Kind, err)
		}
		o = &unstructured.Unstructured{Object: fields}
		o.SetGroupVersionKind(kinds[0])
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	for {
		_, err := custom.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{})
		switch {
		case err == nil, errors.IsAlreadyExists(err):
			return nil
		case (errors.IsNotFound(err) || errors.IsInternalError(err)) && workload.Pause(ctx, 50*time.Millisecond):
			continue
		}
		return fmt.Errorf("%s %s can't be created: %w", o.GetKind(), o.GetName(), err)
	}
}
