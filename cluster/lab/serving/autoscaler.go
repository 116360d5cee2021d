package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
	corelisters "k8s.io/client-go/listers/core/v1"
	netcfg "knative.dev/networking/pkg/config"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	filteredpods "knative.dev/pkg/client/injection/kube/informers/core/v1/pod/filtered"
	"knative.dev/pkg/configmap/informer"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/leaderelection"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/system"
	scalingapi "knative.dev/serving/pkg/apis/autoscaling/v1alpha1"
	"knative.dev/serving/pkg/apis/serving"
	"knative.dev/serving/pkg/autoscaler/metrics"
	"knative.dev/serving/pkg/autoscaler/scaling"
	"knative.dev/serving/pkg/autoscaler/statforwarder"
	"knative.dev/serving/pkg/autoscaler/statserver"
	smetrics "knative.dev/serving/pkg/metrics"
	"knative.dev/serving/pkg/reconciler/autoscaling/kpa"
	"knative.dev/serving/pkg/reconciler/metric"
	"knative.dev/serving/pkg/resources"
)

// runAutoscaler scrapes queue-proxies, receives the activators' statistics, and sets
// the number of pods of each revision. There is only one, so it needs no election. It
// reaches pods and activators through HTTP_PROXY.
func runAutoscaler(ctx context.Context, p *ports) error {
	ctx, cfg, err := client(ctx)
	if err != nil {
		return err
	}
	ctx, informers := injection.Default.SetupInformers(ctx, cfg)
	logger, _ := logging.NewLogger("", "info")
	ctx = logging.WithLogger(ctx, logger)
	configs := informer.NewInformedWatcher(kubeclient.Get(ctx), system.Namespace())

	pods := filteredpods.Get(ctx, serving.RevisionUID).Lister()
	collector := metrics.NewMetricCollector(scrapers(pods), logger)
	scalers := scaling.NewMultiScaler(ctx.Done(), deciders(pods, collector), logger)
	controllers := []*controller.Impl{kpa.NewController(ctx, configs, scalers), metric.NewController(ctx, configs, collector)}
	if err := configs.Start(ctx.Done()); err != nil {
		return err
	}
	if err := controller.StartInformers(ctx.Done(), informers...); err != nil {
		return err
	}

	if err := os.Setenv("STATEFUL_CONTROLLER_ORDINAL", "autoscaler-0"); err != nil {
		return err
	}
	_, buckets, err := leaderelection.NewStatefulSetBucketAndSet(1)
	if err != nil {
		return err
	}
	forwarder := statforwarder.New(ctx, buckets)
	defer forwarder.Cancel()
	take := func(m metrics.StatMessage) {
		collector.Record(m.Key, time.Unix(m.Stat.Timestamp, 0), m.Stat)
		scalers.Poke(m.Key, m.Stat)
	}
	if err := statforwarder.StatefulSetBasedProcessor(ctx, forwarder, take); err != nil {
		return err
	}
	return serveStats(ctx, p, logger, forwarder, controllers)
}

// serveStats receives the activators' statistics and runs the controllers.
func serveStats(ctx context.Context, p *ports, logger *zap.SugaredLogger, forwarder *statforwarder.Forwarder, controllers []*controller.Impl) error {
	port, err := p.reserve(8080)
	if err != nil {
		return err
	}
	stats := make(chan metrics.StatMessage, 1000)
	server := statserver.New(fmt.Sprintf("127.0.0.1:%d", port), stats, logger, forwarder.IsBucketOwner)
	p.serves = append(p.serves, server.ListenAndServe, func() error { return controller.StartAll(ctx, controllers...) })
	go func() {
		for m := range stats {
			if m.Stat.Timestamp == 0 {
				m.Stat.Timestamp = time.Now().Unix()
			}
			forwarder.Process(m)
		}
	}()
	failed, err := p.open()
	if err != nil {
		return err
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	server.Shutdown(5 * time.Second)
	return err
}

func scrapers(pods corelisters.PodLister) metrics.StatsScraperFactory {
	return func(m *scalingapi.Metric, logger *zap.SugaredLogger) (metrics.StatsScraper, error) {
		if m.Spec.ScrapeTarget == "" {
			return nil, nil
		}
		revision := m.Labels[serving.RevisionLabelKey]
		return metrics.NewStatsScraper(m, revision, resources.NewPodAccessor(pods, m.Namespace, revision),
			false, netcfg.MeshCompatibilityModeAuto, logger), nil
	}
}

func deciders(pods corelisters.PodLister, client metrics.MetricClient) scaling.UniScalerFactory {
	return func(d *scaling.Decider) (scaling.UniScaler, error) {
		revision := d.Labels[serving.RevisionLabelKey]
		ctx := smetrics.RevisionContext(d.Namespace, d.Labels[serving.ServiceLabelKey], d.Labels[serving.ConfigurationLabelKey], revision)
		return scaling.New(ctx, d.Namespace, d.Name, client, resources.NewPodAccessor(pods, d.Namespace, revision), &d.Spec), nil
	}
}
