package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	netcfg "knative.dev/networking/pkg/config"
	netprobe "knative.dev/networking/pkg/http/probe"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	"knative.dev/pkg/configmap/informer"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"
	pkgmetrics "knative.dev/pkg/metrics"
	pkgnet "knative.dev/pkg/network"
	"knative.dev/pkg/system"
	"knative.dev/pkg/websocket"
	"knative.dev/serving/pkg/activator"
	activatorconfig "knative.dev/serving/pkg/activator/config"
	"knative.dev/serving/pkg/activator/handler"
	activatornet "knative.dev/serving/pkg/activator/net"
	"knative.dev/serving/pkg/apis/config"
	"knative.dev/serving/pkg/autoscaler/metrics"
	httphandler "knative.dev/serving/pkg/http/handler"
	"knative.dev/serving/pkg/networking"
)

// runActivator holds requests until one of the revision's pods has a free slot.
func runActivator(ctx context.Context, p *ports) error {
	dialer, err := labDialer()
	if err != nil {
		return err
	}
	pkgnet.DialWithBackOff = patient(dialer)
	if err := p.metrics(9090); err != nil {
		return err
	}
	// At the signal to end, requests end, but informers do not.
	run, cfg, err := client(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	run, informers := injection.Default.SetupInformers(run, cfg)
	logger, _ := logging.NewLogger("", "info")
	run = logging.WithLogger(run, logger)
	if err := controller.StartInformers(run.Done(), informers...); err != nil {
		return err
	}

	transport := pkgnet.NewProxyAutoTransport(1000, 100)
	throttler := activatornet.NewThrottler(run, os.Getenv("POD_IP"))
	go throttler.Run(run, transport, false, netcfg.MeshCompatibilityModeAuto)

	configs := informer.NewInformedWatcher(kubeclient.Get(run), system.Namespace())
	store := activatorconfig.NewStore(logger)
	store.WatchConfigs(configs)
	configs.Watch(pkgmetrics.ConfigMapName(), pkgmetrics.ConfigMapWatcher(run, "activator", nil, logger))
	if err := configs.Start(run.Done()); err != nil {
		return err
	}

	stats := make(chan []metrics.StatMessage)
	sink := websocket.NewDurableSendingConnection("ws://"+os.Getenv("LAB_AUTOSCALER"), logger)
	go activator.ReportStats(logger, sink, stats)
	concurrency := handler.NewConcurrencyReporter(run, os.Getenv("POD_NAME"), stats)
	go concurrency.Run(run.Done())

	h := handler.New(run, throttler, transport, false, logger, false)
	h = httphandler.NewTimeoutHandler(h, "activator request timeout", revisionTimeouts)
	h = concurrency.Handler(h)
	h = handler.NewMetricHandler(os.Getenv("POD_NAME"), h)
	h = handler.WrapActivatorHandlerWithFullDuplex(h, logger)
	h = handler.NewContextHandler(run, h, store)
	h = &handler.ProbeHandler{NextHandler: h}
	h = netprobe.NewHandler(h)
	h = &handler.HealthHandler{NextHandler: h, Logger: logger, HealthCheck: func() error {
		if ctx.Err() != nil {
			return errors.New("the activator was told to end")
		}
		return sink.Status()
	}}
	return serveUntil(ctx, p, h)
}

// serveUntil serves requests until ctx ends. It then gives every client time to notice
// that the pod ends, and finishes the requests in flight.
func serveUntil(ctx context.Context, p *ports, h http.Handler) error {
	servers := map[int]*http.Server{networking.BackendHTTPPort: pkgnet.NewServer("", h), networking.BackendHTTP2Port: pkgnet.NewServer("", h)}
	for port, s := range servers {
		if err := p.serve(port, s); err != nil {
			return err
		}
	}
	if err := p.openUntil(ctx); err != nil {
		return err
	}
	time.Sleep(drain(pkgnet.DefaultDrainTimeout))
	for _, s := range servers {
		s.Shutdown(context.Background())
	}
	return nil
}

// drain is how long a component runs on after the signal to end, so that others notice:
// LAB_DRAIN, or Knative's own time.
func drain(upstream time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv("LAB_DRAIN")); err == nil {
		return d
	}
	return upstream
}

// revisionTimeouts are the timeouts of the request's revision: for the whole request,
// until the first byte, and between two bytes.
func revisionTimeouts(r *http.Request) (all, first, idle time.Duration) {
	const second = time.Second
	rev := handler.RevisionFrom(r.Context())
	if rev == nil {
		return config.DefaultRevisionTimeoutSeconds * second, config.DefaultRevisionResponseStartTimeoutSeconds * second,
			config.DefaultRevisionIdleTimeoutSeconds * second
	}
	of := func(p *int64) time.Duration {
		if p == nil {
			return 0
		}
		return time.Duration(*p) * second
	}
	return of(rev.Spec.TimeoutSeconds), of(rev.Spec.ResponseStartTimeoutSeconds), of(rev.Spec.IdleTimeoutSeconds)
}
