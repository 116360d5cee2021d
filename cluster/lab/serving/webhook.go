package main

import (
	"context"

	"go.opencensus.io/stats/view"
	"k8s.io/apimachinery/pkg/runtime/schema"
	netapi "knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates"
	"knative.dev/pkg/webhook/resourcesemantics"
	"knative.dev/pkg/webhook/resourcesemantics/defaulting"
	"knative.dev/pkg/webhook/resourcesemantics/validation"
	scaling "knative.dev/serving/pkg/apis/autoscaling/v1alpha1"
	"knative.dev/serving/pkg/apis/config"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
	checks "knative.dev/serving/pkg/webhook"
)

// kinds are the objects that the webhook defaults and validates.
var kinds = map[schema.GroupVersionKind]resourcesemantics.GenericCRD{
	servingv1.SchemeGroupVersion.WithKind("Service"):        &servingv1.Service{},
	servingv1.SchemeGroupVersion.WithKind("Configuration"):  &servingv1.Configuration{},
	servingv1.SchemeGroupVersion.WithKind("Revision"):       &servingv1.Revision{},
	servingv1.SchemeGroupVersion.WithKind("Route"):          &servingv1.Route{},
	scaling.SchemeGroupVersion.WithKind("PodAutoscaler"):    &scaling.PodAutoscaler{},
	scaling.SchemeGroupVersion.WithKind("Metric"):           &scaling.Metric{},
	netapi.SchemeGroupVersion.WithKind("Ingress"):           &netapi.Ingress{},
	netapi.SchemeGroupVersion.WithKind("ServerlessService"): &netapi.ServerlessService{},
}

var extra = map[schema.GroupVersionKind]validation.Callback{
	servingv1.SchemeGroupVersion.WithKind("Service"):       validation.NewCallback(checks.ValidateService, webhook.Create, webhook.Update),
	servingv1.SchemeGroupVersion.WithKind("Configuration"): validation.NewCallback(checks.ValidateConfiguration, webhook.Create, webhook.Update),
}

func withConfig(ctx context.Context, w configmap.Watcher) func(context.Context) context.Context {
	store := config.NewStore(logging.FromContext(ctx))
	store.WatchConfigs(w)
	return store.ToContext
}

func newDefaulting(ctx context.Context, w configmap.Watcher) *controller.Impl {
	return defaulting.NewAdmissionController(ctx, "webhook.serving.knative.dev", "/defaulting", kinds, withConfig(ctx, w), false)
}

func newValidation(ctx context.Context, w configmap.Watcher) *controller.Impl {
	return validation.NewAdmissionController(ctx, "validation.webhook.serving.knative.dev", "/resource-validation",
		kinds, withConfig(ctx, w), false, extra)
}

// runWebhook defaults and validates Knative's objects when the API server receives
// them.
func runWebhook(ctx context.Context, p *ports) error {
	ctx, cfg, err := client(ctx)
	if err != nil {
		return err
	}
	if err := p.metrics(9090); err != nil {
		return err
	}
	port, err := p.reserve(8443)
	if err != nil {
		return err
	}
	ctx = webhook.WithOptions(ctx, webhook.Options{ServiceName: "webhook", SecretName: "webhook-certs", Port: port})
	if _, err := p.open(); err != nil {
		return err
	}
	// The activator's package, which this program also links, has registered these
	// names.
	view.Unregister(view.Find("request_count"), view.Find("request_latencies"))
	ctx = sharedmain.WithHealthProbesDisabled(sharedmain.WithHADisabled(ctx))
	sharedmain.MainWithConfig(ctx, "webhook", cfg, certificates.NewController, newDefaulting, newValidation)
	return nil
}
