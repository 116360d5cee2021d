// Package ingress is a small ingress controller for Knative. It routes by Knative's own
// Ingress objects (networking.internal.knative.dev), which Knative's controller creates
// for each service, and marks each one as ready in its status. It handles a request as
// Kourier's Envoy does: it finds the host's rule, picks one of the rule's splits by
// percentage, adds the split's headers, and forwards the request to one of the ready
// endpoints. It supports neither TLS nor HTTP/2, and has no timeouts.
package ingress

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"lightsout/cluster/lab/kubeproxy/endpoints"
	"lightsout/cluster/lab/workload"
)

// Port is the port on which the ingress listens.
const Port = 8080

var ingresses = schema.GroupVersionResource{Group: "networking.internal.knative.dev", Version: "v1alpha1", Resource: "ingresses"}

// object holds the fields of an Ingress that this package uses.
type object struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Rules []rule `json:"rules"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
	} `json:"status"`
}

type rule struct {
	Hosts []string `json:"hosts"`
	HTTP  struct {
		Paths []struct {
			Splits        []split           `json:"splits"`
			AppendHeaders map[string]string `json:"appendHeaders"`
		} `json:"paths"`
	} `json:"http"`
}

type split struct {
	ServiceNamespace string            `json:"serviceNamespace"`
	ServiceName      string            `json:"serviceName"`
	Percent          int               `json:"percent"`
	AppendHeaders    map[string]string `json:"appendHeaders"`
}

// Program returns the ingress as a program. client writes the status of the objects;
// domain is the name under which the cluster reaches the ingress.
func Program(client dynamic.Interface, view func() *endpoints.View, domain string) workload.Program {
	return func(ctx context.Context, in workload.Instance) (workload.Process, error) {
		run, cancel := context.WithCancel(ctx)
		g := &gateway{
			client: client, view: view(), domain: domain,
			transport: &http.Transport{DialContext: in.Host.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 100},
		}
		context.AfterFunc(run, g.transport.CloseIdleConnections)
		s, err := workload.Serve(ctx, in.Host, net.JoinHostPort(in.IP, strconv.Itoa(Port)), g)
		if err != nil {
			cancel()
			return nil, err
		}
		if err := g.watch(run); err != nil {
			cancel()
			s.Stop(run)
			return nil, err
		}
		return stopper{s, cancel}, nil
	}
}

type stopper struct {
	*workload.Server
	cancel context.CancelFunc
}

// Stop implements workload.Process.
func (s stopper) Stop(ctx context.Context) {
	s.Server.Stop(ctx)
	s.cancel()
}

type gateway struct {
	client    dynamic.Interface
	view      *endpoints.View
	domain    string
	transport *http.Transport
	rules     atomic.Pointer[map[string]*rule] // by host
}

// watch updates the rules from the API until ctx ends.
func (g *gateway) watch(ctx context.Context) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(g.client, 0)
	informer := factory.ForResource(ingresses).Informer()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return fmt.Errorf("ingresses can't be watched: %w", err)
	}
	factory.Start(ctx.Done())
	go func() {
		for {
			select {
			case <-changed:
				g.take(ctx, informer.GetStore().List(), notify)
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// take builds the rules from the objects and marks the objects as ready. It retries a
// failed write.
func (g *gateway) take(ctx context.Context, all []any, again func()) {
	rules := map[string]*rule{}
	var fresh []object
	for _, one := range all {
		var o object
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.(*unstructured.Unstructured).Object, &o); err != nil {
			continue
		}
		for i := range o.Spec.Rules {
			for _, host := range o.Spec.Rules[i].Hosts {
				rules[host] = &o.Spec.Rules[i]
			}
		}
		if o.Status.ObservedGeneration != o.Metadata.Generation {
			fresh = append(fresh, o)
		}
	}
	g.rules.Store(&rules)
	for _, o := range fresh {
		if err := g.ready(ctx, o); err != nil {
			time.AfterFunc(200*time.Millisecond, again)
		}
	}
}

// ready writes into an object's status that the ingress routes it.
func (g *gateway) ready(ctx context.Context, o object) error {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []map[string]string
	for _, kind := range []string{"LoadBalancerReady", "NetworkConfigured", "Ready"} {
		conditions = append(conditions, map[string]string{"type": kind, "status": "True", "lastTransitionTime": now})
	}
	balancer := map[string]any{"ingress": []map[string]string{{"domainInternal": g.domain}}}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": o.Metadata.Generation, "conditions": conditions,
		"publicLoadBalancer": balancer, "privateLoadBalancer": balancer,
	}})
	if err != nil {
		return err
	}
	_, err = g.client.Resource(ingresses).Namespace(o.Metadata.Namespace).Patch(ctx, o.Metadata.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// ServeHTTP routes one request.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "envoy")
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	var to *rule
	if rules := g.rules.Load(); rules != nil {
		to = (*rules)[host]
	}
	if to == nil || len(to.HTTP.Paths) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	path := to.HTTP.Paths[0]
	s := choose(path.Splits, rand.IntN(100))
	addr := ""
	if s != nil {
		addr = g.endpoint(s)
	}
	if addr == "" {
		http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		return
	}
	// Without full duplex, an answer that begins early cuts the request off
	// (golang.org/issue/40747).
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	proxy := httputil.ReverseProxy{
		Transport: g.transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", addr, r.Host
			p.SetXForwarded()
			for _, headers := range []map[string]string{path.AppendHeaders, s.AppendHeaders} {
				for name, value := range headers {
					p.Out.Header.Set(name, value)
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "upstream connect error or disconnect/reset before headers", http.StatusServiceUnavailable)
		},
	}
	proxy.ServeHTTP(w, r)
}

// choose picks a split by its percentage; at is 0 to 99.
func choose(all []split, at int) *split {
	for i := range all {
		if at -= all[i].Percent; at < 0 {
			return &all[i]
		}
	}
	return nil
}

// endpoint picks one of a split's ready endpoints; empty if there is none.
func (g *gateway) endpoint(s *split) string {
	var ready []string
	for _, e := range g.view.Of(s.ServiceNamespace, s.ServiceName, "http") {
		if e.Ready {
			ready = append(ready, net.JoinHostPort(e.IP, strconv.Itoa(int(e.Port))))
		}
	}
	if len(ready) == 0 {
		return ""
	}
	return ready[rand.IntN(len(ready))]
}
