package main

import (
	"context"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	filteredfactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/serving/pkg/apis/serving"
	"knative.dev/serving/pkg/reconciler/configuration"
	"knative.dev/serving/pkg/reconciler/gc"
	"knative.dev/serving/pkg/reconciler/labeler"
	"knative.dev/serving/pkg/reconciler/revision"
	"knative.dev/serving/pkg/reconciler/route"
	"knative.dev/serving/pkg/reconciler/serverlessservice"
	"knative.dev/serving/pkg/reconciler/service"
)

// client returns the configuration for the API server, and ctx with everything that the
// informers of this program need. The pod informers only list pods of revisions.
func client(ctx context.Context) (context.Context, *rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, nil, err
	}
	cfg.QPS, cfg.Burst = 100, 200
	return filteredfactory.WithSelectors(ctx, serving.RevisionUID), cfg, nil
}

// runController runs the reconcilers that create a revision for a service, and pods,
// routes and endpoints for a revision. The lab needs no reconcilers for certificates or
// domain mappings.
func runController(ctx context.Context, p *ports) error {
	ctx, cfg, err := client(ctx)
	if err != nil {
		return err
	}
	if err := p.metrics(9090); err != nil {
		return err
	}
	if _, err := p.open(); err != nil {
		return err
	}
	ctx = sharedmain.WithHealthProbesDisabled(sharedmain.WithHADisabled(ctx))
	sharedmain.MainWithConfig(ctx, "controller", cfg,
		configuration.NewController, labeler.NewController, revision.NewController, route.NewController,
		serverlessservice.NewController, service.NewController, gc.NewController)
	return nil
}
