package knative

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/workload"
)

// GatewayPort is where the gateway listens.
const GatewayPort = 8080

// Names of the activator's service, as serving installs it.
const (
	ActivatorNamespace = "knative-serving"
	ActivatorService   = "activator-service"
)

// Gateway returns the ingress gateway as a program: what Kourier's Envoy does
// for a revision that has the activator in its path. It looks at the Host
// header only, and has no timeouts of its own. An unknown host is 404; without
// a ready activator it answers 503.
func (f *Fabric) Gateway() workload.Program {
	return func(ctx context.Context, in workload.Instance) (workload.Process, error) {
		g := &gateway{
			routes:    f.routes,
			view:      f.view(),
			transport: transport(ctx, in.Host.DialContext),
		}
		context.AfterFunc(ctx, g.transport.CloseIdleConnections)
		return workload.Serve(ctx, in.Host, net.JoinHostPort(in.IP, strconv.Itoa(GatewayPort)), g)
	}
}

type gateway struct {
	routes    []Route
	view      *endpoints.View
	transport *http.Transport
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "envoy")
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, route := range g.routes {
		if route.Host != host {
			continue
		}
		to := g.activator()
		if to == "" {
			http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
			return
		}
		forward(w, r, g.transport, to, func(h http.Header) {
			h.Set(headerNamespace, route.Namespace)
			h.Set(headerRevision, route.Revision)
		})
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// activator picks one of the ready activators; empty if there is none.
func (g *gateway) activator() string {
	var ready []string
	for _, e := range g.view.Of(ActivatorNamespace, ActivatorService, "http") {
		if e.Ready {
			ready = append(ready, net.JoinHostPort(e.IP, strconv.Itoa(int(e.Port))))
		}
	}
	if len(ready) == 0 {
		return ""
	}
	return ready[rand.IntN(len(ready))]
}
