package scenario

import (
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lightsout/cluster/lab/ingress"
)

// The namespace of Knative Serving, and its version in the lab.
const (
	ServingNamespace = "knative-serving"
	servingVersion   = "v1.15.2" // the version of the module cluster/lab/serving
	ingressNamespace = "kourier-system"
	ingressDomain    = "kourier.kourier-system.svc.cluster.local"
)

// servingKinds are the kinds that Knative Serving defines: group, version, kind and
// plural. Their schemas accept every field: Knative's webhook checks the objects.
var servingKinds = [][4]string{
	{"serving.knative.dev", "v1", "Service", "services"},
	{"serving.knative.dev", "v1", "Configuration", "configurations"},
	{"serving.knative.dev", "v1", "Revision", "revisions"},
	{"serving.knative.dev", "v1", "Route", "routes"},
	{"autoscaling.internal.knative.dev", "v1alpha1", "PodAutoscaler", "podautoscalers"},
	{"autoscaling.internal.knative.dev", "v1alpha1", "Metric", "metrics"},
	{"networking.internal.knative.dev", "v1alpha1", "Ingress", "ingresses"},
	{"networking.internal.knative.dev", "v1alpha1", "ServerlessService", "serverlessservices"},
	{"networking.internal.knative.dev", "v1alpha1", "Certificate", "certificates"},
	{"networking.internal.knative.dev", "v1alpha1", "ClusterDomainClaim", "clusterdomainclaims"},
	{"serving.knative.dev", "v1beta1", "DomainMapping", "domainmappings"},
	{"caching.internal.knative.dev", "v1alpha1", "Image", "images"},
}

// kindDefinition returns the CustomResourceDefinition of one kind.
func kindDefinition(k [4]string) runtime.Object {
	scope := "Namespaced"
	if k[2] == "ClusterDomainClaim" {
		scope = "Cluster"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": k[3] + "." + k[0]},
		"spec": map[string]any{
			"group": k[0],
			"scope": scope,
			"names": map[string]any{"kind": k[2], "listKind": k[2] + "List", "plural": k[3], "singular": strings.ToLower(k[2])},
			"versions": []any{map[string]any{
				"name": k[1], "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// servingConfigs are Knative's config maps. Knative uses its default for every key that
// they lack.
func servingConfigs(pace Pace) []runtime.Object {
	data := map[string]map[string]string{
		"config-autoscaler": {},
		"config-defaults":   {"max-revision-timeout-seconds": "1800"},
		"config-deployment": {
			"queue-sidecar-image":               "knative/queue-proxy:" + servingVersion,
			"registries-skipping-tag-resolving": "index.docker.io", // no registry has the lab's images
		},
		"config-domain":          {"example.com": ""},
		"config-features":        {},
		"config-gc":              {},
		"config-leader-election": {},
		"config-logging":         {},
		"config-network":         {"ingress-class": "kourier.ingress.networking.knative.dev"},
		"config-observability":   {"metrics.backend-destination": "prometheus"},
		"config-tracing":         {},
	}
	if pace == Fast {
		data["config-autoscaler"] = map[string]string{"stable-window": "6s", "scale-to-zero-grace-period": "6s", "tick-interval": "1s"}
	}
	var out []runtime.Object
	for name, d := range data {
		out = append(out, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ServingNamespace, Name: name}, Data: d})
	}
	return out
}

// servingObjects are the objects that install Knative Serving and an ingress for it.
func servingObjects(pace Pace) []runtime.Object {
	out := []runtime.Object{namespace(ServingNamespace), namespace(ingressNamespace)}
	for _, k := range servingKinds {
		out = append(out, kindDefinition(k))
	}
	out = append(out, servingConfigs(pace)...)
	out = append(out, servingWebhooks()...)
	port := func(name string, port, target int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.FromInt32(target)}
	}
	gateway := port("http", 80, ingress.Port)
	gateway.NodePort = mdxGatewayPort
	return append(out,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ServingNamespace, Name: "webhook-certs"}},
		service(ServingNamespace, "webhook", "webhook", port("https-webhook", 443, 8443)),
		service(ServingNamespace, "autoscaler", "autoscaler", port("http", 8080, 8080)),
		service(ServingNamespace, "activator-service", "activator", port("http", 80, 8012), port("http2", 81, 8013)),
		service(ingressNamespace, "kourier", "3scale-kourier-gateway", gateway),
		onControlPlane(ServingNamespace, "webhook", "knative/webhook", 8443),
		onControlPlane(ServingNamespace, "controller", "knative/controller", 9090),
		onControlPlane(ServingNamespace, "autoscaler", "knative/autoscaler", 8080),
		onControlPlane(ServingNamespace, "activator", "knative/activator", 8012, 9090),
		onControlPlane(ingressNamespace, "3scale-kourier-gateway", "kourier-gateway", ingress.Port),
	)
}

// servingWebhooks make the API server call Knative's webhook for Knative's objects.
func servingWebhooks() []runtime.Object {
	fail, none, scope := admissionv1.Fail, admissionv1.SideEffectClassNone, admissionv1.AllScopes
	reach := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: ServingNamespace, Name: "webhook"}}
	rules := func(ops ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: ops, Rule: admissionv1.Rule{
			APIGroups:   []string{"serving.knative.dev", "autoscaling.internal.knative.dev", "networking.internal.knative.dev"},
			APIVersions: []string{"v1", "v1alpha1"}, Scope: &scope,
			Resources: []string{"services", "configurations", "revisions", "routes", "podautoscalers", "metrics", "ingresses", "serverlessservices"},
		}}}
	}
	const defaulting, validation = "webhook.serving.knative.dev", "validation.webhook.serving.knative.dev"
	return []runtime.Object{
		&admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: defaulting},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: defaulting, ClientConfig: reach, FailurePolicy: &fail, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}, Rules: rules(admissionv1.Create, admissionv1.Update),
			}},
		},
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: validation},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: validation, ClientConfig: reach, FailurePolicy: &fail, SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}, Rules: rules(admissionv1.Create, admissionv1.Update, admissionv1.Delete),
			}},
		},
	}
}

// servingService is the Knative service of the article that the scenario follows.
func servingService(name string, scale int) runtime.Object {
	user := mdxUserContainer()
	container, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&user)
	if err != nil {
		panic(err) // the type has no such fields
	}
	container["readinessProbe"] = map[string]any{"httpGet": map[string]any{"path": "/health"}}
	seconds := int64(mdxTimeout.Seconds())
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "serving.knative.dev/v1",
		"kind":       "Service",
		"metadata":   map[string]any{"namespace": "default", "name": name},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{
				"autoscaling.knative.dev/min-scale": strconv.Itoa(scale), "autoscaling.knative.dev/max-scale": strconv.Itoa(scale),
				// llama.cpp answers before it has read the whole request, and Knative
				// sometimes cuts such answers off (serving issue 12387).
				"features.knative.dev/http-full-duplex": "Enabled",
			}},
			"spec": map[string]any{
				"containerConcurrency": int64(1), "timeoutSeconds": seconds, "responseStartTimeoutSeconds": seconds,
				"containers": []any{container},
			},
		}},
	}}
}
