package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

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

// resourceOf returns the resource of an object whose plural ends in a plain s.
func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	k := o.GroupVersionKind()
	return k.GroupVersion().WithResource(strings.ToLower(k.Kind) + "s")
}

// create creates one object and leaves an existing one unchanged. It waits for a
// namespace, a kind or a webhook that does not exist yet.
func create(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface, object runtime.Object) error {
	for {
		var err error
		var what string
		opts := metav1.CreateOptions{}
		switch o := object.(type) {
		case *corev1.Namespace:
			what = "namespace " + o.Name
			_, err = client.CoreV1().Namespaces().Create(ctx, o, opts)
		case *corev1.Secret:
			what = "secret " + o.Name
			_, err = client.CoreV1().Secrets(o.Namespace).Create(ctx, o, opts)
		case *corev1.Service:
			what = "service " + o.Name
			_, err = client.CoreV1().Services(o.Namespace).Create(ctx, o, opts)
		case *appsv1.Deployment:
			what = "deployment " + o.Name
			_, err = client.AppsV1().Deployments(o.Namespace).Create(ctx, o, opts)
		case *appsv1.DaemonSet:
			what = "daemon set " + o.Name
			_, err = client.AppsV1().DaemonSets(o.Namespace).Create(ctx, o, opts)
		case *corev1.ConfigMap:
			what = "config map " + o.Name
			_, err = client.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, opts)
		case *admissionv1.MutatingWebhookConfiguration:
			what = "webhook " + o.Name
			_, err = client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, o, opts)
		case *admissionv1.ValidatingWebhookConfiguration:
			what = "webhook " + o.Name
			_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, o, opts)
		case *unstructured.Unstructured:
			what = o.GetKind() + " " + o.GetName()
			_, err = custom.Resource(resourceOf(o)).Namespace(o.GetNamespace()).Create(ctx, o, opts)
		default:
			return fmt.Errorf("the scenario has an object of a type that it can't create: %T", object)
		}
		switch {
		case err == nil, errors.IsAlreadyExists(err):
			return nil
		case (errors.IsNotFound(err) || errors.IsInternalError(err)) && workload.Pause(ctx, 50*time.Millisecond):
			continue
		}
		return fmt.Errorf("%s can't be created: %w", what, err)
	}
}
