package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	netheader "knative.dev/networking/pkg/http/header"
	netproxy "knative.dev/networking/pkg/http/proxy"
	netstats "knative.dev/networking/pkg/http/stats"
	"knative.dev/pkg/logging"
	pkgnet "knative.dev/pkg/network"
	"knative.dev/pkg/network/handlers"
	"knative.dev/serving/pkg/activator"
	pkghttp "knative.dev/serving/pkg/http"
	"knative.dev/serving/pkg/http/handler"
	"knative.dev/serving/pkg/networking"
	"knative.dev/serving/pkg/queue"
	"knative.dev/serving/pkg/queue/health"
	"knative.dev/serving/pkg/queue/readiness"
)

// seconds reads a duration in seconds from the environment; 0 without one.
func seconds(name string) time.Duration {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// runQueueProxy runs in front of a pod's own server. It admits containerConcurrency
// requests at a time and reports their number. The lab has replaced USER_PORT, and the
// port in SERVING_READINESS_PROBE, by ports of this computer.
func runQueueProxy(ctx context.Context, p *ports) error {
	logger, _ := logging.NewLogger("", "info")
	limit, err := strconv.Atoi(os.Getenv("CONTAINER_CONCURRENCY"))
	if err != nil {
		return fmt.Errorf("CONTAINER_CONCURRENCY: %w", err)
	}
	probes, err := readiness.DecodeProbes(os.Getenv("SERVING_READINESS_PROBE"), false)
	if err != nil {
		return fmt.Errorf("SERVING_READINESS_PROBE: %w", err)
	}

	idle := 1000
	var breaker *queue.Breaker
	if limit > 0 {
		idle = limit
		breaker = queue.NewBreaker(queue.BreakerParams{QueueDepth: 10 * limit, MaxConcurrency: limit, InitialCapacity: limit})
	}
	user := pkghttp.NewHeaderPruningReverseProxy(net.JoinHostPort("127.0.0.1", os.Getenv("USER_PORT")),
		pkghttp.NoHostOverride, activator.RevisionHeaders, false)
	user.Transport = pkgnet.NewProxyAutoTransport(idle, idle)
	user.ErrorHandler = handlers.Error(logger)
	user.BufferPool = netproxy.NewBufferPool()
	user.FlushInterval = netproxy.FlushInterval

	stats := netstats.NewRequestStats(time.Now())
	h := queue.ForwardedShimHandler(queue.ProxyHandler(breaker, stats, false, user))
	h = handler.NewTimeoutHandler(h, "request timeout", func(*http.Request) (all, first, idle time.Duration) {
		return seconds("REVISION_TIMEOUT_SECONDS"), seconds("REVISION_RESPONSE_START_TIMEOUT_SECONDS"), seconds("REVISION_IDLE_TIMEOUT_SECONDS")
	})
	if os.Getenv("ENABLE_HTTP_FULL_DUPLEX") == "true" {
		h = fullDuplex(h)
	}
	drainer := &handlers.Drainer{
		QuietPeriod:           drain(30 * time.Second), // serving's pkg/queue/sharedmain
		HealthCheckUAPrefixes: []string{netheader.ActivatorUserAgent, netheader.AutoscalingUserAgent},
		Inner:                 h,
		HealthCheck:           health.ProbeHandler(readiness.NewProbe(probes).ProbeContainer, false),
	}
	main := pkgnet.NewServer("", drainer)
	told := http.NewServeMux()
	told.Handle("/metrics", queue.NewStatsHandler(report(stats)))
	if err := p.serve(networking.BackendHTTPPort, main); err != nil {
		return err
	}
	if err := p.serve(networking.AutoscalingQueueMetricsPort, &http.Server{Handler: told}); err != nil {
		return err
	}
	if err := p.openUntil(ctx); err != nil {
		return err
	}
	drainer.Drain()
	return main.Shutdown(context.Background())
}

// fullDuplex lets an answer begin before the server has read the whole request.
func fullDuplex(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// report updates the statistics for the autoscaler each second.
func report(stats *netstats.RequestStats) *queue.ProtobufStatsReporter {
	const every = time.Second // serving's pkg/queue/sharedmain
	r := queue.NewProtobufStatsReporter(os.Getenv("SERVING_POD"), every)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for now := range tick.C {
			r.Report(stats.Report(now))
		}
	}()
	return r
}
